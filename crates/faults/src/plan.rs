//! A plan: seed and rules. The draws: a plan with its counters.
//!
//! The rules are read top to bottom, the first that fires decides. Counters live in [`Draws`], so that a plan can be
//! shared and printed; nothing here reads a clock.

use std::collections::BTreeMap;
use std::fmt;

use crate::chance::Chance;
use crate::fault::Fault;
use crate::loss::{self, Durations};
use crate::parse::{self, RuleError};

/// What a request is about. Part of the name of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A new connection, before anything is read.
    Connection,
    /// A request that wants an effect.
    Effect,
    /// A search for an effect.
    Lookup,
    /// A question after a queued job.
    Poll,
    /// A cancel by key.
    Cancel,
    /// A report that follows an effect.
    Callback,
    /// Anything else.
    Other,
}

impl Class {
    /// Every class, in the order of the documentation.
    pub const ALL: &[Class] = &[
        Class::Connection,
        Class::Effect,
        Class::Lookup,
        Class::Poll,
        Class::Cancel,
        Class::Callback,
        Class::Other,
    ];

    /// The word for this class in rules.
    pub fn name(self) -> &'static str {
        match self {
            Class::Connection => "connection",
            Class::Effect => "effect",
            Class::Lookup => "lookup",
            Class::Poll => "poll",
            Class::Cancel => "cancel",
            Class::Callback => "callback",
            Class::Other => "other",
        }
    }
}

/// What a rule can see of a request. For [`Class::Connection`] method, path and reference are empty.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What the request is about.
    pub class: Class,
    /// The method in capitals.
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The stable text that names the request: its business reference.
    pub reference: &'a str,
}

impl Request<'_> {
    /// A new connection.
    pub const CONNECTION: Request<'static> = Request {
        class: Class::Connection,
        method: "",
        path: "",
        reference: "",
    };

    fn stream(&self) -> String {
        format!("{}/{}", self.class.name(), self.reference)
    }
}

/// What a rule brings about when it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brings {
    One(Fault),
    Loss(Durations),
}

/// One rule. The counts are of the requests that reach the rule and match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) brings: Brings,
    pub(crate) numbers: Option<(u64, u64)>,
    pub(crate) every: Option<u64>,
    pub(crate) probability: Option<u32>,
    pub(crate) times: Option<u64>,
    pub(crate) per_reference: bool,
    pub(crate) class: Option<Class>,
    pub(crate) method: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) reference: Option<String>,
}

impl Rule {
    /// Whether the rule is decided once per connection, before a request is read.
    fn at_connection(&self) -> bool {
        match self.brings {
            Brings::One(fault) => {
                fault.precedes_reading()
                    && matches!(self.class, None | Some(Class::Connection))
                    && self.method.is_none()
                    && self.path.is_none()
                    && self.reference.is_none()
            }
            Brings::Loss(_) => false,
        }
    }

    fn matches(&self, request: &Request<'_>) -> bool {
        let of_this_moment = match (self.brings, request.class) {
            (Brings::Loss(_), _) => true,
            (Brings::One(_), Class::Connection) => self.at_connection(),
            (Brings::One(fault), Class::Callback) => {
                fault.is_of_callback() || self.class == Some(Class::Callback)
            }
            (Brings::One(fault), _) => !fault.is_of_callback() && !self.at_connection(),
        };
        of_this_moment
            && self.class.is_none_or(|class| class == request.class)
            && self.method.as_deref().is_none_or(|m| m == request.method)
            && self
                .path
                .as_deref()
                .is_none_or(|p| request.path.starts_with(p))
            && self
                .reference
                .as_deref()
                .is_none_or(|r| r == request.reference)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    seen: u64,
    fired: u64,
}

/// A seed and rules. Immutable; [`Draws`] holds what changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlan {
    seed: u64,
    rules: Vec<Rule>,
    text: String,
}

impl FaultPlan {
    /// A plan without faults.
    pub fn none() -> FaultPlan {
        FaultPlan {
            seed: 0,
            rules: Vec::new(),
            text: String::new(),
        }
    }

    /// The documented mix of lost answers with the probability `p` (0 to 1, cut to that range; six decimals count).
    /// See the grammar's `loss` for its shares.
    pub fn loss(seed: u64, p: f64) -> FaultPlan {
        let millionths = parse::millionths(p.clamp(0.0, 1.0));
        FaultPlan {
            seed,
            rules: vec![Rule {
                brings: Brings::Loss(Durations::DEFAULT),
                numbers: None,
                every: None,
                probability: Some(millionths),
                times: None,
                per_reference: false,
                class: None,
                method: None,
                path: None,
                reference: None,
            }],
            text: format!("loss,p={}", f64::from(millionths) / 1e6),
        }
    }

    /// Reads rules. Rules are separated by `;` or line ends, members by `,`; white space around them does not count.
    ///
    /// ```text
    /// rules  = [rule *((";" / newline) rule)]
    /// rule   = fault ["=" parameter] *("," member "=" value)
    /// fault  = a name of Fault, or "loss" (the documented mix of lost answers)
    ///
    /// parameter   late_answer, hang_in_accept, delayed_commit, callback_late, callback_before_answer: milliseconds
    ///             status: 500 502 503 504      redirect: 301 302 303 307 308
    ///             busy_before: 503 429         reject_4xx: 422 400 403 404
    ///
    /// n=3 n=2-4       only number 3, or numbers 2 to 4, of the requests that match
    /// every=5         each fifth of the requests that match
    /// p=0.3           with this probability, drawn from (seed, rule, stream, n)
    /// times=2         fire at most this often
    /// per=reference   n, every and times count for each reference by itself
    /// class=lookup    connection, effect, lookup, poll, cancel, callback, other
    /// method=POST     only this method
    /// path=/key/      only paths that begin so
    /// ref=order-7     only this business reference
    /// late=, hang=, delay=   milliseconds, for loss only
    /// ```
    ///
    /// The first rule that fires decides, so `none,ref=order-7` at the top spares that reference; a rule counts the requests that match it and that no earlier rule took.
    /// `refuse`, `close_unread` and `hang_in_accept` are decided per connection, before anything is read, unless the
    /// rule names a class, method, path or reference.
    ///
    /// # Errors
    /// The first mistake, with the rule's number, the member and a remedy.
    ///
    /// ```
    /// let plan = factum_faults::FaultPlan::parse(7, "status=503,n=1,method=POST,path=/key/; close_fin,p=0.3")?;
    /// assert_eq!(plan.to_string(), "status=503,n=1,method=POST,path=/key/; close_fin,p=0.3");
    /// # Ok::<(), factum_faults::RuleError>(())
    /// ```
    pub fn parse(seed: u64, text: &str) -> Result<FaultPlan, RuleError> {
        let (rules, texts) = parse::rules(text)?;
        Ok(FaultPlan {
            seed,
            rules,
            text: texts.join("; "),
        })
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether no request can be hit.
    pub fn is_none(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether some rule is about what becomes of reports.
    pub fn is_of_reports(&self) -> bool {
        self.rules.iter().any(|rule| {
            let of_callback = match rule.brings {
                Brings::One(fault) => fault.is_of_callback(),
                Brings::Loss(_) => false,
            };
            of_callback || rule.class == Some(Class::Callback)
        })
    }

    /// Whether the rule number `index` fires for the `n`-th request of its stream. Pure; `tally` is the rule's count
    /// with this request included.
    fn fires(&self, index: usize, request: &Request<'_>, n: u64, tally: Tally) -> Option<Fault> {
        let rule = &self.rules[index];
        let in_range = rule
            .numbers
            .is_none_or(|(low, high)| (low..=high).contains(&tally.seen));
        let in_step = rule
            .every
            .is_none_or(|step| tally.seen.is_multiple_of(step));
        let left = rule.times.is_none_or(|times| tally.fired < times);
        if !(in_range && in_step && left) {
            return None;
        }
        let mut chance = Chance::new(self.seed, &format!("{index}/{}", request.stream()), n);
        let probability = rule.probability.unwrap_or(1_000_000);
        match rule.brings {
            Brings::One(fault) => chance.hits(probability).then_some(fault),
            Brings::Loss(durations) => {
                let hit = chance.hits(loss::probability(request.class, probability));
                hit.then(|| loss::pick(request.class, durations, &mut chance))
            }
        }
    }
}

/// The rules as text, `; ` between them.
impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A plan at work: it counts what it has seen.
///
/// Which requests of a stream are hit by a rule with `p` alone depends on nothing but the seed, the rule and the
/// stream. `n`, `every` and `times` count over all streams in the order of arrival, unless the rule says
/// `per=reference` or names one with `ref`.
#[derive(Debug, Clone)]
pub struct Draws {
    plan: FaultPlan,
    streams: BTreeMap<String, u64>,
    tallies: BTreeMap<(usize, String), Tally>,
}

impl Draws {
    /// A plan that has seen nothing yet.
    pub fn new(plan: FaultPlan) -> Draws {
        Draws {
            plan,
            streams: BTreeMap::new(),
            tallies: BTreeMap::new(),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &FaultPlan {
        &self.plan
    }

    /// The fault for this request, and one more on the counters.
    pub fn draw(&mut self, request: &Request<'_>) -> Fault {
        if self.plan.is_none() {
            return Fault::None;
        }
        let n = self.streams.entry(request.stream()).or_default();
        *n += 1;
        let n = *n;
        for index in 0..self.plan.rules.len() {
            let rule = &self.plan.rules[index];
            if !rule.matches(request) {
                continue;
            }
            let counted_by = if rule.per_reference {
                request.stream()
            } else {
                String::new()
            };
            let tally = self.tallies.entry((index, counted_by)).or_default();
            tally.seen += 1;
            if let Some(fault) = self.plan.fires(index, request, n, *tally) {
                tally.fired += 1;
                return fault;
            }
        }
        Fault::None
    }

    /// How many requests each rule has matched and how often it fired, in the order of the rules.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.plan.rules.len()];
        for ((index, _), tally) in &self.tallies {
            counts[*index].0 += tally.seen;
            counts[*index].1 += tally.fired;
        }
        counts
    }
}
