//! An application that carries an operation in its own code.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use factum::{Carried, CarriedRequest, Factum, Permission, Receipt};
use serde_json::json;

use crate::support::PATIENCE;

/// The permission is handed over, the key is the same on every attempt, and the outcome is what the code says.
#[tokio::test]
async fn an_application_carries_in_its_own_code() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let carrier = move |permission: Permission, request: CarriedRequest| {
        let call = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            assert!(permission.kind().is_some() && request.key.len() == 64);
            match (request.operation.as_str(), call) {
                ("contact.add", 0) => Carried::NotSent("their door was shut".to_owned()),
                ("contact.add", _) => Carried::Done(Receipt::new("C-1")),
                _ => Carried::Unknown("their process died".to_owned()),
            }
        }
    };
    let factum = Factum::memory()
        .carrier("crm", carrier)
        .start()
        .await
        .unwrap();
    let add = factum
        .action("crm", "contact.add")
        .key("a")
        .payload(json!({ "name": "Ana" }))
        .submit()
        .await
        .unwrap();
    let status = factum.wait_status(id(&add), PATIENCE).await.unwrap();
    assert_eq!((status.state, status.attempts), ("succeeded", 2));
    let odd = factum
        .action("crm", "contact.odd")
        .key("b")
        .submit()
        .await
        .unwrap();
    let status = factum.wait_status(id(&odd), PATIENCE).await.unwrap();
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review")
    );
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

fn id(submitted: &factum::Submitted) -> factum::ActionId {
    submitted.status.id.parse().unwrap()
}
