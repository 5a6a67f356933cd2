//! The one table of what to do about an unknown outcome, cell by cell as the design prints it; and that the next step really
//! takes the first column from the left that applies, for every consequence, every set of offers, and every way in which a
//! key can count as absent.

use factum_core::evidence::{AnswerClass, LookupAnswer};
use factum_core::policy::{Column, Policy, after_unknown};
use factum_core::promise::{Authority, Consequence, Promises};
use factum_core::{State, Step};

use crate::kit::{LANDS_AFTER, Story, bare, cancelable, key, lookup, secs};

/// The design's table, row by row.
const TABLE: [(Consequence, [Policy; 5]); 4] = [
    (
        Consequence::Harmless,
        [
            Policy::Resend,
            Policy::Resend,
            Policy::Resend,
            Policy::Resend,
            Policy::ResendBounded,
        ],
    ),
    (
        Consequence::Reversible,
        [
            Policy::Resend,
            Policy::LookUpThenResend,
            Policy::CancelThenResend,
            Policy::LookUpThenReview,
            Policy::Preference,
        ],
    ),
    (
        Consequence::Costly,
        [
            Policy::Resend,
            Policy::LookUpThenResend,
            Policy::CancelThenResend,
            Policy::LookUpThenReview,
            Policy::Review,
        ],
    ),
    (
        Consequence::Irreversible,
        [
            Policy::Resend,
            Policy::LookUpThenResend,
            Policy::CancelThenReview,
            Policy::LookUpThenReview,
            Policy::Review,
        ],
    ),
];

#[test]
fn every_cell_is_as_the_design_prints_it() {
    for (consequence, row) in TABLE {
        for (column, policy) in Column::ALL.into_iter().zip(row) {
            let is = after_unknown(consequence, column);
            assert_eq!(is, policy, "{} × {}", consequence.name(), column.name());
        }
    }
}

/// Why a key that is offered counts as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyIs {
    Good,
    WindowOver,
    Spent,
    Barred,
    ClockInDoubt,
}

const KEY_IS: [KeyIs; 5] = [
    KeyIs::Good,
    KeyIs::WindowOver,
    KeyIs::Spent,
    KeyIs::Barred,
    KeyIs::ClockInDoubt,
];

/// Which offers are made: key, lookup (authoritative or partial), cancel by key.
#[derive(Clone, Copy, Debug)]
struct Offers {
    key: bool,
    lookup: Option<Authority>,
    cancel: bool,
}

fn all_offers() -> Vec<Offers> {
    let lookups = [
        None,
        Some(Authority::Authoritative),
        Some(Authority::Partial),
    ];
    let mut all = Vec::new();
    for key in [false, true] {
        for lookup in lookups {
            for cancel in [false, true] {
                all.push(Offers {
                    key,
                    lookup,
                    cancel,
                });
            }
        }
    }
    all
}

fn promises(consequence: Consequence, offers: Offers) -> Promises {
    Promises {
        key: offers.key.then(|| key(secs(300))),
        lookup: offers.lookup.map(|authority| lookup(authority, 20)),
        cancel: cancelable(consequence, true)
            .cancel
            .filter(|_| offers.cancel),
        ..bare(consequence)
    }
}

/// An unknown outcome with these offers, the key in that condition.
fn unknown(consequence: Consequence, offers: Offers, is: KeyIs) -> Story {
    let mut promises = promises(consequence, offers);
    if let Some(key) = &mut promises.key {
        key.stores_errors = is == KeyIs::Spent;
    }
    let mut story = Story::new(promises);
    story.send();
    match is {
        KeyIs::Spent => story.at(3).answer(1, AnswerClass::Unknown),
        _ => story.at(3).lose(1),
    };
    story.at(4);
    match is {
        KeyIs::Good | KeyIs::Spent => {}
        KeyIs::WindowOver => {
            story.at(260);
        }
        KeyIs::Barred => {
            story.withdraw();
        }
        KeyIs::ClockInDoubt => story.clock_in_doubt = true,
    }
    story
}

/// The first column that applies, read off the design and not off the code.
fn first_column(offers: Offers, is: KeyIs) -> Column {
    match offers {
        Offers { key: true, .. } if is == KeyIs::Good => Column::KeyWithinWindow,
        Offers {
            lookup: Some(Authority::Authoritative),
            ..
        } => Column::AuthoritativeLookup,
        Offers { cancel: true, .. } => Column::CancelByKey,
        Offers {
            lookup: Some(Authority::Partial),
            ..
        } => Column::PartialLookup,
        Offers { lookup: None, .. } => Column::Neither,
    }
}

#[test]
fn the_first_column_that_applies_decides() {
    for consequence in Consequence::ALL {
        for offers in all_offers() {
            for is in KEY_IS {
                let story = unknown(consequence, offers, is);
                assert_eq!(story.state(), State::OutcomeUnknown);
                let column = first_column(offers, is);
                let policy = after_unknown(consequence, column);
                let next = story.next();
                let case = format!("{} {offers:?} {is:?}: {next:?}", consequence.name());
                follows(policy, column, offers, is, &story, &case);
            }
        }
    }
}

/// Whether the next step is what the policy says.
fn follows(policy: Policy, column: Column, offers: Offers, is: KeyIs, story: &Story, case: &str) {
    let leave = story.leave();
    match policy {
        Policy::Resend if column == Column::KeyWithinWindow => {
            assert_eq!(leave, "same_key", "{case}")
        }
        // What is withdrawn is not sent again, harmless or not: it is looked up, or a person decides.
        Policy::Resend | Policy::ResendBounded if is == KeyIs::Barred => {
            let expected = if offers.lookup.is_some() {
                "look_up"
            } else {
                "review"
            };
            assert_eq!(leave, expected, "{case}");
        }
        Policy::Resend | Policy::ResendBounded => assert_eq!(leave, "harmless", "{case}"),
        Policy::LookUpThenResend | Policy::LookUpThenReview => {
            assert_eq!(leave, "look_up", "{case}")
        }
        Policy::CancelThenResend | Policy::CancelThenReview => {
            assert_eq!(leave, "cancel", "{case}")
        }
        Policy::Preference | Policy::Review => assert_eq!(leave, "review", "{case}"),
    }
}

#[test]
fn what_follows_an_absence_is_as_the_cell_says() {
    let late = LANDS_AFTER + 21;
    for consequence in [
        Consequence::Reversible,
        Consequence::Costly,
        Consequence::Irreversible,
    ] {
        for (authority, then) in [
            (Authority::Authoritative, "proven_absent"),
            (Authority::Partial, "review"),
        ] {
            let offers = Offers {
                key: false,
                lookup: Some(authority),
                cancel: false,
            };
            let mut story = unknown(consequence, offers, KeyIs::Good);
            story.at(late).look(LookupAnswer::Absent);
            assert_eq!(story.leave(), then, "{} {authority:?}", consequence.name());
        }
    }
}

#[test]
fn what_follows_a_confirmed_cancel_is_as_the_cell_says() {
    for (consequence, then) in [
        (Consequence::Reversible, "proven_absent"),
        (Consequence::Costly, "proven_absent"),
        (Consequence::Irreversible, "review"),
    ] {
        let offers = Offers {
            key: false,
            lookup: None,
            cancel: true,
        };
        let mut story = unknown(consequence, offers, KeyIs::Good);
        let no = story.send_cancel();
        let confirmed = factum_core::evidence::CancelAnswer::Confirmed { object: None };
        story.at(6).cancel_answer(no, confirmed);
        assert_eq!(story.leave(), then, "{}", consequence.name());
    }
}

#[test]
fn harmless_repeats_are_bounded_where_nothing_else_is_offered() {
    let offers = Offers {
        key: false,
        lookup: None,
        cancel: false,
    };
    let mut story = unknown(Consequence::Harmless, offers, KeyIs::Good);
    let mut sends = 1;
    while story.leave() == "harmless" {
        story.send();
        sends += 1;
        story.lose(sends);
    }
    assert_eq!(sends, story.intent.limits.attempts_max);
    assert!(matches!(story.next().step, Step::Review(_)));
}
