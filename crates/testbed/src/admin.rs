//! The administration over HTTP: reading the ledger, setting faults, moving the clock. No fault is drawn here.

use std::time::Duration;

use factum_faults::FaultPlan;
use serde_json::json;

use crate::answer::{Answer, Body};
use crate::counts::{self, Filter};
use crate::ledger::{Kind, Mode};
use crate::routes::{Admin, query};
use crate::shared::Shared;
use crate::world::World;

pub(crate) fn answer(shared: &Shared, route: Admin, target: &str, body: &[u8]) -> Answer {
    match route {
        Admin::Health => Answer::json(200, json!({"ok": true})),
        Admin::Rows => filtered(
            target,
            |filter| json!({"rows": shared.see(|world| world.rows(filter))}),
        ),
        Admin::Counts => filtered(target, |filter| json!(shared.counts(filter))),
        Admin::Table => {
            let table = counts::table(&shared.see(World::stand_ins), |filter| {
                shared.counts(filter)
            });
            Answer {
                status: 200,
                headers: Vec::new(),
                body: Body::Text(table),
            }
        }
        Admin::Reset => match shared.reset() {
            Ok(()) => Answer::json(200, json!({"ok": true})),
            Err(error) => Answer::error(500, "ledger", &error.to_string()),
        },
        Admin::Faults => faults(shared),
        Admin::SetFaults => set_faults(shared, target, body),
        Admin::Clock => clock(shared, target),
    }
}

fn filtered(target: &str, look: impl FnOnce(&Filter) -> serde_json::Value) -> Answer {
    match filter(target) {
        Ok(filter) => Answer::json(200, look(&filter)),
        Err(message) => Answer::error(400, "filter", &message),
    }
}

fn filter(target: &str) -> Result<Filter, String> {
    let kind = match query(target, "kind").as_deref() {
        None => None,
        Some("elsewhere") => Some(Kind::Elsewhere),
        Some(name) => {
            let kind = Kind::from_name(name);
            Some(kind.ok_or(
                    "kind: is none; use key, cancel, lookup, lagging, neither, elsewhere or an operation such as zendesk.ticket.create",
                )?)
        }
    };
    let mode = match query(target, "mode").as_deref() {
        None => None,
        Some(name) => Some(Mode::from_name(name).ok_or("mode: is none; use sync or queued")?),
    };
    Ok(Filter {
        business: query(target, "business"),
        kind,
        mode,
    })
}

fn faults(shared: &Shared) -> Answer {
    let draws = shared.draws();
    let counts = draws.counts();
    let counts = counts
        .iter()
        .map(|(seen, fired)| json!({"seen": seen, "fired": fired}));
    Answer::json(
        200,
        json!({
            "seed": draws.plan().seed(),
            "rules": draws.plan().to_string(),
            "counts": counts.collect::<Vec<_>>(),
        }),
    )
}

fn set_faults(shared: &Shared, target: &str, body: &[u8]) -> Answer {
    let seed = match query(target, "seed").map(|seed| seed.parse()) {
        None => shared.draws().plan().seed(),
        Some(Ok(seed)) => seed,
        Some(Err(_)) => return Answer::error(400, "seed", "seed: is no whole number from 0"),
    };
    match FaultPlan::parse(seed, &String::from_utf8_lossy(body)) {
        Ok(plan) => {
            shared.set_faults(plan);
            faults(shared)
        }
        Err(error) => Answer::error(400, "faults", &error.to_string()),
    }
}

fn clock(shared: &Shared, target: &str) -> Answer {
    let Some(ms) = query(target, "advance_ms").and_then(|ms| ms.parse().ok()) else {
        return Answer::error(
            400,
            "clock",
            "advance_ms: is missing or no whole number; write ?advance_ms=1000",
        );
    };
    shared.change(|world| world.advance(Duration::from_millis(ms)));
    Answer::json(200, json!({"now": shared.see(World::now)}))
}
