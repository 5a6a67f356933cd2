//! Two workers believe they own the same action (cases, group M).

use factum_core::{Span, State, WorkerNonce};
use factum_engine::driver::{Command, Event};
use factum_engine::neighbours::LIVES;
use factum_store::Store;

use crate::world::{Fate, World, promises, ready};

const DAY: Span = Span::from_secs(86_400);

/// B160, B167: both hear of it, one claims it, one effect.
#[test]
fn two_workers_take_the_same_action() {
    let mut world = World::new(2, promises(None, true));
    let ids: Vec<_> = (1..=40).map(|n| world.submit(n)).collect();
    world.run(Span::from_secs(60));
    for id in ids {
        assert_eq!(world.status(id).state, State::Succeeded);
        assert_eq!(world.effects[&id], 1);
        assert_eq!(
            world
                .kinds(id)
                .iter()
                .filter(|kind| **kind == "marked")
                .count(),
            1
        );
    }
}

/// B163, R11: the worker stops between the mark and the first byte, for longer than its lease, and resumes.
#[test]
fn a_worker_that_pauses_beyond_its_lease_writes_nothing_when_it_resumes() {
    let mut world = World::new(2, promises(None, true));
    let id = world.submit(1);
    until_send_is_next(&mut world, 0);
    world.workers[0].stopped = true;
    world.run(Span::from_secs(600));
    assert_eq!(
        world.status(id).state,
        State::Succeeded,
        "the other worker settled it: {:?}",
        world.kinds(id)
    );
    assert_eq!(world.effects[&id], 1);
    world.workers[0].stopped = false;
    world.run(Span::from_secs(600));
    assert_eq!(
        world.effects[&id],
        1,
        "the permission had run out: {:?}",
        world.kinds(id)
    );
    assert!(
        world.kinds(id).contains(&"not_sent"),
        "and that is recorded: {:?}",
        world.kinds(id)
    );
    assert_eq!(world.status(id).state, State::Succeeded);
}

/// R1: the other worker does not conclude "absent" while the paused one could still write.
#[test]
fn absence_counts_only_once_the_paused_request_can_no_longer_land() {
    let mut world = World::new(2, promises(None, true));
    let id = world.submit(1);
    until_send_is_next(&mut world, 0);
    let lands_by = world.now() + Span::from_secs(5 + 10 + 5 + 2 + 30 + 2);
    world.workers[0].stopped = true;
    while world.now() < lands_by {
        world.run(Span::from_secs(1));
        assert_eq!(
            world.effects.get(&id),
            None,
            "sent again at {:?}",
            world.now()
        );
    }
    world.run(Span::from_secs(600));
    assert_eq!(world.effects[&id], 1);
}

/// R1, R12, C4: a worker stops saying that it lives with a request marked. Another one takes the action over at once, and neither sends
/// nor asks before the mark's own lease is over; nor does the first one write when it resumes.
#[test]
fn a_mark_of_a_worker_that_stopped_is_waited_for() {
    let mut world = World::new(2, promises(Some(DAY), true)).shared();
    ready(world.store.beat(WorkerNonce(1), LIVES)).unwrap();
    let id = world.submit(1);
    until_send_is_next(&mut world, 0);
    let over = world.record(id).next.at.unwrap();
    world.workers[0].stopped = true;
    world.pass(LIVES);
    ready(world.store.beat(WorkerNonce(2), LIVES)).unwrap();
    let now = world.now();
    world.tell(1, crate::world::due(id, now));
    while world.now() + Span::from_secs(1) < over {
        world.run(Span::from_secs(1));
        assert_eq!((world.effects.get(&id), world.lookups), (None, 0));
        assert_eq!(world.kinds(id), ["marked"]);
    }
    world.run(Span::from_secs(600));
    assert_eq!(world.status(id).state, State::Succeeded);
    assert_eq!(world.effects[&id], 1);
    world.workers[0].stopped = false;
    world.run(Span::from_secs(600));
    assert_eq!(world.effects[&id], 1, "{:?}", world.kinds(id));
}

/// B163: the same with a claim that is not marked yet: the other one sends, one period of life after the first one stopped; and the first
/// one's mark is refused when it resumes.
#[test]
fn a_claim_of_a_worker_that_stopped_is_taken_over_in_one_period() {
    let mut world = World::new(2, promises(None, true)).shared();
    ready(world.store.beat(WorkerNonce(1), LIVES)).unwrap();
    let id = world.submit(1);
    until_mark_is_next(&mut world, 0);
    world.workers[0].stopped = true;
    world.run(Span::from_secs(9));
    assert_eq!(world.effects.get(&id), None);
    world.pass(Span::from_secs(1));
    ready(world.store.beat(WorkerNonce(2), LIVES)).unwrap();
    let lanes = (0..=u8::MAX).map(factum_core::Lane).collect();
    let left = ready(world.store.overdue(lanes, world.now(), None, 9)).unwrap();
    world.tell(1, Event::Overdue(left));
    while world.step(1) {}
    assert_eq!(world.effects[&id], 1);
    world.workers[0].stopped = false;
    world.run(Span::from_secs(600));
    assert_eq!(world.effects[&id], 1, "{:?}", world.kinds(id));
    let marks = world
        .kinds(id)
        .iter()
        .filter(|kind| **kind == "marked")
        .count();
    assert_eq!(marks, 1);
}

/// B157, R4: the late answer of a superseded attempt is evidence, and settles the action.
#[test]
fn a_late_answer_is_recorded_without_a_claim() {
    let mut world = World::new(2, promises(Some(DAY), false));
    let id = world.submit(1);
    until_send_is_next(&mut world, 0);
    let answered = world.carry_out_next(0);
    world.workers[0].stopped = true;
    // The other worker takes over once the claim ran out, and gets no answer for a while.
    world.fates.extend([Fate::RequestLost; 9]);
    world.run(Span::from_secs(90));
    assert_eq!(
        world.status(id).state,
        State::OutcomeUnknown,
        "{:?}",
        world.kinds(id)
    );
    world.workers[1].stopped = true;
    world.workers[0].stopped = false;
    world.tell(0, answered);
    world.run(Span::from_secs(10));
    assert_eq!(
        world.status(id).state,
        State::Succeeded,
        "{:?}",
        world.kinds(id)
    );
    assert_eq!(world.effects[&id], 1);
}

/// B79, B80: resume after the retry window has expired: the key gives no permission any more.
#[test]
fn after_the_window_nothing_is_sent_by_key() {
    let mut world = World::new(1, promises(Some(DAY), false));
    world.fates.push_back(Fate::AnswerLost);
    let id = world.submit(1);
    until_send_is_next(&mut world, 0);
    world.step(0);
    world.workers[0].stopped = true;
    world.pass(DAY);
    world.workers[0].stopped = false;
    world.run(Span::from_secs(60));
    let record = world.record(id);
    assert_eq!(
        (record.status().state, record.next.step.as_str()),
        (State::OutcomeUnknown, "review")
    );
    assert_eq!((world.effects[&id], world.sent), (1, 1));
}

/// R14: a later action on the subject is recorded between the decision to repeat and its mark. The earlier one is not repeated.
#[test]
fn a_repeat_that_is_overtaken_between_decision_and_mark_is_not_sent() {
    for subject in ["ticket/77", "ticket/78"] {
        let mut harmless = promises(None, false);
        harmless.consequence = factum_core::promise::Consequence::Harmless;
        let mut world = World::new(1, harmless);
        world.fates.push_back(Fate::AnswerLost);
        let first = world.submit_on(1, "ticket/77");
        until_send_is_next(&mut world, 0);
        world.step(0);
        until_mark_is_next(&mut world, 0);
        world.pass(Span::from_millis(2));
        world.submit_on(2, subject);
        world.run(Span::from_secs(60));
        let record = world.record(first);
        let (state, effects) = (record.status().state, world.effects[&first]);
        if subject == "ticket/77" {
            assert_eq!((state, effects), (State::OutcomeUnknown, 1));
            assert_eq!(record.next.step, "review");
        } else {
            assert_eq!((state, effects), (State::Succeeded, 2), "a repeat");
        }
    }
}

/// Lets the world work until worker `n` is about to commit a mark.
fn until_mark_is_next(world: &mut World, n: usize) {
    for _ in 0..100 {
        if let Some(Command::Commit(commit)) = world.workers[n].commands.front()
            && commit.facts.iter().any(|fact| fact.kind() == "marked")
        {
            return;
        }
        if !world.step(n) {
            let wake = world.workers[n].driver.next_wake().unwrap();
            world.pass(wake.since(world.now()));
            world.tell(n, Event::Woke);
        }
    }
    panic!("worker {n} never marks");
}

/// Lets the world work until worker `n` is about to send.
fn until_send_is_next(world: &mut World, n: usize) {
    for _ in 0..100 {
        if matches!(world.workers[n].commands.front(), Some(Command::Send(_))) {
            return;
        }
        world.step(n);
    }
    panic!("worker {n} never sends");
}
