//! Law 8 inside one process: whatever is heard at an awkward moment, somebody looks at every action again.

use factum_core::evidence::{Ruling, Verdict};
use factum_core::{Fact, Span, State};
use factum_engine::driver::gate::GateSettings;
use factum_engine::driver::{Command, Event};
use factum_store::{Admission, Admitted, Store};

use crate::world::{Fate, World, due, promises, ready};

/// A gate that lets one request through at a time.
const NARROW: GateSettings = GateSettings {
    in_flight_max: 1,
    per_second: 0,
    burst: 1,
    circuit_failures: 0,
    circuit_cooldown: Span::ZERO,
};

/// A verdict that is recorded after a claim read the action, and heard of before the claim is.
#[test]
fn what_is_heard_while_an_action_is_claimed_is_looked_at() {
    let mut world = World::new(1, promises(None, false));
    world.fates.push_back(Fate::AnswerLost);
    let id = world.submit(1);
    world.run(Span::from_secs(600));
    assert_eq!(world.record(id).next.step, "review");
    let now = world.now();
    world.tell(0, due(id, now));
    let claimed = world.carry_out_next(0);
    assert!(matches!(claimed, Event::Claimed(..)));
    let verdict = Verdict {
        ruling: Ruling::Happened { receipt: None },
        by: "ana".to_owned(),
        why: "seen there".to_owned(),
        at: now,
        supersedes: world.record(id).known.answered_by_a_verdict(),
    };
    ready(world.store.record(id, vec![Fact::Verdict(verdict)])).unwrap();
    world.tell(0, due(id, now));
    world.tell(0, claimed);
    world.run(Span::from_secs(600));
    let record = world.record(id);
    assert_eq!(record.status().state, State::Succeeded);
    assert_eq!(
        record.next.step, "none",
        "nobody has looked: {:?}",
        record.next
    );
}

/// The first in the queue before a full gate is over when its turn comes; the second must not wait for it.
#[test]
fn an_action_that_ends_before_the_gate_lets_the_next_one_in() {
    let mut world = World::with_gate(1, promises(None, true), NARROW);
    let first = world.submit(1);
    until(&mut world, |command| matches!(command, Command::Send(_)));
    let deadline = world.now() + Span::from_secs(2);
    let ended = world.submit_until(2, Some(deadline));
    let waiting = world.submit(3);
    let sent = world.workers[0].commands.pop_front().unwrap();
    while world.step(0) {}
    world.workers[0].commands.push_back(sent);
    world.pass(Span::from_secs(3));
    world.run(Span::from_secs(600));
    assert_eq!(world.status(first).state, State::Succeeded);
    assert_eq!(world.status(ended).state, State::Expired);
    assert_eq!(world.status(waiting).state, State::Succeeded);
}

/// C4, R12: the submission's commit is in doubt, its mark was durable, and its caller never comes back.
#[test]
fn a_first_mark_in_doubt_is_found_again() {
    let mut world = World::new(1, promises(None, true));
    let (action, now) = (world.action(1, None), world.now());
    let id = action.intent.action;
    let first = world.workers[0].driver.first_mark(&action, now).unwrap();
    let admission = Admission {
        action,
        facts: vec![first.fact],
        next: first.next,
        names: Vec::new(),
        claim_for: Some((factum_core::WorkerNonce(1), first.lease)),
        under: None,
        entries: Vec::new(),
        oldest: None,
        twins: None,
    };
    let admitted = ready(world.store.admit(admission)).unwrap();
    assert!(matches!(admitted, Admitted::Created(_, Some(_))));
    // The answer is lost: nobody has the claim, and nobody sends under this mark.
    world.tell(0, Event::NotAdmitted(id, Some(now + Span::from_secs(1))));
    world.run(Span::from_secs(3_600));
    assert_eq!(
        world.status(id).state,
        State::Succeeded,
        "{:?}",
        world.kinds(id)
    );
    assert_eq!(world.effects[&id], 1);
}

/// Somebody joins while the submission's own commit is on its way: the action has one holder all the same.
#[test]
fn an_action_that_is_being_admitted_is_not_claimed_as_well() {
    let mut world = World::new(1, promises(None, true));
    let (action, now) = (world.action(1, None), world.now());
    let id = action.intent.action;
    let first = world.workers[0].driver.first_mark(&action, now).unwrap();
    let admission = Admission {
        action,
        facts: vec![first.fact],
        next: first.next,
        names: Vec::new(),
        claim_for: Some((factum_core::WorkerNonce(1), first.lease)),
        under: None,
        entries: Vec::new(),
        oldest: None,
        twins: None,
    };
    let Admitted::Created(record, Some(claim)) = ready(world.store.admit(admission)).unwrap()
    else {
        panic!("it is new");
    };
    world.tell(0, due(id, now));
    assert!(world.workers[0].commands.is_empty(), "it is claimed twice");
    world.tell(0, Event::Admitted(claim, record));
    world.run(Span::from_secs(60));
    assert_eq!(world.status(id).state, State::Succeeded);
    assert_eq!(world.effects[&id], 1);
}

/// A repeat that read an older next step does not put off what is due now.
#[test]
fn what_is_due_is_not_put_off_by_an_older_reading() {
    let mut world = World::new(1, promises(None, true));
    let ids: Vec<_> = (1..=9).map(|n| world.submit(n)).collect();
    let now = world.now();
    // Eight are held, which is the bound; the ninth waits for its turn.
    world.tell(0, due(ids[8], now + Span::from_secs(86_400)));
    world.run(Span::from_secs(60));
    assert_eq!(world.status(ids[8]).state, State::Succeeded);
}

/// The first before a full gate is called and finds itself busy elsewhere: its place is not kept for it meanwhile.
#[test]
fn an_action_that_somebody_else_has_lets_the_next_one_in() {
    let mut world = World::with_gate(1, promises(None, true), NARROW);
    let first = world.submit(1);
    until(&mut world, |command| matches!(command, Command::Send(_)));
    let sent = world.workers[0].commands.pop_front().unwrap();
    let (busy, waiting) = (world.submit(2), world.submit(3));
    while world.step(0) {}
    world.workers[0].commands.push_back(sent);
    until(
        &mut world,
        |command| matches!(command, Command::Claim(id, _) if *id == busy),
    );
    let claims = world.workers[0].commands.pop_front();
    assert!(matches!(claims, Some(Command::Claim(id, _)) if id == busy));
    let later = world.now() + Span::from_secs(3_600);
    world.tell(0, Event::NotClaimed(busy, Some(later)));
    world.run(Span::from_secs(60));
    assert_eq!(world.status(first).state, State::Succeeded);
    assert_eq!(world.status(waiting).state, State::Succeeded);
    world.run(Span::from_secs(7_200));
    assert_eq!(world.status(busy).state, State::Succeeded);
}

/// Whichever command breaks off, and with it the claim that it carried: the action is looked at again, and acts once.
#[test]
fn an_action_that_something_broke_off_for_is_looked_at_again() {
    let mut broken = Vec::new();
    for nth in 0..6 {
        let mut world = World::new(1, promises(None, true));
        let id = world.submit(1);
        for _ in 0..nth {
            world.step(0);
        }
        let Some(command) = world.workers[0].commands.pop_front() else {
            break;
        };
        broken.push(match command {
            Command::Claim(..) => "claim",
            Command::Commit(_) => "commit",
            Command::Send(_) => "send",
            Command::LookUp(..) | Command::Poll(..) | Command::Record(..) => "other",
            Command::Release(_) => "release",
            Command::ReadFeed(_) => "feed",
        });
        world.tell(0, Event::Broken(id));
        world.run(Span::from_secs(3_600));
        let kinds = world.kinds(id);
        assert_eq!(world.status(id).state, State::Succeeded, "{nth}: {kinds:?}");
        assert_eq!(world.record(id).next.step, "none", "{nth}: {kinds:?}");
        assert_eq!(world.effects[&id], 1, "{nth}: {kinds:?}");
        assert_eq!(world.workers[0].driver.under_way(), 0, "{nth}");
    }
    assert_eq!(broken, ["claim", "commit", "send", "commit", "release"]);
}

/// Lets the world work until such a command is next.
fn until(world: &mut World, is: impl Fn(&Command) -> bool) {
    for _ in 0..100 {
        if world.workers[0].commands.front().is_some_and(&is) {
            return;
        }
        world.step(0);
    }
    panic!("it never comes to that");
}
