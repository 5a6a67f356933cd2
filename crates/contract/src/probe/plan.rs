//! The plan: which experiments fit a contract, what each is made of, and what is missing for the others.

use factum_core::Span;
use factum_core::promise::{Consequence, Retention};
use serde_json::{Map, Value};

use super::{Experiment, PlanRow, Second, Setup};
use crate::contract::Contract;
use crate::effect::EffectInput;
use crate::key::{Place, Role};
use crate::repeat::{After, OtherContent, Repeat};

/// Where a window has no end, a repeat after this long stands for it.
const LONG: Span = Span::from_secs(30 * 86_400);

/// An experiment and its steps.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) experiment: Experiment,
    pub(super) steps: Vec<Step>,
    pub(super) skipped: Option<String>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Effect requests, at once.
    Send(Vec<Try>),
    /// Queued work of this mark is followed to its end.
    Follow { mark: usize },
    /// Time passes.
    Wait(Span),
    /// The lookup is read.
    Look { mark: usize, wanted: Wanted },
    /// Whatever exists under the key of this mark is withdrawn.
    Cancel { mark: usize },
}

/// An effect request that makes something.
#[derive(Clone, Debug)]
pub(super) struct Try {
    pub(super) mark: usize,
    pub(super) content: Content,
    pub(super) second: bool,
    pub(super) why: &'static str,
}

/// Which content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Usual,
    Other,
    Refused,
    Failing,
}

/// What a lookup is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Until it shows the effect.
    Present,
    /// Until it conclusively shows nothing.
    Nothing,
    /// Until it says anything.
    Anything,
}

impl Content {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Other => "other",
            Self::Refused => "refused",
            Self::Failing => "failing",
        }
    }
}

impl Planned {
    pub(super) fn row(&self) -> PlanRow {
        PlanRow {
            experiment: self.experiment,
            effects_max: self.tries(),
            skipped: self.skipped.clone(),
        }
    }

    /// Requests that can make something.
    pub(super) fn tries(&self) -> u32 {
        let tries = self.steps.iter().map(|step| match step {
            Step::Send(tries) => tries.len(),
            Step::Follow { .. } | Step::Wait(_) | Step::Look { .. } | Step::Cancel { .. } => 0,
        });
        u32::try_from(tries.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// Effect requests with their repeats where the destination is busy.
    pub(super) fn requests_max(&self, repeats: u32) -> u32 {
        let requests = self.steps.iter().map(|step| match step {
            Step::Send(tries) if tries.len() > 1 => u32::try_from(tries.len()).unwrap_or(u32::MAX),
            Step::Send(_) | Step::Cancel { .. } => 1 + repeats,
            Step::Follow { .. } | Step::Wait(_) | Step::Look { .. } => 0,
        });
        requests.sum()
    }
}

/// Makes the plan of a contract; counts the marks that it needs.
pub(super) struct Planner<'a> {
    contract: &'a Contract,
    setup: &'a Setup,
    pub(super) marks: usize,
    planned: Vec<Planned>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(contract: &'a Contract, setup: &'a Setup) -> Self {
        Self {
            contract,
            setup,
            marks: 0,
            planned: Vec::new(),
        }
    }

    /// Everything that fits the contract, in the order in which it is tried: what moves the clock comes late.
    pub(super) fn plan(mut self) -> (Vec<Planned>, usize) {
        let repeat = self.contract.key.as_ref().and_then(|k| k.repeat.as_ref());
        let harmless = self.contract.consequence == Consequence::Harmless;
        if repeat.is_some() || harmless {
            self.same_key_twice();
        }
        if let Some(repeat) = repeat {
            self.other_content(repeat);
            self.pairs();
            self.refusal(Experiment::Refusal);
            self.refusal(Experiment::OwnError);
            self.second_credential();
        }
        if self.contract.lookup.is_some() {
            self.lookup_lag();
        }
        if self.contract.cancel.is_some() {
            self.cancel();
        }
        if let Some(repeat) = repeat {
            self.inside_window(repeat);
            self.after_window(repeat);
        }
        if self.contract.lookup.is_some() {
            // What it is made of shows only once something was made.
            self.add(Experiment::LookupComplete, Vec::new());
        }
        (self.planned, self.marks)
    }

    fn add(&mut self, experiment: Experiment, steps: Vec<Step>) {
        let first = self.planned.is_empty();
        if self.one_key_only() && !first && !steps.is_empty() {
            let why =
                "the key is part of the content; write {unique} where it stands in the payload";
            return self.skip(experiment, why);
        }
        self.planned.push(Planned {
            experiment,
            steps,
            skipped: None,
        });
    }

    fn skip(&mut self, experiment: Experiment, why: &str) {
        self.planned.push(Planned {
            experiment,
            steps: Vec::new(),
            skipped: Some(why.to_owned()),
        });
    }

    /// The key is part of the content, and the content is the same for every key.
    fn one_key_only(&self) -> bool {
        let key = self.contract.key.as_ref();
        let given = key.is_some_and(|key| matches!(key.place, Place::Given(_)));
        given && !holds(&self.setup.payload, UNIQUE)
    }

    fn mark(&mut self) -> usize {
        self.marks += 1;
        self.marks - 1
    }

    fn send(mark: usize, content: Content, why: &'static str) -> Step {
        Step::Send(vec![Try {
            mark,
            content,
            second: false,
            why,
        }])
    }

    /// Queued work is followed before it is judged.
    fn follow(&self, mark: usize) -> Option<Step> {
        self.contract
            .poll
            .is_some()
            .then_some(Step::Follow { mark })
    }

    fn look(&self, mark: usize, wanted: Wanted) -> Option<Step> {
        self.contract
            .lookup
            .is_some()
            .then_some(Step::Look { mark, wanted })
    }

    fn same_key_twice(&mut self) {
        let mark = self.mark();
        let mut steps = vec![Self::send(mark, Content::Usual, "the first of two")];
        steps.extend(self.follow(mark));
        steps.push(Self::send(
            mark,
            Content::Usual,
            "the same once more, under the same key",
        ));
        steps.extend(self.follow(mark));
        steps.extend(self.look(mark, Wanted::Present));
        self.add(Experiment::SameKeyTwice, steps);
    }

    fn other_content(&mut self, repeat: &Repeat) {
        let experiment = Experiment::OtherContent;
        let key = self.contract.key.as_ref();
        if key.is_some_and(|key| matches!(key.place, Place::Given(_))) {
            return self.skip(experiment, "other content is another key there");
        }
        if self.setup.other.is_none() {
            return self.skip(
                experiment,
                "there is no other content; give --other-payload",
            );
        }
        if repeat.other_content == OtherContent::Unstated
            && key.is_some_and(|key| key.role == Role::Upsert)
        {
            return self.skip(
                experiment,
                "it changes what is there, and claims nothing else",
            );
        }
        let mark = self.mark();
        let mut steps = vec![Self::send(mark, Content::Usual, "takes the key")];
        steps.extend(self.follow(mark));
        let why = "other content under the key that is taken";
        steps.push(Self::send(mark, Content::Other, why));
        steps.extend(self.follow(mark));
        self.add(experiment, steps);
    }

    fn pairs(&mut self) {
        let mut steps = Vec::new();
        for _ in 0..self.setup.pairs {
            let mark = self.mark();
            let one = |why| Try {
                mark,
                content: Content::Usual,
                second: false,
                why,
            };
            steps.push(Step::Send(vec![
                one("one of two at once"),
                one("the other of two at once"),
            ]));
            steps.extend(self.follow(mark));
            steps.extend(self.look(mark, Wanted::Present));
        }
        if steps.is_empty() {
            return self.skip(Experiment::ConcurrentPair, "no pairs are wanted");
        }
        self.add(Experiment::ConcurrentPair, steps);
    }

    fn refusal(&mut self, experiment: Experiment) {
        let (content, given, missing) = if experiment == Experiment::Refusal {
            let missing = "no content is known that is refused; give --refused-payload";
            (Content::Refused, self.setup.refused.is_some(), missing)
        } else {
            let missing = "no content is known at which it fails; give --failing-payload";
            (Content::Failing, self.setup.failing.is_some(), missing)
        };
        if !given {
            return self.skip(experiment, missing);
        }
        let mark = self.mark();
        let steps = vec![
            Self::send(mark, content, "content that is not carried out"),
            Self::send(mark, content, "the same once more"),
            Self::send(mark, Content::Usual, "content that is fine, under that key"),
        ];
        self.add(experiment, steps);
    }

    fn second_credential(&mut self) {
        let experiment = Experiment::SecondCredential;
        let Some(_) = self.setup.second else {
            let why = "there is no second credential; give --second-credential";
            return self.skip(experiment, why);
        };
        let mark = self.mark();
        let mut steps = vec![Self::send(mark, Content::Usual, "by the first credential")];
        steps.extend(self.follow(mark));
        steps.push(Step::Send(vec![Try {
            mark,
            content: Content::Usual,
            second: true,
            why: "the same under the same key, by the second credential",
        }]));
        self.add(experiment, steps);
    }

    fn lookup_lag(&mut self) {
        let mut steps = Vec::new();
        for _ in 0..self.setup.samples.max(1) {
            let mark = self.mark();
            steps.push(Self::send(
                mark,
                Content::Usual,
                "its way into the lookup is timed",
            ));
            steps.extend(self.follow(mark));
            steps.extend(self.look(mark, Wanted::Present));
        }
        self.add(Experiment::LookupLag, steps);
    }

    fn cancel(&mut self) {
        let mark = self.mark();
        let mut steps = vec![
            Self::send(mark, Content::Usual, "is withdrawn afterwards"),
            Step::Cancel { mark },
        ];
        steps.extend(self.follow(mark));
        steps.extend(self.look(mark, Wanted::Nothing));
        let refuses = self.contract.cancel.as_ref();
        if refuses.is_some_and(|cancel| cancel.refuses_later_arrivals) {
            let why = "the same once more, after it was withdrawn";
            steps.push(Self::send(mark, Content::Usual, why));
        }
        self.add(Experiment::CancelByKey, steps);
    }

    fn inside_window(&mut self, repeat: &Repeat) {
        let experiment = Experiment::InsideWindow;
        let ahead = self.setup.moves_clock;
        let by_clock = match repeat.retention {
            // Well inside, and late enough for most windows that are shorter than they should be.
            Retention::Floor(floor) | Retention::AssumedFloor(floor) => floor.fraction(95, 100),
            Retention::Approximate(about) => about.fraction(1, 2),
            Retention::Unbounded => LONG,
            Retention::Unpublished => Span::ZERO,
        };
        let wait = match self.setup.wait {
            Some(wait) => wait,
            None if ahead && by_clock > Span::ZERO => by_clock,
            None => {
                let why = "nothing is waited for; give --wait, or --advance-url where its clock can be moved";
                return self.skip(experiment, why);
            }
        };
        let mark = self.mark();
        let mut steps = vec![Self::send(mark, Content::Usual, "begins the window")];
        steps.extend(self.follow(mark));
        steps.push(Step::Wait(wait));
        steps.push(Self::send(mark, Content::Usual, "the same after the wait"));
        self.add(experiment, steps);
    }

    fn after_window(&mut self, repeat: &Repeat) {
        let (Retention::Floor(floor), true) = (repeat.retention, self.setup.moves_clock) else {
            return;
        };
        if repeat.after == After::Unstated {
            return;
        }
        let mark = self.mark();
        let mut steps = vec![Self::send(mark, Content::Usual, "begins the window")];
        steps.extend(self.follow(mark));
        steps.push(Step::Wait(floor + floor.fraction(1, 10)));
        steps.push(Self::send(
            mark,
            Content::Usual,
            "the same after its window",
        ));
        self.add(Experiment::AfterWindow, steps);
    }
}

/// Stands for a word that differs from key to key.
pub(super) const UNIQUE: &str = "{unique}";

fn holds(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

/// Content for a probe, from a contract's examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeContent {
    /// The submission's parameters.
    pub params: Map<String, Value>,
    /// What is sent; none where no example shows it.
    pub payload: Option<Vec<u8>>,
    /// Other content of the same shape.
    pub other: Option<Vec<u8>>,
    /// Content that an example shows to be refused.
    pub refused: Option<Vec<u8>>,
}

impl Contract {
    /// What its examples give for a probe. Other content is made of the first by changing one value where no example has it.
    #[must_use]
    pub fn probe_content(&self) -> ProbeContent {
        let all: Vec<_> = self.example_submissions().collect();
        let builds = |params: &Map<String, Value>, payload: &[u8]| {
            let input = EffectInput {
                params,
                payload,
                key: Some("probe"),
                reference: "probe",
            };
            let at = factum_core::Timestamp::from_micros(0);
            self.effect_request_recorded_at(&input, at).is_ok()
        };
        let fine = |means: Option<&str>| !matches!(means, Some("rejected" | "declined"));
        let first = all
            .iter()
            .find(|(params, payload, means)| fine(*means) && builds(params, payload.as_bytes()));
        let Some((params, payload, _)) = first else {
            return ProbeContent::default();
        };
        let beside = |wanted: bool| {
            let found = all.iter().find(|(given, text, means)| {
                fine(*means) == wanted
                    && given == params
                    && text != payload
                    && builds(given, text.as_bytes())
            });
            found.map(|(_, text, _)| text.as_bytes().to_vec())
        };
        ProbeContent {
            params: (*params).clone(),
            payload: Some(payload.as_bytes().to_vec()),
            other: beside(true).or_else(|| changed(payload.as_bytes())),
            refused: beside(false),
        }
    }
}

/// The same content with one value changed: a text of several words, else a number, else any text.
#[must_use]
pub fn changed(payload: &[u8]) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(payload).ok()?;
    let several = |value: &Value| value.as_str().is_some_and(|text| text.contains(' '));
    let tests: [&dyn Fn(&Value) -> bool; 3] = [&several, &Value::is_number, &Value::is_string];
    let done = tests.iter().any(|wanted| change(&mut document, *wanted));
    done.then(|| document.to_string().into_bytes())
}

fn change(value: &mut Value, wanted: &dyn Fn(&Value) -> bool) -> bool {
    if wanted(value) {
        *value = match &*value {
            Value::Number(number) => match number.as_i64() {
                Some(number) => Value::from(number.saturating_add(1)),
                None => return false,
            },
            Value::String(text) => Value::from(format!("{text} 2")),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return false,
        };
        return true;
    }
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, wanted)),
        Value::Object(members) => members.values_mut().any(|member| change(member, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

impl Second {
    /// For people and for reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SameAccount => "same_account",
            Self::OtherAccount => "other_account",
        }
    }
}
