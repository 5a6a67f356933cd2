//! What operators and people do, seen from the driver.

use factum_core::{Fact, Span, State};
use factum_engine::driver::Event;
use factum_engine::driver::gate::GateSettings;
use factum_store::Store;

use crate::world::{Fate, PLACE, World, promises, ready};

/// `factum admin pause`: no sends, lookups go on.
#[test]
fn while_paused_nothing_is_sent_and_lookups_go_on() {
    let mut world = World::new(1, promises(None, true));
    world.fates.push_back(Fate::AnswerLost);
    let lost = world.submit(1);
    while world.sent == 0 {
        world.step(0);
    }
    world.tell(0, Event::Paused(true));
    let waiting = world.submit(2);
    world.run(Span::from_secs(3_600));
    assert_eq!(
        world.status(lost).state,
        State::Succeeded,
        "found by lookup"
    );
    assert_eq!(world.status(waiting).state, State::Pending);
    assert_eq!(world.effects.get(&waiting), None);
    world.tell(0, Event::Paused(false));
    world.run(Span::from_secs(60));
    assert_eq!(world.status(waiting).state, State::Succeeded);
}

/// B188: a cancel that comes while the request is in flight is too late, and says so.
#[test]
fn a_cancel_in_flight_stops_sends_and_claims_nothing() {
    let mut world = World::new(1, promises(None, true));
    world.fates.push_back(Fate::AnswerLost);
    let id = world.submit(1);
    while world.sent == 0 {
        world.step(0);
    }
    let cancel = Fact::CancelRequested {
        by: "ana".to_owned(),
        why: "changed her mind".to_owned(),
    };
    ready(world.store.record(id, vec![cancel])).unwrap();
    assert_ne!(world.status(id).state, State::Cancelled);
    let now = world.now();
    world.tell(
        0,
        Event::Due {
            action: id,
            destination: PLACE.to_owned(),
            at: now,
        },
    );
    world.run(Span::from_secs(600));
    assert_eq!(
        world.status(id).state,
        State::Succeeded,
        "the lookup shows that it went out"
    );
    assert_eq!((world.effects[&id], world.sent), (1, 1));
}

/// Law 5 and R10: withdrawn and proven absent is cancelled; withdrawn and nothing known is for a person.
#[test]
fn a_cancelled_unknown_ends_by_lookup() {
    let mut world = World::new(1, promises(None, true));
    world.fates.push_back(Fate::RequestLost);
    let id = world.submit(1);
    while world.sent == 0 {
        world.step(0);
    }
    let cancel = Fact::CancelRequested {
        by: "ana".to_owned(),
        why: "changed her mind".to_owned(),
    };
    ready(world.store.record(id, vec![cancel])).unwrap();
    let now = world.now();
    world.tell(
        0,
        Event::Due {
            action: id,
            destination: PLACE.to_owned(),
            at: now,
        },
    );
    world.run(Span::from_secs(600));
    let status = world.status(id);
    assert_eq!(
        (status.state, status.safe_to_call_again),
        (State::Cancelled, true)
    );
    assert_eq!(world.effects.get(&id), None);
}

/// A stopping driver begins nothing, and what it was given is still there for the next one.
#[test]
fn stopping_begins_nothing() {
    let mut world = World::new(1, promises(None, true));
    world.tell(0, Event::Stopping);
    let id = world.submit(1);
    world.run(Span::from_secs(600));
    assert_eq!(world.status(id).state, State::Pending);
    assert_eq!(ready(world.store.due(None, 10)).unwrap().len(), 1);
}

/// R18: until a restore is released no effect request goes out, for actions that are newer than it neither; and what only an
/// operator's word is missing for is not handed to a person for good.
#[test]
fn an_unreleased_restore_holds_every_send() {
    let mut world = World::new(1, promises(Some(Span::from_secs(86_400)), false));
    world.tell(0, Event::RestoreReleased(false));
    let newer = world.submit(1);
    let caught = world.submit(2);
    let now = world.now();
    let restored = Fact::StoreRestored {
        copy_until: now,
        at: now,
        first_arrival: Some(now),
    };
    ready(world.store.record(caught, vec![restored])).unwrap();
    world.run(Span::from_secs(3_600));
    assert_eq!(world.status(newer).state, State::Pending);
    assert_eq!(
        world.status(caught).state,
        State::OutcomeUnknown,
        "it may have been sent"
    );
    for id in [newer, caught] {
        assert_eq!(
            world.record(id).next.step,
            "wait",
            "{}",
            world.record(id).next.why
        );
        assert_eq!(world.effects.get(&id), None);
    }
    world.tell(0, Event::RestoreReleased(true));
    world.run(Span::from_secs(60));
    for id in [newer, caught] {
        assert_eq!(
            world.status(id).state,
            State::Succeeded,
            "{:?}",
            world.kinds(id)
        );
        assert_eq!(world.effects[&id], 1);
    }
}

/// A full gate delays, and forgets nobody: whoever waits is called when a place is free, whatever became of those before.
#[test]
fn a_full_gate_forgets_nobody() {
    let mut world = World::with_gate(
        1,
        promises(None, true),
        GateSettings {
            in_flight_max: 2,
            ..GateSettings::default()
        },
    );
    let ids: Vec<_> = (1..=40).map(|n| world.submit(n)).collect();
    // Some are withdrawn while they wait, so that being called does not always end in a request.
    for id in ids.iter().step_by(3) {
        let cancel = Fact::CancelRequested {
            by: "ana".to_owned(),
            why: "test".to_owned(),
        };
        ready(world.store.record(*id, vec![cancel])).unwrap();
    }
    world.run(Span::from_secs(30));
    for id in ids {
        let state = world.status(id).state;
        assert!(
            matches!(state, State::Succeeded | State::Cancelled),
            "{state:?}: {:?}",
            world.kinds(id)
        );
    }
}
