//! Carrying a request through the transport, or through an application's own code. What is written and what comes of it is
//! said by [`crate::messages`].

use factum_contract::Contract;
use factum_core::evidence::{
    Answer, AnswerClass, CancelAnswer, Capture, Lookup, LookupAnswer, Loss, Phase, RequestRef,
};
use factum_core::promise::LookupBy;
use factum_core::{AttemptNo, Epoch, Fact, Permission, Timestamp};
use factum_store::Record;
use factum_transport::{Clock, Target, Transport};

use crate::destination::{Carried, CarriedRequest, Carrier};
use crate::driver::gate::Heard;
use crate::failpoint::{CrashPoint, reach};
use crate::keys::Keys;
use crate::messages::{Brought, Messages};

/// Everything that carrying a request needs.
pub(crate) struct Carrying<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) transport: &'a dyn Transport,
    pub(crate) clock: &'a dyn Clock,
}

impl Carrying<'_> {
    /// Sends one effect request: an attempt, or a cancel by key.
    pub(crate) async fn send(
        &self,
        record: &Record,
        contract: &Contract,
        target: &Target,
        permission: Permission,
        reuse: bool,
    ) -> Brought {
        let (request_ref, epoch) = (permission.request(), permission.epoch());
        let messages = Messages::new(self.keys, record, contract);
        let request = match messages.effect(request_ref, epoch) {
            Ok(request) => request,
            Err(not_sent) => return not_sent,
        };
        let ended = self
            .transport
            .send(permission, target, request.clone(), reuse)
            .await;
        reach(CrashPoint::C6);
        messages.ended(request_ref, epoch, &request, ended)
    }

    /// Has an application's own code carry out one effect request.
    pub(crate) async fn carry(
        &self,
        record: &Record,
        carrier: &dyn Carrier,
        permission: Permission,
    ) -> Brought {
        let attempt = match permission.request() {
            RequestRef::Attempt(attempt) => attempt,
            RequestRef::Cancel(no) => {
                let answer = CancelAnswer::NotSent {
                    why: "an application's own code has no cancel by key".to_owned(),
                };
                return Brought::new(vec![Fact::CancelAnswered { no, answer }], Heard::NotBegun);
            }
        };
        if let Err(expired) = permission.check(self.clock.now()) {
            let fact = Fact::NotSent {
                attempt,
                phase: Phase::Prepare,
                detail: expired.to_string(),
            };
            return Brought::new(vec![fact], Heard::NotBegun);
        }
        let request = self.carried_request(record, permission.epoch());
        let limit = permission.write_limit() + permission.answer_wait();
        let carried = tokio::time::timeout(
            crate::clock::duration(limit),
            carrier.carry(permission, request),
        )
        .await;
        let carried =
            carried.unwrap_or_else(|_| Carried::Unknown(format!("no word within {limit}")));
        carried_ended(attempt, carried, self.clock.now())
    }

    /// Has an application's own code look whether the effect exists.
    pub(crate) async fn carrier_looks(
        &self,
        record: &Record,
        carrier: &dyn Carrier,
        asked_at: Timestamp,
    ) -> Brought {
        let epoch = record.known.current_epoch();
        let request = self.carried_request(record, epoch);
        let limit = record.action.intent.limits.answer_wait;
        let looked = carrier.look_up(request, limit);
        let looked = tokio::time::timeout(crate::clock::duration(limit), looked).await;
        let answer = looked.unwrap_or_else(|_| LookupAnswer::Inconclusive {
            why: format!("no word within {limit}"),
        });
        let lookup = Lookup {
            asked_at,
            by: LookupBy::Reference,
            epoch,
            answer,
        };
        Brought::new(vec![Fact::LookedUp(lookup)], Heard::NotBegun)
    }

    fn carried_request(&self, record: &Record, epoch: Epoch) -> CarriedRequest {
        let (keys, content) = (self.keys, &record.action.content);
        let identity = record.action.identity_hash;
        CarriedRequest {
            operation: record.action.scope.operation.clone(),
            key: hex(&keys.provider_key(identity, epoch)),
            reference: hex(&keys.reference(identity)[..20]),
            params: content.params.clone(),
            payload: content.payload.clone(),
        }
    }

    /// Asks whether the effect exists, over as many pages as it takes.
    pub(crate) async fn look_up(
        &self,
        record: &Record,
        contract: &Contract,
        target: &Target,
        asked_at: Timestamp,
        account_in_doubt: bool,
    ) -> Brought {
        let limit = record.action.intent.limits.answer_wait;
        let messages = Messages::new(self.keys, record, contract);
        let mut looking = messages.look_up(asked_at, account_in_doubt);
        loop {
            let question = match looking.question() {
                Ok(question) => question,
                Err(brought) => return brought,
            };
            let asked = self.transport.ask(target, question, limit).await;
            if let Some(brought) = looking.heard(asked) {
                return brought;
            }
        }
    }

    /// Asks how the queued work of an attempt stands.
    pub(crate) async fn poll(
        &self,
        record: &Record,
        contract: &Contract,
        target: &Target,
        attempt: AttemptNo,
        asked_at: Timestamp,
    ) -> Brought {
        let limit = record.action.intent.limits.answer_wait;
        let messages = Messages::new(self.keys, record, contract);
        let request = match messages.poll(attempt, asked_at) {
            Ok(request) => request,
            Err(brought) => return brought,
        };
        let asked = self.transport.ask(target, request, limit).await;
        messages.polled(attempt, asked_at, asked)
    }
}

fn carried_ended(attempt: AttemptNo, carried: Carried, now: Timestamp) -> Brought {
    let answered = |class, receipt, body| {
        let capture = Capture {
            body,
            ..Capture::default()
        };
        Fact::Answered(Answer {
            attempt,
            read_at: now,
            class,
            receipt,
            replayed: false,
            retry_after: None,
            capture,
        })
    };
    let lost = |wrote, closed_at, detail| {
        Fact::Lost(Loss {
            attempt,
            phase: Phase::Head,
            wrote,
            read: 0,
            closed_at,
            detail,
        })
    };
    let (fact, heard) = match carried {
        Carried::Done(receipt) => {
            let done = answered(AnswerClass::Done, Some(receipt), Vec::new());
            (done, Heard::Answer)
        }
        Carried::Rejected(why) => {
            let refused = AnswerClass::Rejected { stored: false, why };
            (answered(refused, None, Vec::new()), Heard::Answer)
        }
        Carried::Read {
            means,
            receipt,
            body,
        } => (answered(means, receipt, body), Heard::Answer),
        Carried::NotSent(detail) => (
            Fact::NotSent {
                attempt,
                phase: Phase::Connect,
                detail,
            },
            Heard::Nothing,
        ),
        // Code that gave no answer, or was dropped, has shown nothing about its connection: it may be pooled, or in the hands
        // of a task of its own (R1).
        Carried::Unknown(detail) => (lost(1, None, detail), Heard::Nothing),
        Carried::Lost {
            wrote,
            closed_at,
            detail,
        } => (lost(wrote, closed_at, detail), Heard::Nothing),
    };
    Brought::new(vec![fact], heard)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
