//! Nobody starves: not behind another tenant's backlog, another principal's, a destination that never answers, or a gate that lets
//! few through.

use factum_core::{ActionId, Span, State};
use factum_engine::driver::gate::{GateSettings, Heard};
use factum_engine::driver::{Command, Event};

use crate::world::{Fate, PLACE, THEIRS, World, promises};

const DAY: Span = Span::from_secs(86_400);

/// So many requests at a time, and nothing else in the way.
fn slots(in_flight_max: u32) -> GateSettings {
    GateSettings {
        in_flight_max,
        circuit_failures: 0,
        ..GateSettings::default()
    }
}

/// Carries out the first worker's commands in order until there are none or it is enough; what goes where `hangs` says never ends.
fn work(
    world: &mut World,
    hangs: impl Fn(&str) -> bool,
    mut enough: impl FnMut(&World) -> bool,
) -> usize {
    let mut hanging = 0;
    while !enough(world) {
        match world.workers[0].commands.front() {
            Some(Command::Send(send)) if hangs(&send.record.action.scope.destination) => {
                world.workers[0].commands.pop_front();
                hanging += 1;
            }
            Some(_) => {
                world.step(0);
            }
            None => return hanging,
        }
    }
    hanging
}

/// A request that hung comes to its end, without a word.
fn ends(world: &mut World, action: ActionId) {
    world.tell(
        0,
        Event::Ended {
            action,
            facts: Vec::new(),
            heard: Heard::Answer,
        },
    );
}

fn effects(world: &World, ids: &[ActionId]) -> usize {
    ids.iter()
        .filter(|id| world.effects.contains_key(id))
        .count()
}

/// One tenant has 2,000 actions due; another tenant's only one, which comes last, is not behind them.
#[test]
fn a_tenants_backlog_keeps_no_other_tenant_waiting() {
    let mut world = World::with_gate(1, promises(None, true), slots(4));
    let many: Vec<_> = (0..2_000)
        .map(|n| world.submit_for(n, PLACE, "ana"))
        .collect();
    let one = world.submit_for(5_000, THEIRS, "ben");
    work(
        &mut world,
        |_| false,
        |world| world.effects.contains_key(&one),
    );
    let before = effects(&world, &many);
    assert!(before <= 8, "{before} of the others went first");
    assert_eq!(world.effects[&one], 1);
    world.run(Span::from_secs(600));
    assert_eq!(effects(&world, &many), many.len(), "and all of them went");
}

/// The same at one destination, between two for whom actions are carried out.
#[test]
fn a_principals_backlog_keeps_no_other_principal_waiting() {
    let mut world = World::with_gate(1, promises(None, true), slots(2));
    let many: Vec<_> = (0..300)
        .map(|n| world.submit_for(n, PLACE, "ana"))
        .collect();
    // Everybody has asked by now, and waits at the gate.
    work(&mut world, |_| true, |_| false);
    let one = world.submit_for(5_000, PLACE, "ben");
    let sent = world.workers[0].driver.in_flight();
    assert_eq!(sent.len(), 2);
    for (action, _) in sent {
        ends(&mut world, action);
    }
    work(
        &mut world,
        |_| false,
        |world| world.effects.contains_key(&one),
    );
    let before = effects(&world, &many);
    assert!(before <= 8, "{before} of the others went first");
}

/// A destination that never answers has its own slots, and no others; not even where it was given all.
#[test]
fn a_destination_that_hangs_holds_only_its_own_slots() {
    for (given, held) in [(4, 4), (64, 6)] {
        let mut world = World::with_gate(1, promises(None, true), slots(given));
        let stuck: Vec<_> = (0..100)
            .map(|n| world.submit_for(n, PLACE, "ana"))
            .collect();
        let others: Vec<_> = (1_000..1_050)
            .map(|n| world.submit_for(n, THEIRS, "ben"))
            .collect();
        let hanging = work(&mut world, |destination| destination == PLACE, |_| false);
        assert_eq!((hanging, effects(&world, &stuck)), (held, 0));
        assert_eq!(effects(&world, &others), others.len());
    }
}

/// Several of them, that may hold more together than there is, leave places to one that answers.
#[test]
fn destinations_that_hang_do_not_hold_everything_together() {
    let mut world = World::with_gate(1, promises(None, true), slots(4));
    let stuck = ["one", "two", "three"];
    for n in 0..90 {
        let place = stuck[usize::try_from(n % 3).unwrap()];
        world.submit_for(n, place, "ana");
    }
    let hanging = work(&mut world, |place| stuck.contains(&place), |_| false);
    assert!((3..=6).contains(&hanging), "{hanging} hang");
    let others: Vec<_> = (1_000..1_050)
        .map(|n| world.submit_for(n, THEIRS, "ben"))
        .collect();
    work(&mut world, |place| stuck.contains(&place), |_| false);
    assert_eq!(effects(&world, &others), others.len());
}

/// Behind a long line, the repeat whose key is soon forgotten goes before the line's end; and the line goes on too.
#[test]
fn who_may_not_be_sent_much_longer_goes_first() {
    let mut world = World::with_gate(1, promises(Some(DAY), false), slots(1));
    world.fates.push_back(Fate::RequestLost);
    let old = world.submit_for(9_000, PLACE, "ana");
    work(&mut world, |_| false, |world| world.sent == 1);
    while world.step(0) {}
    assert_eq!(world.status(old).state, State::OutcomeUnknown);
    let many: Vec<_> = (0..200)
        .map(|n| world.submit_for(n, PLACE, "ana"))
        .collect();
    // One of them is being sent, and the others wait at the gate.
    work(&mut world, |_| true, |_| false);
    // The window of a day has a margin of a tenth: five minutes are left when it comes to the gate.
    world.pass(DAY - DAY.fraction(1, 10) - Span::from_secs(300));
    world.tell(0, Event::Woke);
    while world.step(0) {}
    ends(&mut world, many[0]);
    work(
        &mut world,
        |_| false,
        |world| world.effects.contains_key(&old),
    );
    let before = effects(&world, &many);
    assert!(before <= 4, "{before} of the others went first");
    assert_eq!(world.effects[&old], 1);
    let before = effects(&world, &many);
    work(
        &mut world,
        |_| false,
        |world| effects(world, &many) > before + 1,
    );
}

/// Of those that come while others wait, none goes ahead of them with its own submission's commit.
#[test]
fn a_new_action_does_not_go_before_those_that_wait() {
    let mut world = World::with_gate(1, promises(None, true), slots(1));
    let first = world.submit_for(1, PLACE, "ana");
    let second = world.submit_for(2, PLACE, "ana");
    work(&mut world, |_| true, |_| false);
    let now = world.now();
    let new = world.action(3, None);
    assert!(world.workers[0].driver.first_mark(&new, now).is_none());
    ends(&mut world, first);
    // The place is free, and the second one has been called; it is not there yet.
    let new = world.action(4, None);
    assert!(world.workers[0].driver.first_mark(&new, now).is_none());
    work(
        &mut world,
        |_| false,
        |world| world.effects.contains_key(&second),
    );
    assert_eq!(world.effects[&second], 1);
}

/// At a gate that lets ten a second through, nobody asks again and again: each is claimed once to look, and once to be sent.
#[test]
fn waiting_for_a_rate_costs_no_claims() {
    let rate = GateSettings {
        per_second: 10,
        burst: 1,
        ..slots(4)
    };
    let mut world = World::with_gate(1, promises(None, true), rate);
    let many: Vec<_> = (0..100)
        .map(|n| world.submit_for(n, PLACE, "ana"))
        .collect();
    let began = world.now();
    world.run(Span::from_secs(60));
    assert_eq!(effects(&world, &many), 100);
    assert!(world.claims <= 2 * 100 + 8, "{} claims", world.claims);
    let last = many.iter().map(|id| world.record(*id).next.at).max();
    assert!(last.is_some() && world.now() >= began + Span::from_secs(9));
}

/// Law 8: a deadline that passes while a gate stays shut ends its action then, and not once there is a place.
#[test]
fn a_deadline_passes_at_a_gate_that_stays_shut() {
    let mut world = World::with_gate(1, promises(None, true), slots(1));
    world.submit(1);
    work(&mut world, |_| true, |_| false);
    let deadline = world.now() + Span::from_secs(2);
    let ends = world.submit_until(2, Some(deadline));
    while world.step(0) {}
    assert_eq!(world.status(ends).state, State::Pending);
    world.pass(Span::from_secs(3));
    assert!(world.workers[0].driver.next_wake() <= Some(deadline));
    world.tell(0, Event::Woke);
    while world.step(0) {}
    assert_eq!(world.status(ends).state, State::Expired);
}
