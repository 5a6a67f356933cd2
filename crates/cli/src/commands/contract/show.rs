//! `factum contract show`: a person's page of one operation: what it promises and who says so, and what that means after a
//! lost answer.

use std::path::Path;
use std::process::ExitCode;

use factum_contract::{Contract, Grade, KeyTerms, Origin, Outcome, Rehearsed, Script};
use factum_core::promise::{Authority, Consequence, ProcessingMax, Promises, Retention};
use factum_core::{State, Step};
use serde_json::{Value, json};

use super::{catalogue, full_name, list, named, rehearse};
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// PROVIDER.OPERATION
    #[arg(value_name = "OPERATION")]
    operation: String,
}

pub(crate) fn run(args: &Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let catalogue = catalogue(config)?;
    let contract = named(&catalogue, &args.operation)?;
    if out.json {
        out.value(&value(contract));
        return Ok(exit::code(exit::OK));
    }
    out.line(format_args!(
        "{}: {}",
        full_name(contract),
        contract.title()
    ));
    let about = format!(
        "class {}, {}, {}",
        contract.strength(),
        contract.promises().consequence.name(),
        contract
            .grade()
            .map_or("nobody stands behind it", Grade::word),
    );
    out.line(about);
    let kinds = catalogue
        .provider(contract.provider())
        .map(|provider| provider.auth.kinds.iter().map(|kind| kind.name()))
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    if !kinds.is_empty() {
        out.line(format_args!("authenticated by: {}", kinds.join(", ")));
    }
    for required in contract.requires() {
        out.line(format_args!("has to be set up there: {required}"));
    }
    out.line("\nWhat may be relied on");
    for (what, says) in promised(contract) {
        out.line(format_args!("  {what:<12} {says}"));
    }
    for (about, report, date) in probed(contract) {
        out.line(format_args!(
            "  {about} rests on a probe: {report}, of {date}"
        ));
    }
    out.line(
        "\nAfter a lost answer (times from the first send on; delays between tries are left out)",
    );
    for (word, says) in after_lost(contract) {
        out.line(format_args!("  {word:<12} {says}"));
    }
    out.line("\nHow answers are read");
    for rule in contract.answer_rules() {
        out.line(format_args!("  {:<14} {}", rule.class, rule.when));
    }
    out.line("  unknown        everything else\n\nWho says so");
    for (about, source) in contract.sources() {
        let (_, origin) = list::origin(source);
        let about = if about.is_empty() { "/" } else { about };
        out.line(format_args!(
            "  {about}: {} ({}, {})",
            origin,
            source.grade.word(),
            source.date
        ));
        if let Some(quote) = &source.quote {
            out.line(format_args!("      \"{quote}\""));
        }
    }
    Ok(exit::code(exit::OK))
}

/// What rests on a probe's report: the path of what is claimed, the report, its day.
fn probed(contract: &Contract) -> impl Iterator<Item = (&str, &str, &str)> {
    contract.sources().filter_map(|(about, source)| {
        let Origin::Report(report) = &source.origin else {
            return None;
        };
        let about = if about.is_empty() { "/" } else { about };
        Some((about, report.as_str(), source.date.as_str()))
    })
}

/// What it promises, a line per mechanism; what is not stated is said too.
fn promised(contract: &Contract) -> Vec<(&'static str, String)> {
    let promises = contract.promises();
    let lookup = match promises.lookup {
        None => "none".to_owned(),
        Some(lookup) => match lookup.authority {
            Authority::Authoritative => {
                format!("finds it, and its absence is proof after {}", lookup.lag)
            }
            Authority::Partial => "may find it; its absence proves nothing".to_owned(),
        },
    };
    let cancel = match promises.cancel {
        None => "none",
        Some(cancel) if cancel.refuses_later_arrivals => {
            "withdraws what exists under the key, and refuses what arrives later"
        }
        Some(_) => "withdraws what exists under the key",
    };
    let processing = match promises.processing_max {
        ProcessingMax::Stated(most) => format!("at most {most}"),
        ProcessingMax::Assumed(most) => format!("at most {most}, as somebody assumes"),
        ProcessingMax::Unpublished => {
            "no bound is stated: nothing ever proves that a lost request can no longer land"
                .to_owned()
        }
    };
    let completion = match promises.completion {
        None => "an answer says it at once".to_owned(),
        Some(completion) => match (completion.poll, completion.callback) {
            (true, true) => "queued; asked for, and reported by the destination".to_owned(),
            (true, false) => "queued; asked for".to_owned(),
            (false, true) => "queued; reported by the destination".to_owned(),
            (false, false) => "queued; its end cannot be learned".to_owned(),
        },
    };
    let undo = contract.undo().map_or("not stated".to_owned(), |undo| {
        let within = undo.within.map(|within| format!(" within {within}"));
        let by = undo.operation.map(|operation| format!(", by {operation}"));
        format!(
            "{}{}{}",
            undo.how,
            within.unwrap_or_default(),
            by.unwrap_or_default()
        )
    });
    vec![
        ("key", key(contract.key_terms(), &promises)),
        ("lookup", lookup),
        ("cancel", cancel.to_owned()),
        ("processing", processing),
        ("completion", completion),
        ("undo", undo),
    ]
}

fn key(terms: Option<KeyTerms>, promises: &Promises) -> String {
    let Some(terms) = terms else {
        return "none".to_owned();
    };
    let window = match promises.key.map(|key| key.retention) {
        None => "a repeat is another effect, as far as is promised".to_owned(),
        Some(Retention::Floor(floor)) => format!("recognised for at least {floor}"),
        Some(Retention::AssumedFloor(floor)) => format!("recognised for {floor}, as is assumed"),
        Some(Retention::Unbounded) => "recognised for ever".to_owned(),
        Some(Retention::Approximate(about)) => {
            format!("recognised for about {about}, which carries no permission")
        }
        Some(Retention::Unpublished) => {
            "recognised for a time that nobody states, which carries no permission".to_owned()
        }
    };
    let running = match promises.key {
        Some(key) if key.retention.floor().is_some() && !key.concurrent_repeat_stated => {
            match promises.processing_max.span() {
                Some(_) => "; repeated once the first request can land no more",
                None => {
                    "; yet not repeated after a lost answer: nobody says what a repeat gets while the first request runs, \
                     nor how long that may be"
                }
            }
        }
        Some(_) | None => "",
    };
    format!("{} ({}); {window}{running}", terms.place, terms.role)
}

/// What a lost answer comes to, per consequence; the operation's own is marked.
fn after_lost(contract: &Contract) -> Vec<(String, String)> {
    let own = contract.promises().consequence;
    let rows = Consequence::ALL.into_iter().map(|consequence| {
        let mark = if consequence == own { "*" } else { "" };
        let played = lost(contract, consequence);
        (format!("{}{mark}", consequence.name()), in_words(&played))
    });
    rows.collect()
}

fn lost(contract: &Contract, consequence: Consequence) -> Rehearsed {
    let mut script = Script::after(Outcome::Lost).showing_nothing();
    script.consequence = Some(consequence);
    contract.rehearse(&script)
}

fn in_words(played: &Rehearsed) -> String {
    let mut steps: Vec<String> = Vec::new();
    for decision in &played.decisions {
        let step = match decision.next.step {
            Step::None => continue,
            Step::Review(why) => format!("a person decides: {}", why.sentence()),
            Step::Send(_)
            | Step::LookUp
            | Step::Poll { .. }
            | Step::CancelByKey { .. }
            | Step::Wait => rehearse::sentence(decision),
        };
        steps.push(step);
    }
    let looked = played
        .decisions
        .iter()
        .any(|decision| decision.next.step == Step::LookUp);
    let missing = if looked {
        " (where lookups show nothing)"
    } else {
        ""
    };
    let end = match played.end.state {
        State::OutcomeUnknown => "; unknown until then",
        State::Pending
        | State::Dispatching
        | State::Accepted
        | State::Succeeded
        | State::RetryableFailure
        | State::TerminalFailure
        | State::Cancelled
        | State::Expired => "",
    };
    format!("{}{end}{missing}", steps.join("; then "))
}

fn value(contract: &Contract) -> Value {
    let promised: serde_json::Map<_, _> = promised(contract)
        .into_iter()
        .map(|(what, says)| (what.to_owned(), says.into()))
        .collect();
    let after: serde_json::Map<_, _> = Consequence::ALL
        .into_iter()
        .map(|consequence| {
            let played = lost(contract, consequence);
            (consequence.name().to_owned(), rehearse::value(&played))
        })
        .collect();
    let rules: Vec<_> = contract
        .answer_rules()
        .iter()
        .map(|rule| json!({"class": rule.class, "when": rule.when, "grade": rule.grade.map(Grade::word), "common": rule.common}))
        .collect();
    let sources: Vec<_> = contract.sources().map(list::source).collect();
    let probed: Vec<_> = probed(contract)
        .map(|(about, report, date)| json!({"about": about, "report": report, "date": date}))
        .collect();
    json!({
        "provider": contract.provider(), "operation": contract.operation(), "title": contract.title(),
        "class": contract.strength().to_string(), "grade": contract.grade().map(Grade::word),
        "consequence": contract.promises().consequence.name(),
        "api_version": contract.api_version(), "verified_on": contract.verified_on(), "review_by": contract.review_by(),
        "requires": contract.requires().collect::<Vec<_>>(), "params": contract.params().collect::<Vec<_>>(),
        "promises": promised, "after_lost_answer": after, "answers": rules, "sources": sources, "probed": probed,
    })
}
