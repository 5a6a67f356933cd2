//! The settings that are explored: every consequence with every offer, and for each offer the things that can go wrong with
//! it, one or two at a time. The small ones run with every test; the large ones give the same worlds more time, more tries
//! and more trouble at once.

use factum_core::Preference;
use factum_core::promise::{Consequence, LookupBy, Promises, Retention};

use super::setup::{Budget, Offer, Setup, tick, ticks};

pub(crate) const KEY: Offer = Offer::Key {
    joins_running: true,
};
pub(crate) const SILENT_KEY: Offer = Offer::Key {
    joins_running: false,
};
pub(crate) const CANCEL: Offer = Offer::Cancel { for_good: false };
pub(crate) const CANCEL_FOR_GOOD: Offer = Offer::Cancel { for_good: true };

const OFFERS: [Offer; 8] = [
    KEY,
    SILENT_KEY,
    Offer::Lookup,
    CANCEL_FOR_GOOD,
    CANCEL,
    Offer::Partial,
    Offer::Neither,
    Offer::Queue,
];

/// An irreversible or costly thing; the model's plain case.
pub(crate) fn costly(offer: Offer) -> Setup {
    Setup::new(Consequence::Costly, offer)
}

/// The settings of every run.
#[must_use]
pub fn small() -> Vec<Setup> {
    let mut all = matrix(2, 1, 3);
    all.extend(by_key(5));
    all.extend(by_lookup(5));
    all.extend(by_cancel(4));
    all.extend(by_people(4));
    all.extend(by_store(4));
    all.extend(by_clock(4));
    all.extend(by_two(3));
    all.extend(by_twins(3));
    all.extend(by_callers(4));
    all
}

/// The same with more time, more tries and a process that may die at any moment, and every kind of trouble with every
/// consequence and offer.
#[must_use]
pub fn large() -> Vec<Setup> {
    let mut all = together();
    all.extend(matrix(2, 2, 6));
    for group in [
        by_key(7),
        by_lookup(7),
        by_cancel(6),
        by_people(6),
        by_store(6),
        by_clock(6),
        by_two(4),
        by_twins(4),
        by_callers(5),
    ] {
        let dying = group.iter().filter(|setup| setup.budget.crashes == 0);
        let dying: Vec<Setup> = dying
            .map(|setup| setup.clone().may("a death", |b| b.crashes = 1))
            .collect();
        all.extend(group);
        all.extend(dying);
    }
    all
}

/// Every consequence with every offer, under each kind of trouble that concerns all of them.
pub(crate) fn together() -> Vec<Setup> {
    let mut all = Vec::new();
    for plain in matrix(2, 1, 4) {
        let plain = || plain.clone();
        all.extend([
            two(plain().tries(1, 1)).crashes(1).until(3),
            two(plain().until(3)).with("one subject", |s| s.one_subject = true),
            races(plain()).crashes(1).until(3),
            restored(plain()).may("a death", |b| b.crashes = 1).until(3),
            proxied(plain()).may("a refusal", |b| b.refusals = 1),
            calling(plain()).may("told twice", |b| b.repeats = 1),
            // What a person saw counts by when a cancel was over.
            plain()
                .may("two verdicts", |b| b.verdicts = 2)
                .may("withdrawn", |b| b.withdrawals = 1)
                .with("dated", |s| s.dated = s.told.promises.cancel.is_some()),
            plain().may("a death", |b| b.crashes = 2).until(5),
        ]);
    }
    all
}

/// Every consequence with every offer. Repeats of a harmless queue are limited by nothing else, which makes it large and shows
/// nothing more.
pub(crate) fn matrix(attempts: u32, cancels: u32, until: u8) -> Vec<Setup> {
    let mut all = Vec::new();
    for consequence in Consequence::ALL {
        for offer in OFFERS {
            if consequence != Consequence::Harmless || offer != Offer::Queue {
                all.push(
                    Setup::new(consequence, offer)
                        .tries(attempts, cancels)
                        .until(until),
                );
            }
        }
    }
    all
}

pub(crate) fn by_key(until: u8) -> Vec<Setup> {
    let key = || costly(KEY).floor(6).until(until);
    vec![
        key().crashes(1).until(until + 3),
        key().tries(3, 0).until(until - 2),
        costly(SILENT_KEY).floor(9).crashes(1).until(until + 3),
        key().may("a refusal", |b| b.refusals = 1),
        storing(key()).may("a stored refusal", |b| b.refusals = 1),
        errors(key()),
        key().may("an unreadable answer", |b| b.unreadable = 1),
        key().may("answers twice", |b| b.repeats = 1),
        key().may("withdrawn", |b| b.withdrawals = 1),
        key().may("revoked", |b| b.revocations = 1),
        ending(key(), 2),
        approved(key(), 2),
        finishing(key(), 2),
        proxied(key())
            .may("refusals", |b| b.refusals = 1)
            .until(until - 2),
        stricter(key()),
        disproved(key()).until(until - 1),
        key().with("the contract says `about`", |s| {
            s.told.promises = about(&s.told.promises);
            s.current = about(&s.current);
        }),
        races(key()).until(until - 3),
        races(key()).crashes(1).tries(1, 0).until(until - 3),
        slow_store(key()).until(until - 1),
        key().skewed(),
        far(key()).until(until - 1),
        key().slow_writes(),
    ]
}

pub(crate) fn by_lookup(until: u8) -> Vec<Setup> {
    let lookup = || costly(Offer::Lookup).until(until);
    let queue = || costly(Offer::Queue).until(until - 2);
    vec![
        lookup().crashes(1),
        lookup().may("a failed lookup", |b| b.failed_lookups = 1),
        lookup().with("slow lookups", |s| s.slow_lookups = true),
        lookup().may("withdrawn", |b| b.withdrawals = 1),
        lookup().may("a refusal", |b| b.refusals = 1),
        lookup().may("an unreadable answer", |b| b.unreadable = 1),
        lookup().with("late records", |s| s.lazy = true),
        lookup().skewed(),
        lookup().slow_writes(),
        slow_store(lookup()).tries(1, 0),
        aliases(calling(lookup())).until(until - 1),
        by_the_key(lookup()),
        correcting(lookup()).until(until - 2),
        foreign(lookup()),
        deleted(costly(Offer::Partial).until(until)),
        busy(lookup()),
        proxied(lookup())
            .may("refusals", |b| b.refusals = 1)
            .until(until - 2),
        queue().may("a failure", |b| b.refusals = 1),
        calling(queue()).may("a failure", |b| b.refusals = 1),
        calling(queue())
            .tries(1, 0)
            .may("a failure, told twice", |b| {
                b.refusals = 1;
                b.repeats = 1;
            }),
        queue().crashes(1).tries(1, 0),
        costly(Offer::Partial)
            .until(until)
            .may("a verdict", |b| b.verdicts = 1),
        costly(Offer::Partial)
            .until(until - 1)
            .may("another look", |b| b.checks = 1),
        preferring(Setup::new(Consequence::Reversible, Offer::Partial).until(until)),
    ]
}

pub(crate) fn by_cancel(until: u8) -> Vec<Setup> {
    let for_good = || costly(CANCEL_FOR_GOOD).tries(2, 1).until(until);
    let irreversible = || Setup::new(Consequence::Irreversible, CANCEL_FOR_GOOD).tries(1, 1);
    vec![
        for_good(),
        for_good().tries(1, 2).until(until - 1),
        costly(CANCEL).tries(2, 1).until(until + 2),
        costly(CANCEL).tries(1, 2).until(until + 2),
        forgetting(costly(CANCEL).tries(1, 2).until(until + 5), 9),
        for_good().crashes(1).tries(1, 1).until(until - 1),
        for_good().tries(1, 1).may("revoked", |b| b.revocations = 1),
        ending(for_good().tries(1, 2), 2),
        calling(for_good().tries(1, 1)),
        irreversible()
            .until(until - 1)
            .may("withdrawn", |b| b.withdrawals = 1),
        irreversible()
            .until(until - 1)
            .may("a verdict", |b| b.verdicts = 1),
    ]
}

pub(crate) fn by_people(until: u8) -> Vec<Setup> {
    let neither = || costly(Offer::Neither).tries(2, 0).until(until);
    let reversible = || Setup::new(Consequence::Reversible, Offer::Neither).until(until);
    vec![
        neither()
            .until(until - 1)
            .may("verdicts", |b| b.verdicts = 2),
        neither()
            .tries(1, 0)
            .until(until + 1)
            .may("a verdict", |b| b.verdicts = 1),
        neither()
            .crashes(1)
            .until(until - 1)
            .may("a verdict", |b| b.verdicts = 1),
        calling(neither().tries(1, 0)).may("a verdict", |b| b.verdicts = 1),
        neither().may("a hand", |b| {
            b.hands = 1;
            b.verdicts = 1;
        }),
        costly(Offer::Lookup).until(until).may("a hand", |b| {
            b.hands = 1;
            b.verdicts = 1;
        }),
        proxied(neither()).may("refusals", |b| b.refusals = 1),
        unpublished(neither()).may("a verdict", |b| b.verdicts = 1),
        neither().may("withdrawn", |b| b.withdrawals = 1),
        neither().may("revoked", |b| b.revocations = 1),
        races(neither()).until(until - 1),
        reversible().with("prefer missing", |s| {
            s.told.preference = Preference::PreferMissing { by: ops() };
        }),
        preferring(reversible()),
    ]
}

pub(crate) fn by_store(until: u8) -> Vec<Setup> {
    vec![
        restored(costly(KEY).floor(9).tries(2, 0).until(until)),
        restored(costly(Offer::Lookup).tries(2, 0).until(until)),
        restored(by_the_key(costly(Offer::Lookup).tries(2, 0).until(until))),
        restored(costly(CANCEL_FOR_GOOD).tries(2, 1).until(until - 1)),
        restored(costly(Offer::Neither).tries(1, 0).until(until))
            .may("a verdict", |b| b.verdicts = 1),
        restored(costly(KEY).tries(1, 0).until(until)).with("no time of intent", |s| {
            s.told.intent_at = None;
        }),
        restored(costly(Offer::Lookup).tries(1, 0).until(until))
            .may("withdrawn", |b| b.withdrawals = 1),
    ]
}

pub(crate) fn by_clock(until: u8) -> Vec<Setup> {
    let stepped = |setup: Setup| setup.may("the clock steps", |b| b.steps = 1);
    let swapped = |setup: Setup| setup.may("the secret is swapped", |b| b.swaps = 1);
    vec![
        stepped(key_and_lookup().until(until)).may("and is set right", |b| b.steps = 2),
        stepped(costly(KEY).floor(6).until(until + 3)),
        stepped(costly(Offer::Lookup).until(until)),
        stepped(forgetting(costly(CANCEL).tries(2, 1), 9).until(until + 7)),
        stepped(costly(CANCEL_FOR_GOOD).tries(1, 1).until(until)),
        swapped(costly(KEY).floor(6).until(until)),
        swapped(costly(KEY).floor(6).until(until)).may("and back", |b| b.swaps = 2),
        swapped(costly(Offer::Lookup).until(until)),
        swapped(costly(CANCEL).tries(2, 1).until(until + 2)),
        swapped(costly(CANCEL_FOR_GOOD).tries(1, 1).until(until)),
    ]
}

/// Law 2: who submits at once, again, with other content, and after a restore.
pub(crate) fn by_callers(until: u8) -> Vec<Setup> {
    let again = |setup: Setup| setup.may("submitted again", |b| b.resubmissions = 1);
    let key = || costly(KEY).floor(6).tries(1, 0).until(until - 1);
    let neither = || costly(Offer::Neither).tries(1, 0).until(until - 1);
    vec![
        again(callers(key(), [0, 0])),
        again(callers(key(), [0, 1])),
        again(callers(neither(), [0, 1])).crashes(1),
        again(restored(callers(neither(), [0, 0]))),
        again(restored(callers(
            costly(Offer::Lookup).tries(1, 0).until(until - 1),
            [0, 0],
        ))),
    ]
}

pub(crate) fn by_two(until: u8) -> Vec<Setup> {
    vec![
        two(costly(KEY).floor(6).tries(1, 0).until(until - 1)),
        two(costly(Offer::Lookup).tries(1, 0).until(until - 1)),
        two(costly(Offer::Neither).tries(1, 0).until(until)),
        two(Setup::new(Consequence::Harmless, Offer::Neither)
            .tries(2, 0)
            .until(until - 1))
        .with("one subject", |s| s.one_subject = true),
        costly(Offer::Neither)
            .tries(1, 0)
            .until(until)
            .may("submitted twice", |b| b.resubmissions = 1),
    ]
}

/// R16: two callers submit the same content at once under identities of their own, and are held off while that may be one intent.
pub(crate) fn by_twins(until: u8) -> Vec<Setup> {
    let neither = || costly(Offer::Neither).tries(1, 0).until(until);
    vec![
        twins(neither()).until(until + 1),
        twins(neither()).may("a refusal", |b| b.refusals = 1),
        twins(neither()).may("a verdict", |b| b.verdicts = 1),
        twins(neither()).may("withdrawn", |b| b.withdrawals = 1),
        twins(neither()).crashes(1),
        twins(costly(Offer::Lookup).tries(1, 0).until(until)),
        twins(costly(KEY).floor(6).tries(1, 0).until(until)),
    ]
}

// ---- what can be added to a setting

/// A second action with the same content.
pub(crate) fn two(setup: Setup) -> Setup {
    setup.with("two actions", |s| s.actions = 2)
}

/// Each of two callers has an identity of its own for one content, and the other's holds it off for a tick.
pub(crate) fn twins(setup: Setup) -> Setup {
    setup.with("twins held off", |s| {
        s.actions = 2;
        s.callers = Some([0, 0]);
        s.twins = Some(1);
    })
}

/// An older copy of the store comes back.
pub(crate) fn restored(setup: Setup) -> Setup {
    setup.may("restored", |b| b.restores = 1)
}

pub(crate) fn races(setup: Setup) -> Setup {
    setup.with("a race", |s| s.races = true)
}

pub(crate) fn slow_store(setup: Setup) -> Setup {
    setup.with("a slow store", |s| s.slow_store = true)
}

pub(crate) fn calling(setup: Setup) -> Setup {
    let queues = setup.real.queues;
    let setup = setup.with("it calls back", |s| s.real.calls_back = true);
    if queues {
        // A promised report is waited for from the last word on, so it matters when that was stored.
        setup
            .with("dated", |s| s.dated = true)
            .promising("promised", |p| {
                if let Some(completion) = &mut p.completion {
                    completion.callback = true;
                }
            })
    } else {
        setup
    }
}

pub(crate) fn aliases(setup: Setup) -> Setup {
    setup.with("two names", |s| s.real.aliases = true)
}

pub(crate) fn foreign(setup: Setup) -> Setup {
    setup
        .with("others' objects", |s| s.real.foreign = true)
        .may("one", |b| b.refusals = 1)
}

pub(crate) fn busy(setup: Setup) -> Setup {
    setup
        .with("it is busy", |s| s.real.busy = true)
        .may("once", |b| b.refusals = 1)
}

pub(crate) fn storing(setup: Setup) -> Setup {
    setup.with("it stores refusals", |s| s.real.stores_refusals = true)
}

/// The destination stores its errors under the key.
pub(crate) fn errors(setup: Setup) -> Setup {
    setup
        .with("it stores errors", |s| s.real.stores_errors = true)
        .promising("and says so", |p| {
            if let Some(key) = &mut p.key {
                key.stores_errors = true;
            }
        })
        .may("one", |b| b.unreadable = 1)
}

/// Somebody deletes the effect; the lookup shows no deleted ones, and the contract calls it partial for that.
pub(crate) fn deleted(setup: Setup) -> Setup {
    setup.may("deleted", |b| b.deletions = 1)
}

/// Two callers submit under one identity at once, with these contents.
pub(crate) fn callers(setup: Setup, contents: [u8; 2]) -> Setup {
    let words = if contents[0] == contents[1] {
        "two callers"
    } else {
        "two callers who differ"
    };
    setup.with(words, |s| s.callers = Some(contents))
}

/// An answer shows that the key is not looked at, whatever the contract says.
pub(crate) fn disproved(setup: Setup) -> Setup {
    setup
        .with("a promise disproved", |s| s.real.shows_missing = true)
        .may("once", |b| b.unreadable = 1)
}

/// The destination recognises keys for long, and has a complete lookup.
pub(crate) fn key_and_lookup() -> Setup {
    let lookup = Setup::new(Consequence::Costly, Offer::Lookup)
        .told
        .promises
        .lookup;
    costly(KEY)
        .floor(15)
        .promising("and a lookup", |p| p.lookup = lookup)
}

/// The destination is asked once, and then when absence counts.
pub(crate) fn few_questions(setup: Setup) -> Setup {
    setup.with("few questions", |s| s.told.limits.lookups_max = 1)
}

/// The way over the network may be long, and the bounds know it.
pub(crate) fn far(setup: Setup) -> Setup {
    setup.with("far away", |s| {
        s.real.linger = 3;
        s.told.limits.bound.linger = ticks(3);
    })
}

/// The way to the destination may deliver twice, and nobody says that it does not.
pub(crate) fn proxied(setup: Setup) -> Setup {
    setup
        .promising("a proxy", |p| p.path_is_direct = false)
        .may("twice", |b| b.proxied = 1)
}

/// How long the destination works is not published.
pub(crate) fn unpublished(setup: Setup) -> Setup {
    setup.promising("unpublished", |p| {
        p.processing_max = factum_core::promise::ProcessingMax::Unpublished;
    })
}

/// The lookup asks by the provider key.
pub(crate) fn by_the_key(setup: Setup) -> Setup {
    setup.promising("by key", |p| {
        if let Some(lookup) = &mut p.lookup {
            lookup.by = LookupBy::Key;
        }
    })
}

pub(crate) fn correcting(setup: Setup) -> Setup {
    setup.may("a correction", |b: &mut Budget| {
        b.corrections = 1;
        b.unreadable = 1;
    })
}

/// The destination forgets the keys that it withdraws by.
pub(crate) fn forgetting(setup: Setup, known: u8) -> Setup {
    setup
        .with("it forgets", |s| s.real.cancel_known = Some(known))
        .promising("as it says", |p| {
            if let Some(cancel) = &mut p.cancel {
                cancel.retention = Retention::Floor(ticks(known));
            }
        })
}

pub(crate) fn preferring(setup: Setup) -> Setup {
    setup.with("prefer a duplicate", |s| {
        s.told.preference = Preference::PreferDuplicate { by: ops() };
    })
}

pub(crate) fn ending(setup: Setup, at: u8) -> Setup {
    setup.with("a deadline", |s| s.told.deadline = Some(tick(at)))
}

pub(crate) fn approved(setup: Setup, until: u8) -> Setup {
    setup.with("an approval", |s| s.told.approved_until = Some(tick(until)))
}

pub(crate) fn finishing(setup: Setup, at: u8) -> Setup {
    ending(setup, at).with("to be finished", |s| s.told.finish = true)
}

/// The destination took its promise of the key back since.
pub(crate) fn stricter(setup: Setup) -> Setup {
    setup.with("a promise taken back", |s| {
        s.current.key = None;
        s.real.key = None;
    })
}

fn about(promises: &Promises) -> Promises {
    let mut promises = promises.clone();
    if let Some(key) = &mut promises.key {
        let span = key.retention.floor().unwrap_or_default();
        key.retention = Retention::Approximate(span);
    }
    promises
}

fn ops() -> String {
    "ops, ticket 12".to_owned()
}
