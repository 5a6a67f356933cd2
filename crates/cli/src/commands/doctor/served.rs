//! A server holds the store: it is asked how it is, and its file is left alone.

use factum_core::{Span, Timestamp};
use serde_json::Value;

use super::report::Report;
use crate::client::{Call, Client};
use crate::failure::Failure;

/// What is due for longer than this does not move.
const STUCK: u64 = 300;

/// This machine's clock and the server's may be so far apart.
pub(super) const APART_MAX: Span = Span::from_secs(30);

/// Asks the server at this address.
pub(super) async fn look(address: &str, report: &mut Report) -> Result<(), Failure> {
    let client = Client::new(address, "none".to_owned())?;
    match client.json(Call::get("/readyz")).await {
        Ok(ready) => {
            let says = format!(
                "a server holds it and is ready at {address}; stop it to have every row checked"
            );
            report.ok("store", says);
            stands(&ready, report);
        }
        Err(unready) => report.failure("server", &unready),
    }
    Ok(())
}

/// What a ready server says beside that.
fn stands(ready: &Value, report: &mut Report) {
    if ready["paused"] == true {
        let remedy =
            "see who holds them and why: factum admin state; let them go on: factum admin resume";
        report.warning("server", "an operator holds all sends", remedy);
    }
    if ready["held_by_restore"] == true {
        let says = "the store came from a copy; nothing is sent until it is released";
        let remedy = "look at `factum admin would-send`, then run `factum admin release`";
        report.warning("restore", says, remedy);
    }
    if ready["clock_in_doubt"] == true {
        let says =
            "the clock stepped; nothing is sent again by key until a destination's time agrees";
        let remedy = "set the clock, and let this machine keep it by NTP; `factum destination test NAME` shows a destination's time";
        report.error("clock", says, remedy);
    }
    let overdue = ready["overdue_s"].as_u64().unwrap_or(0);
    overdue_for(overdue, report);
    let now: Option<jiff::Timestamp> = ready["now"].as_str().and_then(|now| now.parse().ok());
    if let Some(now) = now {
        let there = Timestamp::from_micros(now.as_microsecond());
        apart("the store's clock", there, report);
    }
}

/// What is due and does not move.
pub(super) fn overdue_for(seconds: u64, report: &mut Report) {
    if seconds > STUCK {
        let says = format!(
            "what is due waits for {} min; it does not move",
            seconds / 60
        );
        let remedy = "see what it waits for: factum list, factum status ID; where its destination does not answer, \
                      factum destination test NAME; where sends are held, factum admin state";
        report.warning("work", says, remedy);
    }
}

/// Another clock than this machine's.
pub(super) fn apart(whose: &str, there: Timestamp, report: &mut Report) {
    let here = factum_store::system_clock()();
    let apart = there.since(here).max(here.since(there));
    if apart > APART_MAX {
        let says = format!("{whose} and this machine's are {apart} apart");
        let remedy =
            "let both keep their time by NTP: what may be sent again by key is told by the clock";
        report.warning("clock", says, remedy);
    }
}
