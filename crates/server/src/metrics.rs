//! `/metrics`, for Prometheus: what was counted, and what stands now. It is no part of the API and not in its document: it has a form of
//! its own, and an access of its own ([`MetricsAccess`]), because it names the destinations of all tenants.
//!
//! A scrape always answers. Where the store or the engine's loop does not, that is what it says.

mod text;

use std::net::SocketAddr;
use std::time::Instant;

use axum::http::{HeaderMap, StatusCode, header};
use factum::config::MetricsAccess;
use factum::directory::Scope;
use factum::metrics::standing::{AGES, Aged, Look, Stands};
use factum::metrics::{Metrics, OUTCOMES, Queue, Row};
use factum::{Caller, Code, Factum};

use crate::app::App;
use crate::edge::Asked;
use crate::reply::{Failure, Reply, with_header, with_status};
use crate::run::{authorized, no_such_address};
use text::{CONTENT_TYPE, Page, Unit};

/// Where they are.
pub(crate) const PATH: &str = "/metrics";

/// Answers a scrape.
pub(crate) async fn scrape(
    app: &App,
    asked: &Asked,
    headers: &HeaderMap,
) -> Result<Reply, Failure> {
    allowed(app, asked, headers)?;
    let text = page(app.factum()).await;
    let reply = with_status(StatusCode::OK, text);
    Ok(with_header(reply, header::CONTENT_TYPE, CONTENT_TYPE))
}

/// Whether they are open without a token, for a server that listens there.
pub(crate) fn open_at(access: MetricsAccess, address: SocketAddr) -> bool {
    match access {
        MetricsAccess::Loopback => address.ip().to_canonical().is_loopback(),
        MetricsAccess::Open => true,
        MetricsAccess::Token | MetricsAccess::Off => false,
    }
}

fn allowed(app: &App, asked: &Asked, headers: &HeaderMap) -> Result<(), Failure> {
    let access = app.factum().config().metrics.access;
    if access == MetricsAccess::Off {
        return Err(no_such_address());
    }
    // Whoever comes in by the door for other machines is not on this one.
    if app.has_open_metrics() && (access == MetricsAccess::Open || !asked.is_encrypted()) {
        return Ok(());
    }
    let (caller, _) = authorized(app, asked, headers)?;
    if may_read(&caller) {
        return Ok(());
    }
    let rule = "metrics name the destinations of all tenants, which the token may not see";
    let remedy = "use a token with the scope read, without a grant, of the tenant that runs the installation";
    Err(Failure::new(Code::Forbidden, "", rule, remedy))
}

fn may_read(caller: &Caller) -> bool {
    let reads = caller.may(Scope::Read) || caller.may(Scope::Admin);
    reads && caller.grant.is_none() && caller.tenant == factum::DEFAULT_TENANT
}

async fn page(factum: &Factum) -> String {
    let began = Instant::now();
    let engine = factum.engine();
    let mut page = Page::default();
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    page.family("factum_build_info", "gauge", "The program's version.");
    page.value("factum_build_info", &version, 1);
    counted(&mut page, engine.metrics());
    let queues = engine.queues().await;
    let up = u64::from(queues.is_some());
    page.alone("factum_engine_up", "Whether the engine's loop answers.", up);
    queued(&mut page, queues.iter().flatten(), engine.now().as_micros());
    let look = engine.standing().await;
    let up = u64::from(look.is_ok());
    page.alone("factum_store_up", "Whether the store can be read.", up);
    if let Ok(look) = look {
        standing(&mut page, &look);
    }
    state(&mut page, factum).await;
    store(&mut page, factum);
    let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let name = "factum_scrape_seconds";
    page.family(name, "gauge", "How long this page took.");
    page.seconds(name, &[], took);
    page.into_text()
}

/// One family of words, over all rows that were ever used.
type Words = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Row) -> &factum::metrics::Tally,
);

const WORDS: &[Words] = &[
    (
        "factum_submissions_total",
        "result",
        "Submissions, by what became of them.",
        |row| &row.submissions,
    ),
    (
        "factum_requests_marked_total",
        "right",
        "Effect requests that were marked, by what right.",
        |row| &row.marks,
    ),
    (
        "factum_attempts_total",
        "evidence",
        "What became known of attempts.",
        |row| &row.attempts,
    ),
    (
        "factum_questions_total",
        "result",
        "Lookups and polls, by what they brought.",
        |row| &row.questions,
    ),
    (
        "factum_callbacks_total",
        "result",
        "Callbacks, and events from feeds, by what became of them.",
        |row| &row.callbacks,
    ),
    (
        "factum_reviews_opened_total",
        "why",
        "How often a person was needed, and why.",
        |row| &row.reviews,
    ),
];

fn counted(page: &mut Page, metrics: &Metrics) {
    let used: Vec<&Row> = metrics.rows().filter(|row| row.is_used()).collect();
    for (name, label, help, tally) in WORDS {
        page.family(name, "counter", help);
        for row in &used {
            page.tally(name, &labels(row), label, tally(row));
        }
    }
    let name = "factum_settled_total";
    page.family(
        name,
        "counter",
        "Actions that were settled: as what, and by what.",
    );
    for row in &used {
        settled(page, name, row);
    }
    let name = "factum_promises_missed_total";
    page.family(
        name,
        "counter",
        "Answers that showed that something promised is not in force there.",
    );
    for row in &used {
        page.counter(name, &labels(row), &row.missed);
    }
    let name = "factum_corrections_total";
    page.family(
        name,
        "counter",
        "Corrections that fell due in conversations.",
    );
    for row in &used {
        page.counter(name, &labels(row), &row.corrections);
    }
    let name = "factum_submit_to_send_seconds";
    page.family(name, "histogram", "From the submission to the first mark.");
    for row in &used {
        page.histogram(name, &labels(row), Unit::Micros, &row.until_sent.read());
    }
    let name = "factum_submit_to_settle_seconds";
    page.family(name, "histogram", "From the submission to the settlement.");
    for row in &used {
        page.histogram(name, &labels(row), Unit::Micros, &row.until_settled.read());
    }
}

/// Only what was: there are many pairs of outcome and cause, and few that a destination ever sees.
fn settled(page: &mut Page, name: &str, row: &Row) {
    for (outcome, tally) in OUTCOMES.iter().zip(&row.settled) {
        for (by, count) in tally.each().filter(|(_, count)| *count > 0) {
            let [destination, operation] = labels(row);
            let labels = [destination, operation, ("outcome", outcome), ("by", by)];
            page.value(name, &labels, count);
        }
    }
}

fn labels(row: &Row) -> [(&str, &str); 2] {
    [
        ("destination", row.destination.as_str()),
        ("operation", row.operation.as_str()),
    ]
}

fn queued<'a>(
    page: &mut Page,
    queues: impl Iterator<Item = (&'a String, &'a Queue)> + Clone,
    now: i64,
) {
    let of = |name: &'a String| [("destination", name.as_str())];
    let name = "factum_queue_actions";
    page.family(
        name,
        "gauge",
        "Actions that wait in this process, by where they stand.",
    );
    for (destination, queue) in queues.clone() {
        let places = [
            ("resting", queue.resting),
            ("due", queue.due),
            ("at_gate", queue.at_gate),
            ("held_back", queue.held_back),
        ];
        for (place, count) in places {
            let labels = [("destination", destination.as_str()), ("place", place)];
            page.value(name, &labels, count as u64);
        }
    }
    let name = "factum_queue_oldest_seconds";
    page.family(
        name,
        "gauge",
        "For how long the longest of those that are due waits.",
    );
    for (destination, queue) in queues.clone() {
        let since = queue.since.map_or(now, |since| since.as_micros());
        let waits = u64::try_from(now.saturating_sub(since)).unwrap_or(0);
        page.seconds(name, &of(destination), waits);
    }
    let name = "factum_requests_in_flight";
    page.family(name, "gauge", "Requests and questions in flight.");
    for (destination, queue) in queues.clone() {
        page.value(name, &of(destination), queue.in_flight as u64);
    }
    let name = "factum_circuit_open";
    page.family(
        name,
        "gauge",
        "Whether nothing got through lately, so that all but one probe wait.",
    );
    for (destination, queue) in queues {
        page.value(name, &of(destination), u64::from(queue.circuit_open));
    }
}

fn standing(page: &mut Page, look: &Look) {
    let help = "Unknown actions, by the time since they were submitted";
    aged(page, look, ("unknown", help), |stands| &stands.unknown);
    let help = "Actions that wait for a person, by the time since";
    aged(page, look, ("review", help), |stands| &stands.review);
    let name = "factum_windows_closing_actions";
    let help =
        "Unknown actions that a repeat under their key can resolve, and within an hour no more.";
    page.family(name, "gauge", help);
    for (names, stands) in look {
        page.value(name, &place(names), stands.closing);
    }
    let name = "factum_corrections_due";
    let help = "Corrections that conversations wait for.";
    page.family(name, "gauge", help);
    for (names, stands) in look {
        page.value(name, &place(names), stands.corrections);
    }
}

fn aged(page: &mut Page, look: &Look, (kind, help): (&str, &str), aged: fn(&Stands) -> &Aged) {
    let name = format!("factum_{kind}_actions");
    page.family(&name, "gauge", &format!("{help}: up to `age`."));
    for (names, stands) in look {
        for ((_, age), count) in AGES.iter().zip(aged(stands).by_age) {
            let [destination, operation] = place(names);
            page.value(&name, &[destination, operation, ("age", age)], count);
        }
    }
    let name = format!("factum_{kind}_oldest_seconds");
    page.family(&name, "gauge", &format!("{help}: of the oldest."));
    for (names, stands) in look {
        let oldest = u64::try_from(aged(stands).oldest.as_micros()).unwrap_or(0);
        page.seconds(&name, &place(names), oldest);
    }
}

fn place((destination, operation): &(String, String)) -> [(&str, &str); 2] {
    [
        ("destination", destination.as_str()),
        ("operation", operation.as_str()),
    ]
}

async fn state(page: &mut Page, factum: &Factum) {
    let engine = factum.engine();
    let paused = engine.paused_by().await.is_ok_and(|by| by.is_some());
    let help = "Whether an operator holds all sends.";
    page.alone("factum_paused", help, u64::from(paused));
    let restore = engine.restore().await.ok().flatten();
    let held = restore.is_some_and(|restore| restore.released.is_none());
    let help = "Whether the store came from a copy, and sends wait for its release.";
    page.alone("factum_restore_held", help, u64::from(held));
    let doubt = u64::from(engine.clock_in_doubt());
    let help = "Whether the clock stepped, so that nothing is sent again by key.";
    page.alone("factum_clock_in_doubt", help, doubt);
}

fn store(page: &mut Page, factum: &Factum) {
    let Some(meter) = factum.engine().store().meter() else {
        return;
    };
    let name = "factum_store_batch_commands";
    page.family(name, "histogram", "Commands that shared a transaction.");
    page.histogram(name, &[], Unit::Plain, &meter.batches.read());
    let name = "factum_store_write_seconds";
    page.family(
        name,
        "histogram",
        "How long a transaction took, to its end on the disk.",
    );
    page.histogram(name, &[], Unit::Micros, &meter.writes.read());
    let name = "factum_store_writes_failed_total";
    page.family(name, "counter", "Transactions that did not become durable.");
    page.counter(name, &[], &meter.failed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_open_on_loopback_and_where_an_operator_says_so() {
        let (here, there) = (
            "127.0.0.1:1".parse().unwrap(),
            "10.0.0.1:1".parse().unwrap(),
        );
        let rows = [
            (MetricsAccess::Loopback, true, false),
            (MetricsAccess::Token, false, false),
            (MetricsAccess::Open, true, true),
            (MetricsAccess::Off, false, false),
        ];
        for (access, on_loopback, elsewhere) in rows {
            assert_eq!(open_at(access, here), on_loopback, "{access:?}");
            assert_eq!(open_at(access, there), elsewhere, "{access:?}");
        }
    }
}
