//! What a process does with an action: decide, mark, check, write, read, ask; and how it dies. It is the model's stand-in for
//! the engine, as thin as it can be: every decision and permission is the core's.

use factum_core::evidence::{
    Answer, AnswerClass, CancelAnswer, Capture, Fact, Lookup, LookupAnswer, Loss, PermissionKind,
    Phase as Stopped, PollAnswer, Receipt, RequestRef,
};
use factum_core::mistake::{Mistake, made};
use factum_core::promise::{LookupBy, Missing};
use factum_core::{AttemptNo, Epoch, Permission, Step, WorkerNonce, permit};

use super::cases::Case;
use super::laws::{law1, law6, law7};
use super::logs::HeldId;
use super::setup::{PROCESSING, tick};
use super::world::{Clock, Flight, Heard, Key, Phase, Reply, Run, Stage, Tag, World};

impl World {
    pub(crate) fn record_due(&mut self, act: u8, run: &Run) {
        let Some(fact) = self.judge(act, run).due.clone() else {
            return;
        };
        match &fact {
            Fact::LeaseOver { .. } => self.hints().lease_over = true,
            Fact::DeadlinePassed { .. } => run.note(Case::Expired),
            Fact::ApprovalOver { .. } => run.note(Case::ApprovalOver),
            Fact::ReviewOpened { .. } => run.note(Case::InReview),
            Fact::SearchEnded { .. } => run.note(Case::ClosedUnknown),
            _ => {}
        }
        self.record(act, fact, run);
    }

    pub(crate) fn decide(&mut self, worker: u8, act: u8, run: &Run) {
        let (at, log) = (self.store_now(), self.act(act).log);
        let doubts = self.doubts(act, run);
        self.set(
            worker,
            Phase::Deciding {
                act,
                at,
                log,
                doubts,
            },
        );
        if !run.setup.races {
            self.commit(worker, run);
        }
    }

    /// The mark is committed, unless the evidence has moved on since it was decided.
    pub(crate) fn commit(&mut self, worker: u8, run: &Run) {
        let Phase::Deciding {
            act,
            at,
            log,
            doubts,
        } = self.phase(worker)
        else {
            return;
        };
        self.set(worker, Phase::Idle);
        let unchanged = self.act(act).log == log && self.doubts(act, run) == doubts;
        if !unchanged && !made(Mistake::CommitNotFenced) {
            run.note(Case::StaleCommitRefused);
            return;
        }
        let loaded = run.logs.get(log);
        let conditions = doubts.conditions(tick(at), &run.setup.current);
        let Ok(leave) = permit(&run.setup.told, &loaded.known, &conditions) else {
            return;
        };
        let (fact, marked) = leave.mark(self.nonce(worker));
        run.hold(law6::marked(self, act, &fact, run));
        if !made(Mistake::WrittenBeforeDurable) {
            self.record(act, fact, run);
        }
        let permission = marked.durable();
        self.note_permission(act, &permission, run);
        let held = run.logs.hold(permission);
        let at = self.now;
        self.set(worker, Phase::Stored { act, held, at });
        if !run.setup.slow_store {
            self.learn(worker, run);
        }
    }

    fn note_permission(&mut self, act: u8, permission: &Permission, run: &Run) {
        match permission.kind() {
            Some(PermissionKind::Ordered(_)) => {
                self.act_mut(act).excuses.ordered += 1;
                run.note(Case::OrderedSend);
            }
            Some(PermissionKind::ProvenAbsent) => run.note(Case::SentAfterProvenAbsence),
            Some(PermissionKind::ProvenNotSent) => run.note(Case::SentAfterProvenRefusal),
            Some(PermissionKind::Harmless) => run.note(Case::SentHarmlessly),
            Some(PermissionKind::First | PermissionKind::SameKey) | None => {}
        }
        if permission.epoch() != Epoch(0) {
            run.note(Case::NewEpoch);
        }
    }

    /// The process reads that its mark is durable. Its idea of the store's time is anchored before it asked.
    pub(crate) fn learn(&mut self, worker: u8, run: &Run) {
        let Phase::Stored { act, held, at } = self.phase(worker) else {
            return;
        };
        if self.now > at {
            run.note(Case::StoreAnswerReadLate);
        }
        let mut behind = u8::from(run.setup.real.skewed);
        if made(Mistake::AnchorAfterAnswer) {
            behind += self.now - at;
        }
        let scale = self.now - self.store_now();
        let clock = Clock { scale, behind };
        self.set(worker, Phase::Marked { act, held, clock });
    }

    /// The last look at the permission.
    pub(crate) fn check(&mut self, worker: u8, run: &Run) {
        let Phase::Marked { act, held, clock } = self.phase(worker) else {
            return;
        };
        let permission = run.logs.held(held);
        let at = self.now;
        let believed = tick(at - clock.scale.min(at)) - super::setup::ticks(clock.behind);
        // Whose account the credential opens is looked at once more, where the right to send rests on it (R13).
        let strange = self.store.swapped
            && !made(Mistake::AccountInDoubtIgnored)
            && matches!(
                permission.kind(),
                None | Some(PermissionKind::SameKey | PermissionKind::ProvenAbsent)
            );
        if permission.check(believed).is_ok() && !strange {
            let account = u8::from(self.store.swapped);
            self.set(
                worker,
                Phase::Checked {
                    act,
                    held,
                    at,
                    clock,
                    account,
                },
            );
            return;
        }
        run.note(Case::PermissionHadRunOut);
        self.set(worker, Phase::Idle);
        let fact = match permission.request() {
            RequestRef::Attempt(attempt) => never_left(attempt),
            RequestRef::Cancel(no) => Fact::CancelAnswered {
                no,
                answer: CancelAnswer::NotSent {
                    why: "the permission had run out".to_owned(),
                },
            },
        };
        self.record(act, fact, run);
    }

    pub(crate) fn write(&mut self, worker: u8, twice: bool, run: &Run) {
        let Phase::Checked {
            act,
            held,
            at,
            clock,
            account,
        } = self.phase(worker)
        else {
            return;
        };
        if self.now > at {
            run.note(Case::PausedBetweenCheckAndWrite);
        }
        let permission = run.logs.held(held);
        run.hold(law1::written(
            self,
            act,
            &permission,
            self.nonce(worker),
            run,
        ));
        run.hold(law7::written(self, &permission, clock, run));
        let mut flight = self.flight(act, self.nonce(worker), &permission, run);
        flight.key.account = account;
        self.flights.push(flight);
        if twice {
            run.note(Case::DeliveredTwice);
            self.left.proxied -= 1;
            self.flights.push(Flight {
                copy: true,
                ..flight
            });
            // Without a key, or where both run before either is recognised, nothing tells the second from the first.
            let real = &run.setup.real;
            let told_apart = real.key.is_some() && real.joins_running;
            if !told_apart && !flight.tag.cancel {
                self.act_mut(act).excuses.proxied += 1;
            }
        }
        self.act_mut(act).left |= !flight.tag.cancel;
        let wrote = self.now;
        self.set(
            worker,
            Phase::Waiting {
                act,
                held,
                wrote,
                answer: None,
            },
        );
    }

    fn flight(&self, act: u8, writer: WorkerNonce, permission: &Permission, run: &Run) -> Flight {
        let tag = Tag::of(act, writer, permission.request());
        let until = self.now + run.setup.real.linger + u8::from(run.setup.real.slow_writes);
        let stage = if tag.cancel || run.setup.work_is_seen() {
            Stage::Net { until }
        } else {
            Stage::Underway {
                until: until + PROCESSING,
            }
        };
        Flight {
            tag,
            key: self.key(act, permission.epoch()),
            same_key: permission.kind() == Some(PermissionKind::SameKey),
            copy: false,
            stage,
        }
    }

    /// The key of this version of the action, as the destination sees it.
    pub(crate) fn key(&self, act: u8, epoch: Epoch) -> Key {
        let of = if made(Mistake::KeyOfContent) {
            0
        } else {
            self.act(act).identity
        };
        Key {
            of,
            epoch: u8::try_from(epoch.0).expect("few epochs"),
            account: u8::from(self.store.swapped),
        }
    }

    /// The worker gives up waiting, and closes: what the kernel has taken may still arrive.
    pub(crate) fn close(&mut self, worker: u8, run: &Run) {
        let Phase::Waiting { act, held, .. } = self.phase(worker) else {
            return;
        };
        self.set(worker, Phase::Idle);
        self.hints().closed = true;
        let request = run.logs.held(held).request();
        let tag = Tag::of(act, self.nonce(worker), request);
        self.stop_writing(tag, run);
        let behind = u8::from(run.setup.real.skewed);
        let closed_at = Some(tick(self.now) - super::setup::ticks(behind));
        let fact = match request {
            RequestRef::Attempt(attempt) => Fact::Lost(Loss {
                attempt,
                phase: Stopped::Head,
                wrote: 1,
                read: 0,
                closed_at,
                detail: String::new(),
            }),
            RequestRef::Cancel(no) => {
                run.note(Case::CancelAnswerLost);
                Fact::CancelAnswered {
                    no,
                    answer: CancelAnswer::Unknown { why: String::new() },
                }
            }
        };
        self.record(act, fact, run);
    }

    /// From now on the network alone carries what was written.
    fn stop_writing(&mut self, tag: Tag, run: &Run) {
        let arrives_by = self.now + run.setup.real.linger;
        for flight in self.flights.iter_mut().filter(|f| f.tag == tag) {
            match &mut flight.stage {
                Stage::Net { until } => *until = (*until).min(arrives_by),
                Stage::Underway { until } => *until = (*until).min(arrives_by + PROCESSING),
                Stage::Work { .. } => {}
            }
        }
    }

    pub(crate) fn read(&mut self, worker: u8, twice: bool, run: &Run) {
        let Phase::Waiting {
            act,
            held,
            answer: Some(reply),
            ..
        } = self.phase(worker)
        else {
            return;
        };
        self.set(worker, Phase::Idle);
        if self.hints().lease_over {
            run.note(Case::LateReplySettled);
        }
        let fact = match run.logs.held(held).request() {
            RequestRef::Cancel(no) => Fact::CancelAnswered {
                no,
                answer: cancelled(reply),
            },
            RequestRef::Attempt(attempt) => {
                if attempt.0 < self.log(act, run).known.attempts_marked() {
                    run.note(Case::AnswerOfASuperseded);
                }
                Fact::Answered(self.answer(attempt, reply))
            }
        };
        if twice {
            self.left.repeats -= 1;
            run.note(Case::RecordedTwice);
            self.record(act, fact.clone(), run);
        }
        let unread = match &fact {
            Fact::Answered(answer) if answer.class == AnswerClass::Unknown => Some(answer.attempt),
            _ => None,
        };
        self.record(act, fact, run);
        if let Some(attempt) = unread.filter(|_| run.setup.real.shows_missing) {
            run.note(Case::Unsupported);
            let missing = Missing {
                key: true,
                mark: false,
            };
            self.record(act, Fact::Unsupported { attempt, missing }, run);
        }
    }

    fn answer(&self, attempt: AttemptNo, reply: Reply) -> Answer {
        let why = String::new;
        let (class, effect, replayed) = match reply {
            Reply::Done(effect) => (AnswerClass::Done, Some(effect), false),
            Reply::Accepted(tag) => {
                let object = Some(tag.object());
                (AnswerClass::Accepted { object }, None, false)
            }
            Reply::Refused { stored } => {
                (AnswerClass::Rejected { stored, why: why() }, None, false)
            }
            Reply::Busy => (AnswerClass::Busy, None, false),
            Reply::InProgress => (AnswerClass::InProgress, None, false),
            Reply::Foreign => (AnswerClass::AlreadyExists { ours: false }, None, false),
            Reply::Unreadable { replayed } => (AnswerClass::Unknown, None, replayed),
            Reply::Confirmed(_) | Reply::TooLate(_) => {
                unreachable!("an answer goes to its own request")
            }
        };
        Answer {
            attempt,
            read_at: self.stamp(),
            class,
            receipt: effect.map(receipt),
            replayed,
            retry_after: None,
            capture: Capture::default(),
        }
    }

    /// A process dies, and that is noticed where it had marked something.
    pub(crate) fn crash(&mut self, worker: u8, run: &Run) {
        let phase = self.phase(worker);
        let marked = match phase {
            Phase::Deciding { .. } => {
                run.note(Case::CrashedBeforeMark);
                None
            }
            Phase::Stored { act, .. } | Phase::Marked { act, .. } | Phase::Checked { act, .. } => {
                run.note(Case::CrashedBeforeWrite);
                Some(act)
            }
            Phase::Waiting { act, answer, .. } => {
                run.note(match answer {
                    Some(_) => Case::CrashedBeforeStoring,
                    None => Case::CrashedBeforeAnswer,
                });
                Some(act)
            }
            Phase::Asking { .. } | Phase::Idle => None,
        };
        self.left.crashes -= 1;
        let gone = self.nonce(worker);
        self.die(worker, run);
        if matches!(phase, Phase::Marked { .. }) && made(Mistake::MarkReadBack) {
            self.set(worker, phase);
        }
        if let Some(act) = marked {
            let at = self.stamp();
            self.record(act, Fact::ProcessGone { worker: gone, at }, run);
        }
    }

    /// The process is gone; another one takes its place, under another name.
    pub(crate) fn die(&mut self, worker: u8, run: &Run) {
        if let Phase::Waiting { act, held, .. } = self.phase(worker) {
            let request = run.logs.held(held).request();
            self.stop_writing(Tag::of(act, self.nonce(worker), request), run);
        }
        self.workers[usize::from(worker)].nonce += 1;
        self.set(worker, Phase::Idle);
    }

    pub(crate) fn hear(&mut self, worker: u8, run: &Run) {
        let Phase::Asking { act, asked, heard } = self.phase(worker) else {
            return;
        };
        self.set(worker, Phase::Idle);
        self.hints().looked = true;
        let answer = match heard {
            Heard::Found(bits) => {
                run.note(Case::FoundByLookup);
                let found = (0u8..8).filter(|effect| bits & 1 << effect != 0);
                LookupAnswer::Found(found.map(|effect| self.shown_as(effect, run)).collect())
            }
            Heard::Queued => LookupAnswer::Queued { object: None },
            Heard::Absent => LookupAnswer::Absent,
            Heard::Inconclusive => LookupAnswer::Inconclusive { why: String::new() },
        };
        let by = run
            .setup
            .told
            .promises
            .lookup
            .map_or(LookupBy::Reference, |l| l.by);
        let epoch = match by {
            LookupBy::Reference => Epoch(0),
            LookupBy::Key => self.log(act, run).known.current_epoch(),
        };
        let lookup = Lookup {
            asked_at: tick(asked),
            by,
            epoch,
            answer: answer.unless_in_doubt(self.store.swapped),
        };
        self.record(act, Fact::LookedUp(lookup), run);
    }

    fn shown_as(&self, effect: u8, run: &Run) -> Receipt {
        if run.setup.real.aliases {
            Receipt {
                reference: format!("N{effect}"),
                aliases: vec![receipt(effect).reference],
            }
        } else {
            receipt(effect)
        }
    }

    pub(crate) fn poll(&mut self, act: u8, run: &Run) {
        let judged = self.judge(act, run);
        let Step::Poll { attempt } = judged.next.step else {
            return;
        };
        let object = self
            .log(act, run)
            .known
            .queued_object(&run.setup.told, attempt);
        let answer = self.poll_there(act, object.as_deref());
        match answer {
            PollAnswer::Completed(_) => run.note(Case::QueuedThenDone),
            PollAnswer::Failed { .. } => run.note(Case::QueuedThenFailed),
            PollAnswer::Working | PollAnswer::Inconclusive { .. } => {}
        }
        let asked_at = self.stamp();
        self.record(
            act,
            Fact::Polled {
                attempt,
                asked_at,
                answer,
            },
            run,
        );
    }

    /// The permission of whoever waits for this request at an open socket.
    pub(crate) fn waits_for(held: HeldId, act: u8, nonce: WorkerNonce, run: &Run) -> Tag {
        Tag::of(act, nonce, run.logs.held(held).request())
    }
}

fn cancelled(reply: Reply) -> CancelAnswer {
    match reply {
        Reply::Confirmed(effect) => CancelAnswer::Confirmed {
            object: effect.map(|e| receipt(e).reference),
        },
        Reply::TooLate(effect) => CancelAnswer::TooLate {
            receipt: effect.map(receipt),
        },
        Reply::Done(_)
        | Reply::Accepted(_)
        | Reply::Refused { .. }
        | Reply::Busy
        | Reply::InProgress
        | Reply::Foreign
        | Reply::Unreadable { .. } => unreachable!("an answer goes to its own request"),
    }
}

/// The destination's reference for an effect.
pub(crate) fn receipt(effect: u8) -> Receipt {
    Receipt::new(format!("E{effect}"))
}

pub(crate) fn never_left(attempt: AttemptNo) -> Fact {
    Fact::NotSent {
        attempt,
        phase: Stopped::Prepare,
        detail: String::new(),
    }
}
