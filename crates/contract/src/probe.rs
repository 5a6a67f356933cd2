//! The probe: trying a contract's claims against a live sandbox, as a plan, a runner without I/O and a verdict per claim.
//!
//! [`Probe::plan`] says which experiments fit a contract and what each needs. [`Probe::next`] names the next thing to do, the
//! caller does it and says what came of it, and [`Probe::report`] judges. A verdict is never kinder than what was seen: what
//! could not be told is said to be so, with the reason.
//!
//! Nothing here sends, waits or reads a clock; every instant is handed in. Whether a destination may be probed, and by whose
//! order, is the caller's to know.

mod build;
mod cited;
mod clean;
mod judge;
mod look;
mod page;
mod plan;
mod report;
mod run;
mod sight;

use factum_core::Span;
use factum_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::http::{HttpAnswer, HttpRequest};

pub use plan::{ProbeContent, changed};
pub use report::{Lag, Left, Report, ReportError, RunBy, Seen, Skipped, Undone};

use plan::Planned;
use run::Run;

/// What the person who probes gives: what is sent, how long may be waited, whose credentials there are.
#[derive(Clone, Debug)]
pub struct Setup {
    /// 32 random bytes that this probe's keys and references are made from.
    pub seed: [u8; 32],
    /// The submission's parameters.
    pub params: Map<String, Value>,
    /// What is sent. `{unique}` stands for a word that differs from key to key.
    pub payload: Vec<u8>,
    /// Other content of the same shape, for the same key.
    pub other: Option<Vec<u8>>,
    /// Content that the destination refuses.
    pub refused: Option<Vec<u8>>,
    /// Content at which the destination fails with an error of its own.
    pub failing: Option<Vec<u8>>,
    /// How long is waited before a key is repeated; none: that is not tried, unless the clock can be moved.
    pub wait: Option<Span>,
    /// The caller can move the destination's clock ahead.
    pub moves_clock: bool,
    /// Whose the second credential is, where there is one.
    pub second: Option<Second>,
    /// Effects whose way into the lookup is timed.
    pub samples: u32,
    /// Pairs of requests that are sent at once.
    pub pairs: u32,
    /// Between two reads of a lookup or a poll.
    pub read_every: Span,
    /// For how long one thing is read again and again at the most.
    pub patience: Span,
}

/// Whose the second credential is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// Another credential of the same account.
    SameAccount,
    /// A credential of another account.
    OtherAccount,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Experiment {
    /// The same request under the same key, twice.
    SameKeyTwice,
    /// Other content under a key that is taken.
    OtherContent,
    /// Two equal requests at once.
    ConcurrentPair,
    /// A refusal, repeated, and then content that is fine.
    Refusal,
    /// The destination's own error, repeated, and then content that is fine.
    OwnError,
    /// The same key by another credential.
    SecondCredential,
    /// The same key inside its window, after a wait.
    InsideWindow,
    /// The same key after its window.
    AfterWindow,
    /// How long an effect takes to show in the lookup.
    LookupLag,
    /// Withdrawing by key.
    CancelByKey,
    /// Whether the lookup shows everything that was made, and nothing that was not.
    LookupComplete,
}

impl Experiment {
    /// What is done, for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::SameKeyTwice => "the same request under the same key, twice",
            Self::OtherContent => "other content under a key that is taken",
            Self::ConcurrentPair => "two equal requests at once",
            Self::Refusal => "a refusal, repeated, and then content that is fine",
            Self::OwnError => "an error of its own, repeated, and then content that is fine",
            Self::SecondCredential => "the same key by another credential",
            Self::InsideWindow => "the same key inside its window, after a wait",
            Self::AfterWindow => "the same key after its window",
            Self::LookupLag => "how long an effect takes to show in the lookup",
            Self::CancelByKey => "withdrawing by key",
            Self::LookupComplete => "whether the lookup shows everything that was made",
        }
    }
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The destination did as the contract says.
    Held,
    /// It did not.
    DidNotHold,
    /// What was seen does not tell.
    CouldNotBeTold,
}

impl Verdict {
    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::DidNotHold => "did not hold",
            Self::CouldNotBeTold => "could not be told",
        }
    }
}

/// One claim of the contract, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The path of what is claimed: `/key/repeat`.
    pub about: String,
    /// What the contract says, in a sentence.
    pub says: String,
    /// What was tried.
    pub experiment: Experiment,
    /// What became of it.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
}

/// An experiment of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanRow {
    /// What is tried.
    pub experiment: Experiment,
    /// Effects that it can make at the most.
    pub effects_max: u32,
    /// Why it is not tried, where it is not: what is missing.
    pub skipped: Option<String>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Do {
    /// Send these effect requests, all of them at once; then call [`Probe::sent`] or [`Probe::declined`].
    Send(Vec<EffectTry>),
    /// Ask this; then call [`Probe::asked`].
    Ask(HttpRequest),
    /// Let this time pass; then call [`Probe::waited`].
    Wait(Pause),
    /// It is over; call [`Probe::report`].
    Nothing,
}

/// A time to let pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// How long.
    pub span: Span,
    /// The destination's clock may be moved ahead instead, where that can be done.
    pub by_clock: bool,
    /// Why, for people.
    pub why: String,
}

/// An effect request that is to be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectTry {
    /// As the contract builds it; no secret is in it.
    pub request: HttpRequest,
    /// It goes out with the second credential.
    pub second: bool,
    /// It withdraws, and makes nothing.
    pub cancels: bool,
    /// It is a request of the operation that undoes, given by [`Probe::undo_by`].
    pub undoes: bool,
    /// What is tried by it; none where it only cleans up.
    pub experiment: Option<Experiment>,
    /// Why it is sent, for people and for the record of who ordered it.
    pub why: String,
    /// The key in it, where there is one.
    pub key: Option<String>,
    /// The reference in it.
    pub reference: String,
}

/// What came of an effect request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// A whole answer, and when it had been read.
    Answer(HttpAnswer, Timestamp),
    /// No whole answer; it may have taken effect.
    Lost(String),
    /// It is proven that nothing left.
    NotSent(String),
}

/// A probe of one operation, from the plan to the report.
#[derive(Debug)]
pub struct Probe<'a> {
    run: Run<'a>,
}

impl<'a> Probe<'a> {
    /// A probe of what this contract claims.
    ///
    /// # Errors
    /// The submission does not build: the member, and what is wrong with it.
    pub fn new(contract: &'a Contract, setup: Setup) -> Result<Self, crate::BuildError> {
        let run = Run::new(contract, setup)?;
        Ok(Self { run })
    }

    /// What is left at the end is undone by this contract's operation: the one that [`Contract::undone_by`] names.
    #[must_use]
    pub fn undo_by(mut self, contract: &'a Contract) -> Self {
        self.run.undo = Some(contract);
        self
    }

    /// What will be tried, and what will not and why.
    #[must_use]
    pub fn plan(&self) -> Vec<PlanRow> {
        self.run.planned.iter().map(Planned::row).collect()
    }

    /// Effects that it can make at the most.
    #[must_use]
    pub fn effects_max(&self) -> u32 {
        self.plan().iter().map(|row| row.effects_max).sum()
    }

    /// Effect requests that it can send at the most: repeats where the destination is busy, withdrawals and what
    /// undoes among them.
    #[must_use]
    pub fn requests_max(&self) -> u32 {
        self.run.requests_max()
    }

    /// What to do next.
    #[must_use]
    pub fn next(&mut self, now: Timestamp) -> Do {
        self.run.next(now)
    }

    /// What came of the requests, in their order.
    pub fn sent(&mut self, came: Vec<Came>) {
        self.run.sent(came);
    }

    /// The person did not want this request sent.
    pub fn declined(&mut self) {
        self.run.declined();
    }

    /// The answer to a question that was asked at `asked_at`, or why there is none.
    pub fn asked(&mut self, answer: Result<HttpAnswer, String>, asked_at: Timestamp) {
        self.run.asked(answer, asked_at);
    }

    /// The time has passed; or the destination's clock `moved` ahead by it, where the pause allows that.
    pub fn waited(&mut self, now: Timestamp, moved: bool) {
        self.run.waited(now, moved);
    }

    /// What became of each claim.
    #[must_use]
    pub fn report(&self, by: RunBy) -> Report {
        Report::of(&self.run, by)
    }
}
