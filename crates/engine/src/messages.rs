//! From an action to the bytes of its requests, and from what came back to facts. Pure: who carries the bytes, the transport
//! or the simulator's network, is told what to write and says how it ended.
//!
//! A request is always built from the contract that is pinned in the action, so that every attempt sends the same bytes.

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_contract::{BuildError, Contract, EffectInput, LookupAsk, LookupReading, Ours, Reading};
use factum_core::evidence::{
    Answer, CancelAnswer, Capture, Lookup, LookupAnswer, Loss, Phase, PollAnswer, RequestRef,
};
use factum_core::mistake::{Mistake, made};
use factum_core::promise::LookupBy;
use factum_core::{AttemptNo, Epoch, Fact, IdentityHash, Span, Timestamp};
use factum_store::{Action, Name, Record};
pub use factum_transport::{Asked, Ended};

use crate::driver::gate::Heard;
use crate::driver::heard_of;
use crate::keys::Keys;
use crate::proposal::approval_digest;

/// The facts that a request brought, and how the destination behaved.
pub struct Brought {
    /// What is known now.
    pub facts: Vec<Fact>,
    /// For its gate.
    pub heard: Heard,
    /// The destination's own time, where an answer showed it.
    pub date: Option<Timestamp>,
}

impl Brought {
    /// Without a time.
    #[must_use]
    pub fn new(facts: Vec<Fact>, heard: Heard) -> Self {
        Self {
            facts,
            heard,
            date: None,
        }
    }
}

/// The messages of one action under its pinned contract.
#[derive(Clone, Copy)]
pub struct Messages<'a> {
    keys: &'a Keys,
    record: &'a Record,
    contract: &'a Contract,
}

impl<'a> Messages<'a> {
    /// Of this action.
    #[must_use]
    pub fn new(keys: &'a Keys, record: &'a Record, contract: &'a Contract) -> Self {
        Self {
            keys,
            record,
            contract,
        }
    }

    /// The effect request: an attempt, or a cancel by key.
    ///
    /// # Errors
    /// It could not be built, so nothing was sent.
    pub fn effect(&self, request: RequestRef, epoch: Epoch) -> Result<HttpRequest, Brought> {
        let action = &self.record.action;
        if let Some(why) = self.not_as_approved(request) {
            let mut brought = not_built(request, why.clone());
            brought.facts.push(Fact::AuthorityLost { why });
            return Err(brought);
        }
        let built = match request {
            RequestRef::Attempt(AttemptNo(n)) if made(Mistake::KeyPerAttempt) => {
                effect_request(self.keys, action, self.contract, Epoch(n))
            }
            RequestRef::Attempt(_) => effect_request(self.keys, action, self.contract, epoch),
            RequestRef::Cancel(_) => {
                let key = self.key(epoch);
                self.contract.cancel_request(&params(action), &key)
            }
        };
        built.map_err(|error| not_built(request, error.to_string()))
    }

    /// What is known once an effect request has ended.
    #[must_use]
    pub fn ended(
        &self,
        request: RequestRef,
        epoch: Epoch,
        sent: &HttpRequest,
        ended: Ended,
    ) -> Brought {
        match request {
            RequestRef::Attempt(attempt) => {
                let (reference, key) = (self.reference(), self.key(epoch));
                let ours = Ours {
                    reference: Some(&reference),
                    key: Some(&key),
                };
                attempt_ended(attempt, ended, self.contract, |answer| {
                    self.contract.read_answer_of(answer, &ours, sent)
                })
            }
            RequestRef::Cancel(no) => cancel_ended(no, ended, self.contract),
        }
    }

    /// A lookup, asked at this time: its first question is [`LookingUp::question`].
    #[must_use]
    pub fn look_up(&self, asked_at: Timestamp, account_in_doubt: bool) -> LookingUp<'a> {
        let by = self.contract.lookup_by().unwrap_or(LookupBy::Reference);
        let epoch = self.record.known.current_epoch();
        let mark = match by {
            LookupBy::Reference => self.reference(),
            LookupBy::Key => self.key(epoch),
        };
        LookingUp {
            record: self.record,
            contract: self.contract,
            params: params(&self.record.action),
            asked_at,
            account_in_doubt,
            by,
            epoch,
            mark,
            so_far: None,
            cursor: None,
            pages: 0,
            heard: Heard::NotBegun,
        }
    }

    /// The question how the queued work of an attempt stands.
    ///
    /// # Errors
    /// It could not be built: what is known then.
    pub fn poll(&self, attempt: AttemptNo, asked_at: Timestamp) -> Result<HttpRequest, Brought> {
        let object = (self.record.known).queued_object(&self.record.action.intent, attempt);
        let request = match object {
            Some(object) => (self.contract)
                .poll_request(&params(&self.record.action), &object)
                .map_err(|error| error.to_string()),
            None => Err("the acceptance named nothing that could be asked for".to_owned()),
        };
        request.map_err(|why| {
            let answer = PollAnswer::Inconclusive { why };
            polled(attempt, asked_at, answer, Heard::NotBegun)
        })
    }

    /// What is known once that question has ended.
    #[must_use]
    pub fn polled(&self, attempt: AttemptNo, asked_at: Timestamp, asked: Asked) -> Brought {
        let (answer, heard) = answered(asked);
        let answer = match answer {
            Ok(http) => self.contract.read_poll(&http),
            Err(why) => PollAnswer::Inconclusive { why },
        };
        polled(attempt, asked_at, answer, heard)
    }

    /// Why what would be written is not what was approved, byte for byte, if it is not (R23): a newer program, or another secret,
    /// may write something else from the same content and contract.
    fn not_as_approved(&self, request: RequestRef) -> Option<String> {
        let action = &self.record.action;
        let approved = action.content.approved.as_ref()?;
        let RequestRef::Attempt(_) = request else {
            return None;
        };
        // What cannot be built is said below.
        let account = approved.account.as_deref();
        let digest = approval_digest(self.keys, action, self.contract, account)?;
        (digest != approved.digest).then(|| {
            let proposal = approved.proposal;
            format!("what would be sent is not what was shown when {proposal} was approved")
        })
    }

    fn key(&self, epoch: Epoch) -> String {
        let identity = self.record.action.identity_hash;
        (self.contract).encode_key(&self.keys.provider_key(identity, epoch))
    }

    fn reference(&self) -> String {
        let identity = self.record.action.identity_hash;
        (self.contract).encode_reference(&self.keys.reference(identity))
    }
}

/// A lookup under way, over as many pages as it takes.
pub struct LookingUp<'a> {
    record: &'a Record,
    contract: &'a Contract,
    params: serde_json::Map<String, serde_json::Value>,
    asked_at: Timestamp,
    account_in_doubt: bool,
    by: LookupBy,
    epoch: Epoch,
    mark: String,
    so_far: Option<LookupReading>,
    cursor: Option<String>,
    pages: u32,
    heard: Heard,
}

impl LookingUp<'_> {
    /// The next question.
    ///
    /// # Errors
    /// There is none: what is known now.
    pub fn question(&mut self) -> Result<HttpRequest, Brought> {
        if self.pages >= self.contract.lookup_pages_max().max(1) {
            return Err(self.broken_off("it goes on over more pages than are read".to_owned()));
        }
        self.pages += 1;
        let ask = LookupAsk {
            params: &self.params,
            mark: &self.mark,
            since: Some(self.record.action.intent.submitted_at),
            cursor: self.cursor.as_deref(),
        };
        let question = self.contract.lookup_question(&ask);
        question.map_err(|error| self.broken_off(error.to_string()))
    }

    /// How the question ended. What is known then, unless there is a further page to ask for.
    pub fn heard(&mut self, asked: Asked) -> Option<Brought> {
        let (answer, heard) = answered(asked);
        self.heard = heard;
        let page = match answer {
            Ok(answer) => {
                let cursor = self.cursor.as_deref();
                (self.contract).read_lookup_page(&answer, &self.mark, cursor)
            }
            Err(why) => return Some(self.broken_off(why)),
        };
        let reading = match self.so_far.take() {
            Some(earlier) => earlier.join(page),
            None => page,
        };
        self.cursor.clone_from(&reading.next_page);
        if self.cursor.is_none() {
            return Some(self.brought(reading.answer));
        }
        if made(Mistake::FirstPageIsAll) && !matches!(reading.answer, LookupAnswer::Found(_)) {
            return Some(self.brought(LookupAnswer::Absent));
        }
        self.so_far = Some(reading);
        None
    }

    /// A hit on an earlier page stands, whatever became of the later ones; else nothing can be said.
    fn broken_off(&mut self, why: String) -> Brought {
        let found = (self.so_far.take())
            .map(|reading| reading.answer)
            .filter(|answer| matches!(answer, LookupAnswer::Found(_)));
        self.brought(found.unwrap_or(LookupAnswer::Inconclusive { why }))
    }

    fn brought(&self, answer: LookupAnswer) -> Brought {
        let lookup = Lookup {
            asked_at: self.asked_at,
            by: self.by,
            epoch: self.epoch,
            answer: answer.unless_in_doubt(self.account_in_doubt),
        };
        Brought::new(vec![Fact::LookedUp(lookup)], self.heard)
    }
}

fn polled(attempt: AttemptNo, asked_at: Timestamp, answer: PollAnswer, heard: Heard) -> Brought {
    let fact = Fact::Polled {
        attempt,
        asked_at,
        answer,
    };
    Brought::new(vec![fact], heard)
}

/// What a question brought, and how the destination behaved.
pub(crate) fn answered(asked: Asked) -> (Result<HttpAnswer, String>, Heard) {
    match asked {
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
    let approved = content.approved.as_ref();
    let as_of = approved.map_or(action.intent.submitted_at, |approved| approved.as_of);
    let mut request = contract.effect_request_recorded_at(&input, as_of)?;
    // So is the trace. It correlates only: neither key nor fingerprint know of it.
    if let (Some(header), Some(trace)) = (contract.trace_header(), &content.trace) {
        request
            .headers
            .push((header.to_owned(), trace.as_str().to_owned()));
    }
    Ok(request)
}

/// The names of ours by which the destination's reports find an action, under one version of its key.
pub(crate) fn report_names(
    keys: &Keys,
    contract: &Contract,
    identity: IdentityHash,
    epoch: Epoch,
) -> Vec<Name> {
    let reference = contract
        .reports_by_reference()
        .then(|| Name::Reference(contract.encode_reference(&keys.reference(identity))));
    let key = contract
        .reports_by_key()
        .then(|| Name::Key(contract.encode_key(&keys.provider_key(identity, epoch))));
    reference.into_iter().chain(key).collect()
}

/// The submission's params. They were checked to be an object at submission.
fn params(action: &Action) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(&action.content.params).unwrap_or_default()
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
    contract: &Contract,
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
            let missing = contract.missing_after(&reading);
            let heard = heard_of(&reading.class, answer.status, reading.retry_after);
            let date = answer.header("date").and_then(http_date);
            let capture = Capture {
                status: answer.status,
                body: contract.captured_of(&answer),
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
            let unsupported = missing
                .any()
                .then_some(Fact::Unsupported { attempt, missing });
            Brought {
                facts: std::iter::once(fact).chain(unsupported).collect(),
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

fn seconds(text: Option<&str>) -> Option<Span> {
    text?.trim().parse().ok().map(Span::from_secs)
}

/// A time as HTTP writes it (RFC 9110, IMF-fixdate).
#[must_use]
pub fn http_date(text: &str) -> Option<Timestamp> {
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
