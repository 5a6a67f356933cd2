//! The judgement: what the engine says about every action, held against the ledger of what really happened. Pure.
//!
//! Effects are counted in the ledger only. Nothing that the engine says makes an effect, or one less.

use std::collections::{BTreeMap, BTreeSet};

use factum_testbed::{Kind, Mode};

use super::settled::SettledBy;

/// One action as the caller and the engine know it.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// Its identity, and its business reference in the ledger.
    pub(crate) key: String,
    /// The kind of its destination.
    pub(crate) kind: Kind,
    /// The mode of its destination.
    pub(crate) mode: Mode,
    /// The ids that answers with 2xx gave it. One, if all is well; none, if it was never acknowledged.
    pub(crate) ids: BTreeSet<String>,
    /// Some answer or statement said that it is done.
    pub(crate) said_done: bool,
    /// Some answer or statement said that it is not done, and will not be.
    pub(crate) said_undone: bool,
    /// Sends that a person ordered, each at the risk of one more effect.
    pub(crate) ordered: u64,
    /// It is older than a restore of the store: marks, and words that were given, may be lost with the newer file.
    pub(crate) restored: bool,
    /// What the engine says at the end; none where it knows no such action.
    pub(crate) standing: Option<Standing>,
}

/// What the engine says about an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) state: String,
    /// Its next step.
    pub(crate) next: String,
    /// Why that is next.
    pub(crate) why: String,
    /// The next step has a time.
    pub(crate) timed: bool,
    /// The search was ended by a person or a preference.
    pub(crate) closed: bool,
    /// Attempts that were marked.
    pub(crate) attempts: u64,
    /// By what it was settled; only where it is.
    pub(crate) settled_by: Option<SettledBy>,
}

/// What the ledger holds of one business reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Effects that exist.
    pub(crate) effects: u64,
    /// Effect requests that came over the wire.
    pub(crate) deliveries: u64,
    /// Those whose true answer was lost.
    pub(crate) answers_lost: u64,
}

/// Numbers of all actions, or of those of one kind of destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) actions: u64,
    pub(crate) sent: u64,
    pub(crate) answers_lost: u64,
    pub(crate) effects: u64,
    pub(crate) duplicates: u64,
    pub(crate) missing: u64,
    pub(crate) false_success: u64,
    pub(crate) false_failure: u64,
    pub(crate) lost: u64,
    pub(crate) settled: u64,
    pub(crate) in_review: u64,
    pub(crate) unknown_without_review: u64,
    /// Still going on when the time was over.
    pub(crate) unfinished: u64,
    pub(crate) settled_by: BTreeMap<SettledBy, u64>,
    /// Why a person is needed, and how often.
    pub(crate) waits_for: BTreeMap<String, u64>,
}

/// A law that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Its number in the list of laws.
    pub(crate) law: u8,
    /// What was seen.
    pub(crate) saw: String,
    /// Of which identities.
    pub(crate) keys: Vec<String>,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) total: Tally,
    pub(crate) kinds: BTreeMap<(Kind, Mode), Tally>,
    pub(crate) broken: Vec<Broken>,
}

/// Holds the actions against the ledger.
pub(crate) fn judge(actions: &[Observed], ledger: &BTreeMap<String, Held>) -> Verdict {
    let mut verdict = Verdict::default();
    for action in actions {
        let held = ledger.get(&action.key).copied().unwrap_or_default();
        let one = Tally::of(action, held);
        verdict.total.add(&one);
        verdict
            .kinds
            .entry((action.kind, action.mode))
            .or_default()
            .add(&one);
    }
    verdict.broken = laws(actions, ledger);
    verdict
}

impl Tally {
    fn of(action: &Observed, held: Held) -> Self {
        let standing = action.standing.as_ref();
        let is = |test: fn(&Standing) -> bool| standing.is_some_and(test);
        let missing = (action.said_done || is(Standing::is_done)) && held.effects == 0;
        Self {
            actions: 1,
            sent: held.deliveries,
            answers_lost: held.answers_lost,
            effects: held.effects,
            duplicates: held.effects.saturating_sub(1 + action.ordered),
            missing: u64::from(missing),
            false_success: u64::from(is(Standing::is_done) && held.effects == 0),
            false_failure: u64::from(is(Standing::is_undone) && held.effects > 0),
            lost: u64::from(!action.ids.is_empty() && standing.is_none()),
            settled: u64::from(is(Standing::is_settled)),
            in_review: u64::from(is(Standing::is_in_review)),
            unknown_without_review: u64::from(is(|s| {
                s.state == "outcome_unknown" && !s.is_in_review() && !s.closed
            })),
            unfinished: u64::from(!is(|s| s.is_settled() || s.is_in_review())),
            settled_by: standing
                .filter(|standing| standing.is_settled())
                .and_then(|standing| standing.settled_by)
                .map(|by| (by, 1))
                .into_iter()
                .collect(),
            waits_for: standing
                .filter(|s| s.is_in_review())
                .map(|s| (s.why.clone(), 1))
                .into_iter()
                .collect(),
        }
    }

    fn add(&mut self, one: &Self) {
        self.actions += one.actions;
        self.sent += one.sent;
        self.answers_lost += one.answers_lost;
        self.effects += one.effects;
        self.duplicates += one.duplicates;
        self.missing += one.missing;
        self.false_success += one.false_success;
        self.false_failure += one.false_failure;
        self.lost += one.lost;
        self.settled += one.settled;
        self.in_review += one.in_review;
        self.unknown_without_review += one.unknown_without_review;
        self.unfinished += one.unfinished;
        for (by, count) in &one.settled_by {
            *self.settled_by.entry(*by).or_default() += count;
        }
        for (why, count) in &one.waits_for {
            *self.waits_for.entry(why.clone()).or_default() += count;
        }
    }

    /// How many were settled by this.
    pub(crate) fn by(&self, by: SettledBy) -> u64 {
        self.settled_by.get(&by).copied().unwrap_or_default()
    }
}

impl Standing {
    fn is_done(&self) -> bool {
        self.state == "succeeded"
    }

    fn is_undone(&self) -> bool {
        matches!(
            self.state.as_str(),
            "terminal_failure" | "cancelled" | "expired"
        )
    }

    fn is_settled(&self) -> bool {
        self.next == "none" && (self.is_done() || self.is_undone() || self.closed)
    }

    /// It has not come to rest.
    #[cfg(feature = "proof")]
    pub(crate) fn goes_on(&self) -> bool {
        !self.is_settled() && !self.is_in_review()
    }

    fn is_in_review(&self) -> bool {
        self.next == "review"
    }

    /// Neither settled, nor due at a time, nor waiting for a person.
    fn is_forgotten(&self) -> bool {
        !(self.is_settled() || self.is_in_review() || (self.next != "none" && self.timed))
    }
}

/// Every law that the ledger and the callers' memory can speak about, and where it did not hold.
fn laws(actions: &[Observed], ledger: &BTreeMap<String, Held>) -> Vec<Broken> {
    let held = |action: &Observed| ledger.get(&action.key).copied().unwrap_or_default();
    let marked = |action: &Observed| {
        action
            .standing
            .as_ref()
            .map_or(0, |standing| standing.attempts)
    };
    let is =
        |action: &Observed, test: fn(&Standing) -> bool| action.standing.as_ref().is_some_and(test);
    let asked: BTreeSet<&str> = actions.iter().map(|action| action.key.as_str()).collect();
    let strangers = ledger
        .iter()
        .filter(|(key, held)| held.deliveries > 0 && !asked.contains(key.as_str()));
    let strangers: Vec<&str> = strangers.map(|(key, _)| key.as_str()).collect();

    let mut laws = Laws {
        actions,
        broken: Vec::new(),
    };
    laws.holds(1, "sent more often than was marked", |action| {
        !action.restored && held(action).deliveries > marked(action)
    });
    laws.holds(2, "one identity names several actions", |action| {
        action.ids.len() > 1
    });
    laws.holds(3, "more than one effect", |action| {
        held(action).effects > 1 + action.ordered
    });
    laws.holds(4, "said to be done, and no effect exists", |action| {
        (action.said_done || is(action, Standing::is_done)) && held(action).effects == 0
    });
    laws.holds(5, "said not to be done, and an effect exists", |action| {
        let said = action.said_undone && !action.restored;
        (said || is(action, Standing::is_undone)) && held(action).effects > 0
    });
    laws.holds(
        8,
        "neither settled, nor scheduled, nor in review",
        |action| is(action, Standing::is_forgotten),
    );
    laws.holds(10, "acknowledged, and unknown later", |action| {
        !action.ids.is_empty() && action.standing.is_none()
    });
    laws.saw(9, "sent without having been asked for", &strangers);
    laws.broken
}

struct Laws<'a> {
    actions: &'a [Observed],
    broken: Vec<Broken>,
}

impl Laws<'_> {
    fn holds(&mut self, law: u8, what: &str, breaks: impl Fn(&Observed) -> bool) {
        let seen: Vec<&str> = self
            .actions
            .iter()
            .filter(|action| breaks(action))
            .map(|action| action.key.as_str())
            .collect();
        self.saw(law, what, &seen);
    }

    fn saw(&mut self, law: u8, what: &str, seen: &[&str]) {
        if let Some(first) = seen.first() {
            self.broken.push(Broken {
                law,
                saw: format!("{what}: {} of them, {first} for one", seen.len()),
                keys: seen.iter().map(|key| (*key).to_owned()).collect(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(state: &str, next: &str) -> Observed {
        Observed {
            key: "k".to_owned(),
            kind: Kind::Key,
            mode: Mode::Sync,
            ids: BTreeSet::from(["act_1".to_owned()]),
            said_done: false,
            said_undone: false,
            ordered: 0,
            restored: false,
            standing: Some(Standing {
                state: state.to_owned(),
                next: next.to_owned(),
                why: "because".to_owned(),
                timed: !matches!(next, "none" | "review"),
                closed: false,
                attempts: 2,
                settled_by: Some(SettledBy::Reply),
            }),
        }
    }

    fn judged(action: Observed, effects: u64, deliveries: u64) -> (Tally, Vec<u8>) {
        let held = Held {
            effects,
            deliveries,
            answers_lost: 0,
        };
        let verdict = judge(&[action], &BTreeMap::from([("k".to_owned(), held)]));
        (
            verdict.total,
            verdict.broken.iter().map(|broken| broken.law).collect(),
        )
    }

    #[test]
    fn what_is_true_breaks_no_law() {
        for (state, next, effects) in [
            ("succeeded", "none", 1),
            ("terminal_failure", "none", 0),
            ("outcome_unknown", "review", 0),
            ("outcome_unknown", "review", 1),
            ("outcome_unknown", "look_up", 1),
            ("accepted", "poll", 0),
        ] {
            assert_eq!(
                judged(action(state, next), effects, 1).1,
                [0_u8; 0],
                "{state}, {next}, {effects}"
            );
        }
    }

    #[test]
    fn each_law_is_seen_to_break() {
        let lost = Observed {
            standing: None,
            ..action("", "")
        };
        let twice = Observed {
            ids: BTreeSet::from(["a".to_owned(), "b".to_owned()]),
            ..action("succeeded", "none")
        };
        let said = Observed {
            said_done: true,
            ..action("outcome_unknown", "look_up")
        };
        let undone = Observed {
            said_undone: true,
            ..action("outcome_unknown", "review")
        };
        let cases = [
            (action("succeeded", "none"), 1, 3, vec![1]),
            (twice, 1, 1, vec![2]),
            (action("succeeded", "none"), 2, 2, vec![3]),
            (action("succeeded", "none"), 0, 1, vec![4]),
            (said, 0, 1, vec![4]),
            (action("terminal_failure", "none"), 1, 1, vec![5]),
            (action("cancelled", "none"), 1, 1, vec![5]),
            (action("expired", "none"), 1, 1, vec![5]),
            (action("outcome_unknown", "none"), 1, 1, vec![8]),
            (lost, 0, 0, vec![10]),
            (undone, 1, 1, vec![5]),
        ];
        for (action, effects, deliveries, broken) in cases {
            assert_eq!(
                judged(action.clone(), effects, deliveries).1,
                broken,
                "{action:?}"
            );
        }
    }

    #[test]
    fn what_was_ordered_and_what_a_restore_lost_is_excused_and_nothing_else() {
        let ordered = Observed {
            ordered: 1,
            ..action("succeeded", "none")
        };
        let (tally, broken) = judged(ordered.clone(), 2, 2);
        assert_eq!((tally.duplicates, broken.len()), (0, 0));
        let (tally, broken) = judged(ordered, 3, 2);
        assert_eq!((tally.duplicates, broken), (1, vec![3]));
        let restored = Observed {
            restored: true,
            said_undone: true,
            ..action("outcome_unknown", "review")
        };
        assert!(judged(restored.clone(), 1, 5).1.is_empty());
        assert_eq!(judged(restored, 2, 5).1, [3]);
    }

    #[test]
    fn an_effect_that_nobody_asked_for_is_seen() {
        let held = Held {
            effects: 1,
            deliveries: 1,
            answers_lost: 0,
        };
        let verdict = judge(&[], &BTreeMap::from([("stranger".to_owned(), held)]));
        assert_eq!(
            verdict
                .broken
                .iter()
                .map(|broken| broken.law)
                .collect::<Vec<_>>(),
            [9]
        );
    }

    #[test]
    fn the_numbers_say_what_they_are_defined_as() {
        let (tally, _) = judged(action("succeeded", "none"), 3, 3);
        assert_eq!((tally.effects, tally.duplicates, tally.settled), (3, 2, 1));
        let (tally, _) = judged(action("succeeded", "none"), 0, 1);
        assert_eq!(
            (tally.missing, tally.false_success, tally.false_failure),
            (1, 1, 0)
        );
        let (tally, _) = judged(action("outcome_unknown", "look_up"), 1, 1);
        assert_eq!(
            (
                tally.unknown_without_review,
                tally.unfinished,
                tally.settled
            ),
            (1, 1, 0)
        );
        let mut closed = action("outcome_unknown", "none");
        closed.standing = closed.standing.map(|standing| Standing {
            closed: true,
            ..standing
        });
        let (tally, broken) = judged(closed, 1, 1);
        assert_eq!(
            (tally.settled, tally.unknown_without_review, broken.len()),
            (1, 0, 0)
        );
    }
}
