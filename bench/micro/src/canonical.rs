//! A payload in its canonical form.

use std::error::Error;
use std::hint::black_box;

use factum_engine::canonical::canonical;

use crate::Work;

/// Two kilobytes with nested members that are out of order.
pub(crate) fn canonical_json() -> Result<Work, Box<dyn Error>> {
    let line = r#"{ "sku": "A-17", "price": { "currency": "EUR", "amount": 12.50 }, "count": 3, "gift": false }"#;
    let lines = vec![line; 20].join(", ");
    let text = format!(
        r#"{{ "subject": "Order 77", "lines": [{lines}], "customer": {{ "name": "Ana", "id": 91 }} }}"#
    );
    canonical(&text, "/payload").map_err(|problem| problem.rule.into_string())?;
    Ok(Box::new(move || {
        // It was canonical JSON a moment ago.
        let _ = black_box(canonical(black_box(&text), "/payload"));
    }))
}
