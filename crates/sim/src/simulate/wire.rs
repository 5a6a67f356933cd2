//! Requests and questions on their way: how they are written, what hits them, when they arrive, and what of the answer comes
//! back. Laws 1, 6 and 7 are checked at the instant before the first byte.

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::bound::Bound;
use factum_core::evidence::{PermissionKind, Phase, RequestRef};
use factum_core::{AttemptNo, Epoch, Span, Timestamp, WorkerNonce};
use factum_engine::clock::confirms;
use factum_engine::driver::{Event, SendOut};
use factum_engine::messages::{Asked, Brought, Ended, Messages};
use factum_faults::{Class, Fault, FaultPlan, Request};
use factum_store::{Record, Store};

use super::dice::Dice;
use super::laws::Excused;
use super::options::{Options, Trouble};
use super::place::{Arrived, Op};
use super::process::Task;
use super::speech;
use super::world::{Happening, World, ready};

/// An effect request that a process is about to write, or has written.
pub(super) struct Sending {
    pub(super) nonce: WorkerNonce,
    record: Box<Record>,
    op: Op,
    business: String,
    request: RequestRef,
    epoch: Epoch,
    same_key: bool,
    http: HttpRequest,
    fault: Fault,
    /// The last byte leaves before this, whatever the process does.
    pub(super) write_by: Timestamp,
    pub(super) written: bool,
}

/// An effect request that has left.
pub(super) struct Flight {
    /// Who listens for its answer, if anybody does.
    listener: Option<(WorkerNonce, u64)>,
    op: Op,
    business: String,
    cancels: bool,
    same_key: bool,
    http: HttpRequest,
    fault: Fault,
}

/// A question that has left.
pub(super) struct Question {
    nonce: WorkerNonce,
    record: Box<Record>,
    poll: Option<AttemptNo>,
    asked_at: Timestamp,
}

/// What comes back over the wire.
pub(super) enum Wire {
    Whole(HttpAnswer),
    Lost(Phase, u64, Option<u16>),
    /// Nothing was written.
    Nothing,
}

impl Wire {
    pub(super) fn silence() -> Self {
        Self::Lost(Phase::Head, 0, None)
    }
}

/// Which requests are hit by what.
pub(super) fn plan(options: &Options, dice: &mut Dice) -> FaultPlan {
    let mut rules = Vec::new();
    if options.has(Trouble::Proxies) {
        rules.push("duplicate_delivery,p=0.2,class=effect".to_owned());
    }
    if options.has(Trouble::Refusals) {
        let code = dice.one_of(&[422, 400, 403, 404]);
        rules.push(format!("reject_4xx={code},p=0.06,class=effect"));
        let code = dice.one_of(&[503, 429]);
        rules.push(format!("busy_before={code},p=0.1,class=effect"));
        rules.push("redirect=307,p=0.05,class=effect".to_owned());
        rules.push("too_many_429,p=0.05,class=effect".to_owned());
    }
    if options.has(Trouble::Losses) {
        let share = dice.one_of(&["0.1", "0.4", "0.8"]);
        let late = dice.one_of(&[500, 20_000, 45_000]);
        let delay = dice.one_of(&[100, 1_900]);
        rules.push(format!(
            "loss,p={share},late={late},hang=40000,delay={delay}"
        ));
    }
    FaultPlan::parse(options.seed, &rules.join("; ")).expect("the grammar has these rules")
}

impl World {
    pub(super) fn fault(&mut self, class: Class, http: &HttpRequest, business: &str) -> Fault {
        if self.calm {
            return Fault::None;
        }
        if class == Class::Effect && self.faults.draw(&Request::CONNECTION) == Fault::Refuse {
            return Fault::Refuse;
        }
        let (method, path) = (&http.method, &http.path_and_query);
        self.faults.draw(&Request {
            class,
            method,
            path,
            reference: business,
        })
    }

    /// Between nothing and `bound`; next to nothing in most runs.
    pub(super) fn travel(&mut self, bound: Span) -> Span {
        let most = if self.has(Trouble::Delays) && self.dice.network.chance(40) {
            bound.as_micros()
        } else {
            40_000
        };
        Span::from_micros(self.dice.network.micros(most))
    }

    fn ended(&mut self, p: usize, record: &Record, brought: Brought) {
        let (action, facts, heard) = (record.id(), brought.facts, brought.heard);
        self.tell(
            p,
            Event::Ended {
                action,
                facts,
                heard,
            },
        );
    }

    // ---- effect requests

    pub(super) fn send(&mut self, p: usize, send: SendOut) {
        let SendOut {
            record, permission, ..
        } = send;
        let op = self.op_of(&record.action.scope.destination);
        let (request, epoch) = (permission.request(), permission.epoch());
        let contract = self.contract(op);
        let messages = Messages::new(&self.keys, &record, &contract);
        let built = messages.effect(request, epoch);
        let http = match built {
            Ok(http) => http,
            Err(brought) => return self.ended(p, &record, brought),
        };
        let n = self.ids.get(&record.id()).copied().unwrap_or(usize::MAX);
        let business = format!("b{n}");
        let class = match request {
            RequestRef::Attempt(_) => Class::Effect,
            RequestRef::Cancel(_) => Class::Cancel,
        };
        let fault = self.fault(class, &http, &business);
        let now = self.process_now(p);
        let expired = permission.check(now).is_err();
        if expired || fault == Fault::Refuse {
            let phase = if expired {
                Phase::Prepare
            } else {
                Phase::Connect
            };
            let detail = "as the simulator drew it".to_owned();
            let messages = Messages::new(&self.keys, &record, &contract);
            let brought = messages.ended(request, epoch, &http, Ended::NotSent { phase, detail });
            return self.ended(p, &record, brought);
        }
        self.note(|world| {
            let name = world.called(record.id());
            format!(
                "p{p} checks {name} {request:?} by {:?}, fault {fault}",
                permission.kind()
            )
        });
        let nonce = self.processes[p].nonce;
        let leave = (request, epoch, permission.kind());
        self.before_the_first_byte(nonce, &record, (request, permission.kind()));
        self.set_out(nonce, record, leave, (http, fault));
    }

    /// The last check is made, by a process or a worker elsewhere: the request leaves within its bounds.
    pub(super) fn set_out(
        &mut self,
        nonce: WorkerNonce,
        record: Box<Record>,
        (request, epoch, kind): (RequestRef, Epoch, Option<PermissionKind>),
        (http, fault): (HttpRequest, Fault),
    ) {
        let op = self.op_of(&record.action.scope.destination);
        let n = self.ids.get(&record.id()).copied().unwrap_or(usize::MAX);
        let bound = record.action.intent.limits.bound;
        let takes = self.until_written(bound);
        let id = self.nonces * 1_000_000 + self.tally.written;
        self.tally.written += 1;
        let sending = Sending {
            nonce,
            record,
            op,
            business: format!("b{n}"),
            request,
            epoch,
            same_key: kind == Some(PermissionKind::SameKey),
            http,
            fault,
            write_by: self.now + bound.pause_margin + bound.write_limit,
            written: false,
        };
        self.sends.insert(id, sending);
        if fault == Fault::DuplicateDelivery
            && !self.lines[op].served.behaves.recognises_repeats()
            && let Some(intent) = self.intents.get_mut(n)
        {
            // Where both can be withdrawn, and the destination names one of them, the other's completion speaks for an effect that is gone.
            let withdrawn = self.lines[op].operation.promises.cancel.is_some();
            let excused = if withdrawn {
                Excused::Words
            } else {
                Excused::Duplicates
            };
            intent.excused.raise(excused);
        }
        *self.flying.entry(n).or_default() += 1;
        self.plan(takes, Happening::In(nonce, Task::Write(id)));
    }

    /// From the check to the last byte: a pause within the margin, and the writing within its limit.
    fn until_written(&mut self, bound: Bound) -> Span {
        if !self.has(Trouble::Delays) || !self.dice.network.chance(30) {
            return Span::from_millis(1);
        }
        let pause = self.dice.network.micros(bound.pause_margin.as_micros());
        let writes = self.dice.network.micros(bound.write_limit.as_micros());
        Span::from_micros(pause + writes)
    }

    /// The last byte leaves.
    pub(super) fn write(&mut self, p: usize, id: u64) {
        if self.write_out(id) {
            self.reach(p, "C5");
        }
    }

    /// The same, by whoever holds the permission. False where that is gone.
    pub(super) fn write_out(&mut self, id: u64) -> bool {
        let Some(send) = self.sends.get_mut(&id) else {
            return false;
        };
        send.written = true;
        let (nonce, wait) = (send.nonce, send.record.action.intent.limits.answer_wait);
        self.depart(id);
        self.plan(wait, Happening::In(nonce, Task::GiveUp(id)));
        true
    }

    /// The request is on its way, once or twice.
    fn depart(&mut self, id: u64) {
        let Some(send) = self.sends.get(&id) else {
            return;
        };
        let linger = send.record.action.intent.limits.bound.linger;
        let flight = |listener| Flight {
            listener,
            op: send.op,
            business: send.business.clone(),
            cancels: matches!(send.request, RequestRef::Cancel(_)),
            same_key: send.same_key,
            http: send.http.clone(),
            fault: send.fault,
        };
        let first = flight(Some((send.nonce, id)));
        let second = (send.fault == Fault::DuplicateDelivery).then(|| flight(None));
        let direct = self.lines[send.op].served.behaves.direct;
        let after = self.travel(linger);
        match second {
            None => self.fly(after, first),
            Some(mut second) => {
                let mut first = first;
                let later = self.travel(linger);
                // A proxy that repeats a request hands on the answer to the last of its tries.
                if !direct && self.dice.network.chance(50) {
                    std::mem::swap(&mut first.listener, &mut second.listener);
                }
                self.fly(after.min(later), first);
                self.fly(after.max(later), second);
            }
        }
    }

    fn fly(&mut self, after: Span, flight: Flight) {
        if let Some(n) = self.intent_of(&flight.business) {
            *self.flying.entry(n).or_default() += 1;
        }
        self.plan(after, Happening::Arrives(flight));
    }

    fn landed(&mut self, business: &str) {
        if let Some(n) = self.intent_of(business) {
            if let Some(count) = self.flying.get_mut(&n) {
                *count = count.saturating_sub(1);
            }
            self.touched.insert(n);
        }
    }

    /// A process is gone: of what it was writing some has left in full, and the rest never does.
    pub(super) fn let_go(&mut self, nonce: WorkerNonce) {
        let its = self.sends.iter().filter(|(_, send)| send.nonce == nonce);
        let its: Vec<(u64, bool)> = its.map(|(id, send)| (*id, send.written)).collect();
        for (id, written) in its {
            if !written && self.dice.fate.chance(30) {
                self.depart(id);
            }
            self.forget_send(id);
        }
    }

    /// A process has ended its tasks: what it had not written never leaves.
    pub(super) fn let_unwritten_go(&mut self, nonce: WorkerNonce) {
        let its = self.sends.iter();
        let its = its.filter(|(_, send)| send.nonce == nonce && !send.written);
        let ids: Vec<u64> = its.map(|(id, _)| *id).collect();
        for id in ids {
            self.forget_send(id);
        }
    }

    pub(super) fn forget_send(&mut self, id: u64) -> Option<Sending> {
        let send = self.sends.remove(&id)?;
        let business = send.business.clone();
        self.landed(&business);
        Some(send)
    }

    pub(super) fn arrive(&mut self, flight: Flight) {
        let (op, now) = (flight.op, self.now);
        let behaves = self.lines[op].served.behaves;
        let business = flight.business.clone();
        self.landed(&business);
        if flight.cancels {
            let (answer, owner) = self.place.cancel(op, behaves, &flight.http, now);
            self.note(|_| format!("       a cancel arrives, of {owner:?}"));
            return self.answer(&flight, answer);
        }
        match flight.fault {
            Fault::CloseUnread | Fault::HangInAccept { .. } | Fault::CloseAfterRead => {
                return self.answer(&flight, speech::server_error(500));
            }
            Fault::Reject4xx { code } => {
                return self.answer(&flight, speech::error(code, "refused"));
            }
            Fault::BusyBefore { code } => {
                return self.answer(&flight, speech::error(code, "busy"));
            }
            _ => {}
        }
        if flight.same_key {
            self.inside_the_window(&flight.http, op, &business);
        }
        let error = match flight.fault {
            Fault::Status { code } => Some(code),
            _ => None,
        };
        let wish = (business.as_str(), &flight.http);
        let arrived = self
            .place
            .arrive(op, behaves, wish, error, now, &mut self.dice.place);
        match arrived {
            Arrived::Answered(answer) => {
                self.note(|_| format!("       {business} arrives: {}", answer.status));
                self.answer(&flight, answer);
            }
            Arrived::Working(work, at) => {
                self.note(|_| format!("       {business} arrives and is worked on"));
                self.plan(at.since(now), Happening::Lands(work, flight));
            }
        }
    }

    pub(super) fn land(&mut self, work: u64, flight: Flight) {
        let (now, calm) = (self.now, self.calm);
        let Some(landed) = self.place.land(work, now, &mut self.dice.place) else {
            return;
        };
        self.note(|_| format!("       {} lands: {}", landed.business, landed.answer.status));
        if let Some(n) = self.intent_of(&landed.business) {
            self.touched.insert(n);
        }
        if let Some((job, at)) = landed.job {
            let after = if calm { Span::ZERO } else { at.since(now) };
            self.plan(after, Happening::Finishes(job));
        }
        self.answer(&flight, landed.answer);
    }

    /// What of an answer comes back, and when.
    fn answer(&mut self, flight: &Flight, answer: HttpAnswer) {
        let Some((nonce, id)) = flight.listener else {
            return;
        };
        let back = self.travel(Span::from_secs(3));
        let (after, wire) = match flight.fault {
            Fault::None
            | Fault::Reject4xx { .. }
            | Fault::BusyBefore { .. }
            | Fault::DuplicateDelivery => (back, Wire::Whole(answer)),
            Fault::LateAnswer { ms } => (back + millis(ms), Wire::Whole(answer)),
            Fault::Refuse => (back, Wire::Nothing),
            Fault::CloseUnread => (back, Wire::Lost(Phase::Write, 0, None)),
            Fault::HangInAccept { ms } => (back + millis(ms), Wire::silence()),
            Fault::CloseAfterRead
            | Fault::CloseFin
            | Fault::CloseRst
            | Fault::DelayedCommit { .. } => (back, Wire::silence()),
            Fault::CutHead => (back, Wire::Lost(Phase::Head, 9, None)),
            Fault::CutBody => (back, Wire::Lost(Phase::Body, 40, Some(answer.status))),
            Fault::Empty2xx => (back, Wire::Whole(speech::page(200, ""))),
            Fault::Garbage => (back, Wire::Whole(speech::page(200, "<html>hello</html>"))),
            Fault::Status { code } => (back, Wire::Whole(speech::server_error(code))),
            Fault::Redirect { code } => (back, Wire::Whole(speech::page(code, ""))),
            Fault::TooMany429 => (back, Wire::Whole(speech::error(429, "too_many"))),
            // What hits reports is drawn where they are made; the answer is not touched by it.
            _ => (back, Wire::Whole(answer)),
        };
        self.plan(after, Happening::In(nonce, Task::Brought(id, wire)));
    }

    /// Something of a request came back to its process, or the wait for it is over.
    pub(super) fn brought(&mut self, p: usize, id: u64, wire: Wire) {
        let Some(send) = self.forget_send(id) else {
            return;
        };
        let now = self.process_now(p);
        if matches!(wire, Wire::Whole(_)) {
            if self.reach(p, "C6") {
                return;
            }
            let local = self.alone().then(|| self.local(p));
            if confirms(self.now, now, local) && std::mem::take(&mut self.processes[p].doubt) {
                self.task(p, Span::from_secs(2), Task::LookAround);
            }
        }
        let detail = "as the simulator drew it".to_owned();
        let (wrote, closed_at) = (u64::try_from(send.http.body.len()).unwrap_or(1), Some(now));
        let ended = match wire {
            Wire::Whole(answer) => Ended::Answered {
                answer,
                read_at: now,
                wrote,
            },
            Wire::Lost(phase, read, status) => Ended::Lost {
                phase,
                wrote,
                read,
                closed_at,
                status,
                detail,
            },
            Wire::Nothing => Ended::NotSent {
                phase: Phase::Connect,
                detail,
            },
        };
        let contract = self.contract(send.op);
        let messages = Messages::new(&self.keys, &send.record, &contract);
        let brought = messages.ended(send.request, send.epoch, &send.http, ended);
        self.note(|world| {
            let name = world.called(send.record.id());
            format!(
                "p{p} has of {name} {:?}: {:?}",
                send.request,
                words(&brought)
            )
        });
        let nonce = self.processes[p].nonce;
        self.handed.insert((send.record.id(), send.request), nonce);
        self.ended(p, &send.record, brought);
    }

    // ---- questions

    /// Asks a question. The store's time is read before it is sent (R2).
    pub(super) fn ask(&mut self, p: usize, record: Box<Record>, poll: Option<AttemptNo>) {
        let action = record.id();
        if self.store_error(false).is_some() {
            return self.tell(p, Event::Broken(action));
        }
        let Ok(asked_at) = ready(self.store.now()) else {
            return self.tell(p, Event::Broken(action));
        };
        let nonce = self.processes[p].nonce;
        let after = self.travel(Span::from_secs(15));
        self.plan(
            after,
            Happening::Asked(Question {
                nonce,
                record,
                poll,
                asked_at,
            }),
        );
    }

    /// A question arrives: all of its pages are answered at this instant.
    pub(super) fn asked(&mut self, question: Question) {
        let Question {
            nonce,
            record,
            poll,
            asked_at,
        } = question;
        let contract = self.contract(self.op_of(&record.action.scope.destination));
        let keys = self.keys.clone();
        let messages = Messages::new(&keys, &record, &contract);
        let brought = match poll {
            Some(attempt) => match messages.poll(attempt, asked_at) {
                Err(brought) => brought,
                Ok(http) => {
                    let answer = self.place.job(&http);
                    let asked = self.question_answered(Class::Poll, &http, answer);
                    messages.polled(attempt, asked_at, asked)
                }
            },
            None => self.look_up_there(&record, asked_at),
        };
        let action = record.id();
        self.note(|world| {
            format!(
                "       {} is asked after: {:?}",
                world.called(action),
                words(&brought)
            )
        });
        let (facts, heard) = (brought.facts, brought.heard);
        let event = Event::Ended {
            action,
            facts,
            heard,
        };
        let back = self.travel(Span::from_secs(10));
        self.plan(back, Happening::In(nonce, Task::Hear(event)));
    }

    /// A lookup, with all of its pages.
    pub(super) fn look_up_there(&mut self, record: &Record, asked_at: Timestamp) -> Brought {
        let op = self.op_of(&record.action.scope.destination);
        let contract = self.contract(op);
        let keys = self.keys.clone();
        let messages = Messages::new(&keys, record, &contract);
        let mut looking = messages.look_up(asked_at, false);
        loop {
            let http = match looking.question() {
                Ok(http) => http,
                Err(brought) => return brought,
            };
            let (now, behaves) = (self.now, self.lines[op].served.behaves);
            let answer = self
                .place
                .search(op, behaves, &http, now, &mut self.dice.place);
            let asked = self.question_answered(Class::Lookup, &http, answer);
            if let Some(brought) = looking.heard(asked) {
                return brought;
            }
        }
    }

    fn question_answered(&mut self, class: Class, http: &HttpRequest, answer: HttpAnswer) -> Asked {
        let failed = |phase| Asked::Failed {
            phase,
            detail: "as the simulator drew it".to_owned(),
        };
        match self.fault(class, http, "question") {
            Fault::CloseFin | Fault::CloseRst | Fault::CutHead => failed(Phase::Head),
            Fault::CutBody => failed(Phase::Body),
            Fault::Status { code } => Asked::Answered(speech::server_error(code)),
            Fault::TooMany429 => Asked::Answered(speech::error(429, "too_many")),
            _ => Asked::Answered(answer),
        }
    }
}

fn words(brought: &Brought) -> Vec<&'static str> {
    brought.facts.iter().map(factum_core::Fact::kind).collect()
}

fn millis(ms: u64) -> Span {
    Span::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}
