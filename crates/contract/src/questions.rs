//! The other questions: what became of queued work, whether whatever exists under a key is withdrawn, and who we are there.

use factum_core::Span;
use factum_core::evidence::{CancelAnswer, PollAnswer, Receipt};
use factum_core::promise::Retention;
use serde_json::{Map, Value};

use crate::answers::why;
use crate::build_error::BuildError;
use crate::claims::Claims;
use crate::conditions;
use crate::contract::Contract;
use crate::http::{HttpAnswer, HttpRequest};
use crate::lookup::success;
use crate::parts::{self, Take, optional, receipt};
use crate::pointer::Pointer;
use crate::request::{Request, not_in_contract};
use crate::source::Section;
use crate::template::Values;
use crate::when::{Seen, StatusSet, When};

/// The section `[poll]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Poll {
    pub(crate) request: Request,
    pub(crate) success: StatusSet,
    pub(crate) completed: When,
    pub(crate) working: When,
    pub(crate) failed: Option<When>,
    pub(crate) receipt: Option<Take>,
    pub(crate) why: Option<Pointer>,
    pub(crate) every: Option<Span>,
}

/// The section `[cancel]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cancel {
    pub(crate) request: Request,
    pub(crate) confirmed: When,
    pub(crate) object: Option<Pointer>,
    pub(crate) too_late: Option<When>,
    pub(crate) too_late_receipt: Option<Take>,
    pub(crate) refuses_later_arrivals: bool,
    pub(crate) retention: Retention,
}

/// The section `[whoami]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WhoAmI {
    pub(crate) request: Request,
    pub(crate) success: StatusSet,
    pub(crate) account: Pointer,
}

impl Poll {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        let request = Request::read(section, "GET", &["object"]);
        let success = success(section);
        let completed = section.need("completed").and_then(|n| conditions::when(&n));
        let working = section.need("working").and_then(|n| conditions::when(&n));
        let failed = optional(section.get("failed"), conditions::when);
        let receipt = receipt(section);
        let why = optional(section.get("why"), parts::exact_pointer);
        let every = optional(section.get("every"), parts::length);
        let request = request?;
        if !request.names().contains("object") {
            let message = "asks without {object}";
            let remedy = "write {object} where the name of the queued work goes";
            section.error("path", "poll_object", message, remedy);
        }
        Some(Self {
            request,
            success: success?,
            completed: completed?,
            working: working?,
            failed: failed?,
            receipt: receipt?,
            why: why?,
            every: every?,
        })
    }

    fn read_answer(&self, seen: &Seen<'_>) -> PollAnswer {
        let inconclusive = |why: String| PollAnswer::Inconclusive { why };
        let status = seen.answer.status;
        if !self.success.contains(status) {
            return inconclusive(format!("the poll answered status {status}"));
        }
        let failed = self.failed.as_ref().is_some_and(|when| when.holds(seen));
        match (self.completed.holds(seen), self.working.holds(seen), failed) {
            (true, false, false) => {
                let found = self.receipt.as_ref().map(|take| take.from(seen));
                match found {
                    Some(None) => inconclusive("completed, and the receipt is missing".to_owned()),
                    Some(found) => PollAnswer::Completed(found.map(Receipt::new)),
                    None => PollAnswer::Completed(None),
                }
            }
            (false, true, false) => PollAnswer::Working,
            (false, false, true) => PollAnswer::Failed {
                why: why(self.why.as_ref(), seen),
            },
            (false, false, false) => {
                inconclusive("the poll's answer says nothing known".to_owned())
            }
            (_, _, _) => inconclusive("the poll's answer contradicts itself".to_owned()),
        }
    }
}

impl Cancel {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        claims.require(section, "", "a cancel by key");
        let request = Request::read(section, "POST", &["key"]);
        let confirmed = section.need("confirmed").and_then(|n| conditions::when(&n));
        let object = optional(section.get("object"), parts::exact_pointer);
        let too_late = optional(section.get("too_late"), conditions::when);
        let too_late_receipt = optional(section.get("too_late_receipt"), parts::take);
        let refuses_later_arrivals = section.flag("refuses_later_arrivals");
        let retention = section.need("retention");
        let retention = retention.and_then(|node| parts::retention(&node));
        let (request, confirmed) = (request?, confirmed?);
        if !request.names().contains("key") {
            let message = "withdraws without {key}";
            let remedy = "write {key} into the path or into `json`";
            section.error("", "cancel_key", message, remedy);
        }
        let status = confirmed.status.as_ref();
        if !status.is_some_and(|set| set.within(200, 299)) {
            let message = "reads a confirmation from a status that is not 2xx";
            let remedy = "name statuses within 2xx";
            section.error("confirmed", "success_status", message, remedy);
        }
        Some(Self {
            request,
            confirmed,
            object: object?,
            too_late: too_late?,
            too_late_receipt: too_late_receipt?,
            refuses_later_arrivals,
            retention: retention?,
        })
    }

    fn read_answer(&self, seen: &Seen<'_>) -> CancelAnswer {
        let late = self.too_late.as_ref().is_some_and(|when| when.holds(seen));
        match (self.confirmed.holds(seen), late) {
            (true, false) => CancelAnswer::Confirmed {
                object: self.object.as_ref().and_then(|at| seen.text(at)),
            },
            (false, true) => {
                let take = self.too_late_receipt.as_ref();
                CancelAnswer::TooLate {
                    receipt: take.and_then(|take| take.from(seen)).map(Receipt::new),
                }
            }
            (true, true) => CancelAnswer::Unknown {
                why: "the cancel's answer contradicts itself".to_owned(),
            },
            (false, false) => CancelAnswer::Unknown {
                why: format!("the cancel answered status {}", seen.answer.status),
            },
        }
    }
}

impl WhoAmI {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let request = Request::read(section, "GET", &[]);
        let success = success(section);
        let account = section.need("account");
        let account = account.and_then(|node| parts::exact_pointer(&node));
        if let Some(request) = &request
            && let Some(name) = request.names().first()
        {
            let message =
                format!("asks with {{{name}}}, and there is no submission to take it from");
            section.error("path", "place", message, "write it out");
        }
        Some(Self {
            request: request?,
            success: success?,
            account: account?,
        })
    }
}

impl Contract {
    /// The question what became of the queued work of this name.
    ///
    /// # Errors
    /// There is no poll, or a parameter is missing.
    pub fn poll_request(
        &self,
        params: &Map<String, Value>,
        object: &str,
    ) -> Result<HttpRequest, BuildError> {
        let poll = self.poll.as_ref().ok_or_else(|| not_in_contract("/poll"))?;
        poll.request.build(&Values {
            params: Some(params),
            object: Some(object),
            ..Values::default()
        })
    }

    /// What a poll's answer shows.
    #[must_use]
    pub fn read_poll(&self, answer: &HttpAnswer) -> PollAnswer {
        match &self.poll {
            Some(poll) => poll.read_answer(&Seen::new(answer)),
            None => PollAnswer::Inconclusive {
                why: "the contract has no poll".to_owned(),
            },
        }
    }

    /// How often the destination wants to be asked at the most, if the contract says so.
    #[must_use]
    pub fn poll_every(&self) -> Option<Span> {
        self.poll.as_ref().and_then(|poll| poll.every)
    }

    /// The effect request that withdraws whatever exists under this key.
    ///
    /// # Errors
    /// There is no cancel by key, or a parameter is missing.
    pub fn cancel_request(
        &self,
        params: &Map<String, Value>,
        key: &str,
    ) -> Result<HttpRequest, BuildError> {
        let cancel = self
            .cancel
            .as_ref()
            .ok_or_else(|| not_in_contract("/cancel"))?;
        cancel.request.build(&Values {
            params: Some(params),
            key: Some(key),
            ..Values::default()
        })
    }

    /// What a cancel's answer shows.
    #[must_use]
    pub fn read_cancel(&self, answer: &HttpAnswer) -> CancelAnswer {
        match &self.cancel {
            Some(cancel) => cancel.read_answer(&Seen::new(answer)),
            None => CancelAnswer::Unknown {
                why: "the contract has no cancel by key".to_owned(),
            },
        }
    }

    /// The question who we are at the destination; none where the contract has no such question.
    #[must_use]
    pub fn whoami_request(&self) -> Option<HttpRequest> {
        let request = &self.whoami.as_ref()?.request;
        request.build(&Values::default()).ok()
    }

    /// The account that the answer names; none where it names none.
    #[must_use]
    pub fn read_whoami(&self, answer: &HttpAnswer) -> Option<String> {
        let whoami = self.whoami.as_ref()?;
        if !whoami.success.contains(answer.status) {
            return None;
        }
        Seen::new(answer).text(&whoami.account)
    }
}
