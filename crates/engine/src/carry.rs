//! From a decision to a request, and from what came back to facts: the engine's way through contract and transport.
//!
//! The request is always built from the contract that is pinned in the action, so that every attempt sends the same bytes.

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_contract::{BuildError, Contract, EffectInput, LookupAsk, LookupReading, Ours, Reading};
use factum_core::evidence::{
    Answer, AnswerClass, CancelAnswer, Capture, Lookup, LookupAnswer, Loss, Phase, PollAnswer,
    RequestRef,
};
use factum_core::promise::LookupBy;
use factum_core::{AttemptNo, Epoch, Fact, Permission, Span, Timestamp};
use factum_store::{Action, Record};
use factum_transport::{Asked, Clock, Ended, Target, Transport};

use crate::destination::{Carried, CarriedRequest, Carrier};
use crate::driver::gate::Heard;
use crate::driver::heard_of;
use crate::failpoint::{CrashPoint, reach};
use crate::keys::Keys;

/// The facts that a request brought, and how the destination behaved.
pub(crate) struct Brought {
    pub(crate) facts: Vec<Fact>,
    pub(crate) heard: Heard,
    /// The destination's own time, where an answer showed it.
    pub(crate) date: Option<Timestamp>,
}

impl Brought {
    pub(crate) fn new(facts: Vec<Fact>, heard: Heard) -> Self {
        Self {
            facts,
            heard,
            date: None,
        }
    }
}

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
        let request_ref = permission.request();
        let epoch = permission.epoch();
        let built = match request_ref {
            RequestRef::Attempt(_) => self.effect_request(record, contract, epoch),
            RequestRef::Cancel(_) => {
                contract.cancel_request(&params(&record.action), &self.key(record, contract, epoch))
            }
        };
        let request = match built {
            Ok(request) => request,
            Err(error) => {
                return not_built(request_ref, error.to_string());
            }
        };
        let ended = self
            .transport
            .send(permission, target, request.clone(), reuse)
            .await;
        reach(CrashPoint::C6);
        match request_ref {
            RequestRef::Attempt(attempt) => {
                let (reference, key) = (
                    self.reference(record, contract),
                    self.key(record, contract, epoch),
                );
                let ours = Ours {
                    reference: Some(&reference),
                    key: Some(&key),
                };
                attempt_ended(attempt, ended, |answer| {
                    contract.read_answer_of(answer, &ours, &request)
                })
            }
            RequestRef::Cancel(no) => cancel_ended(no, ended, contract),
        }
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
        let content = &record.action.content;
        let request = CarriedRequest {
            operation: record.action.scope.operation.clone(),
            key: hex(&self
                .keys
                .provider_key(record.action.identity_hash, permission.epoch())),
            reference: hex(&self.keys.reference(record.action.identity_hash)[..20]),
            params: content.params.clone(),
            payload: content.payload.clone(),
        };
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

    /// Asks whether the effect exists, over as many pages as it takes.
    pub(crate) async fn look_up(
        &self,
        record: &Record,
        contract: &Contract,
        target: &Target,
        asked_at: Timestamp,
        account_in_doubt: bool,
    ) -> Brought {
        let by = contract.lookup_by().unwrap_or(LookupBy::Reference);
        let epoch = record.known.current_epoch();
        let mark = match by {
            LookupBy::Reference => self.reference(record, contract),
            LookupBy::Key => self.key(record, contract, epoch),
        };
        let (answer, heard) = self.look_up_pages(record, contract, target, &mark).await;
        Brought::new(
            vec![Fact::LookedUp(Lookup {
                asked_at,
                by,
                epoch,
                answer: answer.unless_in_doubt(account_in_doubt),
            })],
            heard,
        )
    }

    async fn look_up_pages(
        &self,
        record: &Record,
        contract: &Contract,
        target: &Target,
        mark: &str,
    ) -> (LookupAnswer, Heard) {
        let intent = &record.action.intent;
        let params = params(&record.action);
        let mut so_far: Option<LookupReading> = None;
        let mut cursor: Option<String> = None;
        let mut heard = Heard::NotBegun;
        for _ in 0..contract.lookup_pages_max().max(1) {
            let since = Some(intent.submitted_at);
            let ask = LookupAsk {
                params: &params,
                mark,
                since,
                cursor: cursor.as_deref(),
            };
            let request = match contract.lookup_question(&ask) {
                Ok(request) => request,
                Err(error) => return (found_or(so_far, error.to_string()), heard),
            };
            let (asked, page_heard) = self.ask(target, request, intent.limits.answer_wait).await;
            heard = page_heard;
            let page = match asked {
                Ok(answer) => contract.read_lookup_page(&answer, mark, cursor.as_deref()),
                Err(why) => return (found_or(so_far, why), heard),
            };
            let reading = match so_far {
                Some(earlier) => earlier.join(page),
                None => page,
            };
            cursor.clone_from(&reading.next_page);
            if cursor.is_none() {
                return (reading.answer, heard);
            }
            so_far = Some(reading);
        }
        (
            found_or(
                so_far,
                "it goes on over more pages than are read".to_owned(),
            ),
            heard,
        )
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
        let object = record.known.queued_object(&record.action.intent, attempt);
        let request = match object {
            Some(object) => contract
                .poll_request(&params(&record.action), &object)
                .map_err(|error| error.to_string()),
            None => Err("the acceptance named nothing that could be asked for".to_owned()),
        };
        let (answer, heard) = match request {
            Ok(request) => {
                let (asked, heard) = self
                    .ask(target, request, record.action.intent.limits.answer_wait)
                    .await;
                let answer = match asked {
                    Ok(http) => contract.read_poll(&http),
                    Err(why) => PollAnswer::Inconclusive { why },
                };
                (answer, heard)
            }
            Err(why) => (PollAnswer::Inconclusive { why }, Heard::NotBegun),
        };
        Brought::new(
            vec![Fact::Polled {
                attempt,
                asked_at,
                answer,
            }],
            heard,
        )
    }

    async fn ask(
        &self,
        target: &Target,
        request: HttpRequest,
        limit: Span,
    ) -> (Result<HttpAnswer, String>, Heard) {
        match self.transport.ask(target, request, limit).await {
            Asked::Answered(answer) => {
                let heard = match answer.status {
                    429 => Heard::Busy(seconds(answer.header("retry-after"))),
                    500.. => Heard::Nothing,
                    _ => Heard::Answer,
                };
                (Ok(answer), heard)
            }
            Asked::Failed { phase, detail } => (
                Err(format!(
                    "the question failed while {}: {detail}",
                    doing(phase)
                )),
                Heard::Nothing,
            ),
        }
    }

    fn effect_request(
        &self,
        record: &Record,
        contract: &Contract,
        epoch: Epoch,
    ) -> Result<HttpRequest, BuildError> {
        effect_request(self.keys, &record.action, contract, epoch)
    }

    fn key(&self, record: &Record, contract: &Contract, epoch: Epoch) -> String {
        contract.encode_key(&self.keys.provider_key(record.action.identity_hash, epoch))
    }

    fn reference(&self, record: &Record, contract: &Contract) -> String {
        contract.encode_reference(&self.keys.reference(record.action.identity_hash))
    }
}

/// The effect request of an action under one version of its key.
///
/// # Errors
/// [`BuildError`] names the member that does not fit.
pub(crate) fn effect_request(
    keys: &Keys,
    action: &Action,
    contract: &Contract,
    epoch: Epoch,
) -> Result<HttpRequest, BuildError> {
    let content = &action.content;
    let key = contract.encode_key(&keys.provider_key(action.identity_hash, epoch));
    let reference = contract.encode_reference(&keys.reference(action.identity_hash));
    let payload = if content.payload == "null" {
        &[]
    } else {
        content.payload.as_bytes()
    };
    let input = EffectInput {
        params: &params(action),
        payload,
        key: contract.sends_key().then_some(key.as_str()),
        reference: &reference,
    };
    // The same instant on every attempt, so that the bytes are the same.
    contract.effect_request_recorded_at(&input, action.intent.submitted_at)
}

/// The submission's params. They were checked to be an object at submission.
fn params(action: &Action) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(&action.content.params).unwrap_or_default()
}

/// A hit on an earlier page stands, whatever became of the later ones; else nothing can be said.
fn found_or(so_far: Option<LookupReading>, why: String) -> LookupAnswer {
    let found = so_far
        .map(|reading| reading.answer)
        .filter(|answer| matches!(answer, LookupAnswer::Found(_)));
    found.unwrap_or(LookupAnswer::Inconclusive { why })
}

/// No request could be built, so nothing was sent.
fn not_built(request: RequestRef, detail: String) -> Brought {
    let fact = match request {
        RequestRef::Attempt(attempt) => Fact::NotSent {
            attempt,
            phase: Phase::Prepare,
            detail,
        },
        RequestRef::Cancel(no) => Fact::CancelAnswered {
            no,
            answer: CancelAnswer::NotSent { why: detail },
        },
    };
    Brought::new(vec![fact], Heard::NotBegun)
}

fn attempt_ended(
    attempt: AttemptNo,
    ended: Ended,
    read: impl FnOnce(&HttpAnswer) -> Reading,
) -> Brought {
    match ended {
        Ended::NotSent { phase, detail } => {
            let heard = if phase == Phase::Prepare {
                Heard::NotBegun
            } else {
                Heard::Nothing
            };
            Brought::new(
                vec![Fact::NotSent {
                    attempt,
                    phase,
                    detail,
                }],
                heard,
            )
        }
        Ended::Lost {
            phase,
            wrote,
            read,
            closed_at,
            status,
            detail,
        } => {
            let detail = status.map_or_else(
                || detail.clone(),
                |status| format!("status {status}, then {detail}"),
            );
            let loss = Loss {
                attempt,
                phase,
                wrote,
                read,
                closed_at,
                detail,
            };
            Brought::new(vec![Fact::Lost(loss)], Heard::Nothing)
        }
        Ended::Answered {
            answer, read_at, ..
        } => {
            let reading = read(&answer);
            let heard = heard_of(&reading.class, answer.status, reading.retry_after);
            let date = answer.header("date").and_then(http_date);
            let capture = Capture {
                status: answer.status,
                body: answer.body,
                truncated: answer.truncated,
            };
            let fact = Fact::Answered(Answer {
                attempt,
                read_at,
                class: reading.class,
                receipt: reading.receipt,
                replayed: reading.replayed,
                retry_after: reading.retry_after,
                capture,
            });
            Brought {
                facts: vec![fact],
                heard,
                date,
            }
        }
    }
}

fn cancel_ended(no: u32, ended: Ended, contract: &Contract) -> Brought {
    let (answer, heard) = match ended {
        Ended::NotSent { detail, .. } => (CancelAnswer::NotSent { why: detail }, Heard::Nothing),
        Ended::Lost { detail, .. } => (CancelAnswer::Unknown { why: detail }, Heard::Nothing),
        Ended::Answered { answer, .. } => {
            let heard = if answer.status >= 500 {
                Heard::Nothing
            } else {
                Heard::Answer
            };
            (contract.read_cancel(&answer), heard)
        }
    };
    Brought::new(vec![Fact::CancelAnswered { no, answer }], heard)
}

fn carried_ended(attempt: AttemptNo, carried: Carried, now: Timestamp) -> Brought {
    let answered = |class, receipt| {
        Fact::Answered(Answer {
            attempt,
            read_at: now,
            class,
            receipt,
            replayed: false,
            retry_after: None,
            capture: Capture::default(),
        })
    };
    let (fact, heard) = match carried {
        Carried::Done(receipt) => (answered(AnswerClass::Done, Some(receipt)), Heard::Answer),
        Carried::Rejected(why) => (
            answered(AnswerClass::Rejected { stored: false, why }, None),
            Heard::Answer,
        ),
        Carried::NotSent(detail) => (
            Fact::NotSent {
                attempt,
                phase: Phase::Connect,
                detail,
            },
            Heard::Nothing,
        ),
        Carried::Unknown(detail) => {
            let loss = Loss {
                attempt,
                phase: Phase::Head,
                wrote: 1,
                read: 0,
                // Code that gave no answer, or was dropped, has shown nothing about its connection: it may be pooled, or in
                // the hands of a task of its own (R1).
                closed_at: None,
                detail,
            };
            (Fact::Lost(loss), Heard::Nothing)
        }
    };
    Brought::new(vec![fact], heard)
}

fn seconds(text: Option<&str>) -> Option<Span> {
    text?.trim().parse().ok().map(Span::from_secs)
}

/// A time as HTTP writes it (RFC 9110, IMF-fixdate).
fn http_date(text: &str) -> Option<Timestamp> {
    let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(crate::submission::instant(zoned.timestamp()))
}

fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Prepare => "preparing",
        Phase::Resolve => "resolving the name",
        Phase::Connect => "connecting",
        Phase::Tls => "shaking hands over TLS",
        Phase::Write => "writing",
        Phase::Head => "waiting for the answer",
        Phase::Body => "reading the answer",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
