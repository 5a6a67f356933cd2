//! For every operation of the catalogue: what is decided, step by step, after what can happen to a request. The page
//! `docs/contracts-decisions.md` is written from here; a stale one fails, and the rules hold for every row.

use std::fmt::Write as _;
use std::path::PathBuf;

use factum_contract::{
    Catalogue, Contract, Decision, Meanwhile, Outcome, Rehearsed, Script, Shown, Strength,
};
use factum_core::evidence::{AnswerClass, PermissionKind, ReviewWhy};
use factum_core::promise::{Authority, Consequence, Promises};
use factum_core::{Span, State, Step};

use crate::support::contract;

/// A situation: its name, and its script where it can come about.
type Situation = (&'static str, fn(&Contract) -> Option<Script>);

const SITUATIONS: [Situation; 11] = [
    ("not sent", |_| Some(Script::after(Outcome::NotSent))),
    ("answer lost", |_| Some(Script::after(Outcome::Lost))),
    ("answer lost, window over", |contract| {
        let over = floor(&contract.promises())?;
        Some(lost_and_absent().at(over + Span::from_secs(3_600)))
    }),
    ("not shown, within the lag", |contract| {
        contract.promises().lookup?;
        let mut script = lost_and_absent();
        script.meanwhile.push(Meanwhile::ShownAbsent);
        Some(script)
    }),
    ("not shown, after the lag", |contract| {
        let late = late(&contract.promises())?;
        let mut script = lost_and_absent().at(late);
        script.meanwhile.push(Meanwhile::ShownAbsent);
        Some(script)
    }),
    ("rejected at once", |contract| {
        Some(Script::after(rejected(contract.refusal_is_stored(false))).showing_nothing())
    }),
    ("lost, then rejected", |contract| {
        Some(lost_then(rejected(contract.refusal_is_stored(false))))
    }),
    ("lost, then rejected, unstored", |_| {
        Some(lost_then(rejected(false)))
    }),
    ("in progress", |_| {
        Some(Script::after(Outcome::Answered(AnswerClass::InProgress)))
    }),
    ("mismatch", |_| {
        Some(Script::after(Outcome::Answered(AnswerClass::Mismatch)))
    }),
    ("accepted, never completed", |contract| {
        contract.promises().completion?;
        let accepted = AnswerClass::Accepted {
            object: Some("queued".to_owned()),
        };
        Some(Script {
            shown: Shown::Queued,
            ..Script::after(Outcome::Answered(accepted))
        })
    }),
];

const INTRODUCTION: &str = "# What is decided, per operation\n\n\
    For every operation of the catalogue, the core's own decisions after what can happen to its first request. Written by a test; \
    do not edit. `factum contract explain` plays the same for one situation, with the reasons.\n\n\
    Times count from the first send. Delays between tries are left out, so that each instant comes from a rule. A later send \
    succeeds and a lookup finds the effect, unless the situation says otherwise; a cancel by key is confirmed. *Not shown* and \
    *window over*: the answer was lost, and lookups show nothing. The word in bold is where it ends.\n";

fn lost_and_absent() -> Script {
    Script::after(Outcome::Lost).showing_nothing()
}

fn lost_then(second: Outcome) -> Script {
    Script {
        sends: vec![Outcome::Lost, second],
        ..lost_and_absent()
    }
}

fn rejected(stored: bool) -> Outcome {
    Outcome::Answered(AnswerClass::Rejected {
        stored,
        why: "refused".to_owned(),
    })
}

/// The floor of the key, where it has an end.
fn floor(promises: &Promises) -> Option<Span> {
    let floor = promises.key?.retention.floor()?;
    (floor != Span::FOREVER).then_some(floor)
}

/// So late that a lookup's absence counts, if it ever does.
fn late(promises: &Promises) -> Option<Span> {
    let processing = promises.processing_max.span().unwrap_or(Span::ZERO);
    Some(promises.lookup?.lag + processing + Span::from_secs(120))
}

#[test]
fn the_page_of_decisions_is_current() {
    let page = page().expect("writing into a string does not fail");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/contracts-decisions.md");
    if std::env::var_os("UPDATE_DOCS").is_some_and(|set| set == "1") {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/contracts-decisions.md is stale; write it anew with: UPDATE_DOCS=1 cargo test -p factum-contract --test it chain"
    );
}

fn page() -> Result<String, std::fmt::Error> {
    let mut page = String::from(INTRODUCTION);
    let catalogue = Catalogue::builtin();
    for contract in contracts(&catalogue) {
        let promises = contract.promises();
        writeln!(
            page,
            "\n## {}.{}\n\n{}; {}; class {}\n\n| after | decisions |\n| --- | --- |",
            contract.provider(),
            contract.operation(),
            contract.title(),
            promises.consequence.name(),
            contract.strength(),
        )?;
        for (name, script) in &SITUATIONS {
            if let Some(script) = script(contract) {
                writeln!(page, "| {name} | {} |", chain(&contract.rehearse(&script)))?;
            }
        }
    }
    Ok(page)
}

fn contracts(catalogue: &Catalogue) -> impl Iterator<Item = &Contract> {
    let providers = catalogue.providers();
    providers.flat_map(|provider| catalogue.operations(provider))
}

fn chain(played: &Rehearsed) -> String {
    let steps: Vec<_> = played.decisions.iter().map(shown).collect();
    let steps: Vec<_> = steps.into_iter().flatten().collect();
    format!(
        "{}{}**{}**",
        steps.join(" → "),
        if steps.is_empty() { "" } else { " → " },
        played.end.state.name()
    )
}

/// A decision in a cell; none for the rest at the end.
fn shown(decision: &Decision) -> Option<String> {
    let times = match decision.times {
        1 => String::new(),
        times => format!(" ×{times}"),
    };
    let at = decision.due.map(|due| format!(" +{due}"));
    let at = at.unwrap_or_default();
    let until = decision.not_after.map(|end| format!(" until +{end}"));
    let until = until.unwrap_or_default();
    Some(match decision.next.step {
        Step::None => return None,
        Step::Review(why) => format!("review: {why:?}"),
        Step::Send(plan) => format!("send ({}){at}{until}{times}", plan.kind.name()),
        Step::LookUp | Step::Poll { .. } | Step::CancelByKey { .. } | Step::Wait => {
            format!("{}{at}{times}", decision.next.step.name())
        }
    })
}

/// Every row: the operation and the situation by name, what it promises, what was decided.
#[track_caller]
fn for_every_row(check: impl Fn(&str, &Contract, &Rehearsed) -> Result<(), String>) {
    let catalogue = Catalogue::builtin();
    let mut wrong = Vec::new();
    for contract in contracts(&catalogue) {
        for (name, script) in &SITUATIONS {
            let Some(script) = script(contract) else {
                continue;
            };
            let played = contract.rehearse(&script);
            if let Err(why) = check(name, contract, &played) {
                let (provider, operation) = (contract.provider(), contract.operation());
                wrong.push(format!(
                    "{provider}.{operation}, {name}: {why}: {}",
                    chain(&played)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn sends(played: &Rehearsed) -> impl Iterator<Item = (PermissionKind, &Decision)> {
    played
        .decisions
        .iter()
        .filter_map(|decision| match decision.next.step {
            Step::Send(plan) => Some((plan.kind, decision)),
            Step::LookUp
            | Step::Poll { .. }
            | Step::CancelByKey { .. }
            | Step::Wait
            | Step::Review(_)
            | Step::None => None,
        })
}

fn ensure(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

// R7: a refusal speaks for earlier attempts if it is stored, which the rule says that reads it, not the key alone.
#[test]
fn a_refusal_is_played_as_its_own_rules_store_it() {
    let text = |refusals: bool, rules: &str| {
        format!(
            "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n\
             [effect]\npath = \"/\"\nsource = {{ person = \"us\", date = \"2026-11-30\" }}\n\
             [key]\nplace = {{ header = \"Idempotency-Key\" }}\n\
             [key.repeat]\nretention = {{ floor = \"24 h\" }}\nconcurrent = \"in_progress\"\n\
             stored = {{ success = true, refusals = {refusals}, errors = false }}\n\
             source = {{ person = \"us\", date = \"2026-11-30\" }}\n{rules}\
             [[answers]]\nwhen = {{ status = 409, json = {{ at = \"/code\", equals = \"running\" }} }}\nclass = \"in_progress\"\n\
             [[claims]]\nabout = \"/answers\"\nperson = \"us\"\ndate = \"2026-11-30\"\n"
        )
    };
    let rule = |class: &str, code: &str, stored: &str| {
        format!(
            "[[answers]]\nwhen = {{ status = 422, json = {{ at = \"/code\", equals = \"{code}\" }} }}\n\
             class = \"{class}\"\n{stored}"
        )
    };
    let check = |refusals, rules: &[String], expected: [bool; 2]| {
        let contract = contract(&text(refusals, &rules.concat()));
        let played = [false, true].map(|declined| contract.refusal_is_stored(declined));
        assert_eq!(played, expected, "{rules:?}");
        let script = lost_then(rejected(contract.refusal_is_stored(false)));
        let ends = contract.rehearse(&script).end.state == State::TerminalFailure;
        assert_eq!(ends, expected[0], "{rules:?}");
    };
    let (yes, no) = ("stored = true\n", "stored = false\n");
    check(true, &[], [false, false]);
    check(true, &[rule("rejected", "a", "")], [true, false]);
    check(
        true,
        &[rule("rejected", "a", no), rule("declined", "b", "")],
        [false, true],
    );
    check(
        false,
        &[rule("rejected", "a", yes), rule("declined", "b", "")],
        [true, false],
    );
    check(
        false,
        &[rule("rejected", "a", yes), rule("rejected", "b", no)],
        [false, false],
    );
}

#[test]
fn every_chain_comes_to_rest() {
    for_every_row(|_, _, played| {
        let last = played.decisions.last().map(|decision| decision.next.step);
        let person = matches!(last, Some(Step::Review(_)));
        ensure(played.rests, "goes on for ever")?;
        ensure(
            person || played.end.is_settled() || played.end.closed.is_some(),
            "rests with nobody",
        )
    });
}

#[test]
fn what_provably_did_not_leave_is_sent_again_whatever_is_promised() {
    for_every_row(|name, _, played| {
        let first = sends(played).next().map(|(kind, _)| kind);
        ensure(
            name != "not sent" || first == Some(PermissionKind::ProvenNotSent),
            "was not sent again",
        )
    });
}

// Laws 6 and 7, R4: what each kind of permission rests on.
#[test]
fn every_send_has_a_promise_under_it() {
    for_every_row(|_, _, played| {
        let promises = &played.promises;
        for (kind, decision) in sends(played) {
            let due = decision.due.unwrap_or(Span::FOREVER);
            match kind {
                PermissionKind::SameKey => {
                    let floor = promises.key.and_then(|key| key.retention.floor());
                    ensure(floor.is_some_and(|floor| due < floor), "no window")?;
                    ensure(
                        decision.not_after.is_none_or(|end| due < end),
                        "begins after its end",
                    )?;
                }
                PermissionKind::Harmless => ensure(
                    promises.consequence == Consequence::Harmless,
                    "a repeat is not harmless",
                )?,
                PermissionKind::ProvenAbsent => {
                    let counts = promises.lookup.is_some_and(|lookup| {
                        lookup.authority == Authority::Authoritative && due > lookup.lag
                    });
                    let bounded = promises.processing_max.span().is_some();
                    let withdrawn = promises.cancel.is_some();
                    ensure(withdrawn || counts && bounded, "absence proves nothing")?;
                }
                PermissionKind::ProvenNotSent | PermissionKind::First => {}
                PermissionKind::Ordered(_) => ensure(false, "nobody ordered it")?,
            }
        }
        Ok(())
    });
}

// B91: without a key, a lookup and a cancel an effect that matters is sent once.
#[test]
fn a_lost_answer_is_never_sent_again_where_nothing_can_be_told() {
    for_every_row(|name, _, played| {
        let promises = &played.promises;
        let no_key = promises
            .key
            .is_none_or(|key| key.retention.floor().is_none());
        let bare = no_key && promises.lookup.is_none() && promises.cancel.is_none();
        let matters = promises.consequence > Consequence::Harmless;
        let lost = name.contains("lost") || name.contains("not shown");
        if lost && bare && matters {
            ensure(sends(played).next().is_none(), "was sent again")?;
            ensure(played.end.state == State::OutcomeUnknown, "became known")?;
        }
        Ok(())
    });
}

#[test]
fn nothing_irreversible_follows_a_cancel_or_a_partial_absence_by_itself() {
    for_every_row(|name, _, played| {
        let promises = &played.promises;
        let asked_in_vain = name == "answer lost, window over" || name.starts_with("not shown");
        let irreversible = promises.consequence == Consequence::Irreversible;
        let authoritative = promises
            .lookup
            .is_some_and(|lookup| lookup.authority == Authority::Authoritative);
        let by_absence = sends(played).any(|(kind, _)| kind == PermissionKind::ProvenAbsent);
        ensure(
            !(asked_in_vain && irreversible && !authoritative && by_absence),
            "was sent again",
        )
    });
}

#[test]
fn a_key_that_holds_other_content_goes_to_a_person() {
    for_every_row(|name, _, played| {
        let review = Some(Step::Review(ReviewWhy::KeyMismatch));
        let first = played.decisions.first().map(|decision| decision.next.step);
        ensure(name != "mismatch" || first == review, "went on")
    });
}

// R7, D2 of the decisions: a refusal speaks for its own attempt, and for an earlier one only where it is stored.
#[test]
fn a_refusal_ends_only_what_it_speaks_for() {
    for_every_row(|name, contract, played| {
        let keyed = played.promises.key.is_some();
        let speaks = played.promises.path_is_direct || keyed && contract.refusal_is_stored(false);
        let failed = played.end.state == State::TerminalFailure;
        match name {
            "rejected at once" if speaks => ensure(failed, "is not refused"),
            "lost, then rejected, unstored" if failed => ensure(
                played.promises.cancel.is_some() || late_rejection(played),
                "failed while the first request could still land",
            ),
            _ => Ok(()),
        }
    });
}

/// The second request went out only after the first could land no more.
fn late_rejection(played: &Rehearsed) -> bool {
    let Some(processing) = played.promises.processing_max.span() else {
        return false;
    };
    sends(played).any(|(_, decision)| decision.due.is_some_and(|due| due > processing))
}

#[test]
fn accepted_is_never_called_done() {
    for_every_row(|name, _, played| {
        let accepted = name == "accepted, never completed";
        ensure(
            !accepted || played.end.state != State::Succeeded,
            "was called done",
        )
    });
}

#[test]
fn the_classes_say_what_the_chains_do() {
    for_every_row(|name, contract, played| {
        if name != "answer lost" {
            return Ok(());
        }
        let by_key = sends(played).any(|(kind, _)| kind == PermissionKind::SameKey);
        match contract.strength() {
            Strength::A => ensure(by_key, "is class A, and is not repeated"),
            Strength::B | Strength::D | Strength::E => ensure(!by_key, "is repeated without leave"),
            Strength::C => Ok(()),
        }
    });
}
