//! Contracts in use whose claims were to be compared with their sources by now.

use std::collections::BTreeMap;

use factum_engine::Destination;

use super::report::Report;

/// Looks at the contracts of every configured destination.
pub(super) fn look(destinations: &BTreeMap<String, Destination>, report: &mut Report) {
    let today = jiff::Timestamp::from_microsecond(factum_store::system_clock()().as_micros());
    let today = today.unwrap_or_default().strftime("%Y-%m-%d").to_string();
    for destination in destinations.values() {
        for (operation, known) in &destination.operations {
            let own = known.contract.as_ref().map(|own| own.contract.as_ref());
            // Days are written largest part first, so that their texts are in the order of time.
            if let Some(day) = own.and_then(|own| own.review_by())
                && day < today.as_str()
            {
                let about = format!("destination {}", destination.name);
                let says = format!("the contract of {operation} was to be reviewed by {day}");
                let remedy = "compare it with the provider's documents, probe it in a sandbox (factum contract probe), and set verified_on and review_by";
                report.warning(&about, says, remedy);
            }
        }
    }
}
