//! The text of rules, and what to say when it is wrong.
//!
//! The grammar stands at [`FaultPlan::parse`](crate::FaultPlan::parse). Nothing is guessed: an unknown name, a member
//! that does not fit and a value out of range are errors.

use std::fmt;

use crate::fault::{Fault, Parameter};
use crate::loss::Durations;
use crate::plan::{Brings, Class, Rule};

/// A mistake in the text of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The rule's number, from 1.
    pub number: usize,
    /// The rule as written.
    pub rule: String,
    /// The member that is wrong; the fault's own name where the first part is wrong.
    pub member: String,
    /// What is wrong with it.
    pub wrong: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleError {
            number,
            rule,
            member,
            wrong,
            remedy,
        } = self;
        write!(
            f,
            "fault rule {number} ({rule}): {member}: {wrong}; {remedy}"
        )
    }
}

impl std::error::Error for RuleError {}

/// What is wrong with one member: the mistake and its remedy. The rule is added by the caller.
struct Mistake {
    member: String,
    wrong: String,
    remedy: String,
}

fn mistake(member: &str, wrong: impl Into<String>, remedy: impl Into<String>) -> Mistake {
    Mistake {
        member: member.to_owned(),
        wrong: wrong.into(),
        remedy: remedy.into(),
    }
}

/// All rules of a text, each with its own text in canonical spacing.
pub(crate) fn rules(text: &str) -> Result<(Vec<Rule>, Vec<String>), RuleError> {
    let mut rules = Vec::new();
    let mut texts = Vec::new();
    let written = text
        .split([';', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty());
    for (index, part) in written.enumerate() {
        let rule = rule(part).map_err(|found| RuleError {
            number: index + 1,
            rule: part.to_owned(),
            member: found.member,
            wrong: found.wrong,
            remedy: found.remedy,
        })?;
        rules.push(rule);
        let members: Vec<_> = part.split(',').map(str::trim).collect();
        texts.push(members.join(","));
    }
    Ok((rules, texts))
}

fn rule(text: &str) -> Result<Rule, Mistake> {
    let mut parts = text.split(',').map(str::trim);
    let mut rule = Rule {
        brings: brings(parts.next().unwrap_or_default())?,
        numbers: None,
        every: None,
        probability: None,
        times: None,
        per_reference: false,
        class: None,
        method: None,
        path: None,
        reference: None,
    };
    let mut given: Vec<&str> = Vec::new();
    for part in parts {
        let Some((name, value)) = part.split_once('=') else {
            return Err(mistake(part, "has no value", "write member=value"));
        };
        let (name, value) = (name.trim(), value.trim());
        if given.contains(&name) {
            return Err(mistake(name, "is given twice", "keep one of them"));
        }
        given.push(name);
        member(&mut rule, name, value)?;
    }
    if let (Brings::Loss(_), None) = (rule.brings, rule.probability) {
        return Err(mistake(
            "loss",
            "has no probability",
            "add p=0.3 or another number from 0 to 1",
        ));
    }
    fits(&rule)?;
    Ok(rule)
}

fn brings(text: &str) -> Result<Brings, Mistake> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text, None),
    };
    if name == "loss" {
        return match value {
            None => Ok(Brings::Loss(Durations::DEFAULT)),
            Some(_) => Err(mistake("loss", "takes no parameter", "write loss,p=0.3")),
        };
    }
    let Some(fault) = Fault::from_name(name) else {
        let names: Vec<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        let remedy = format!("use one of loss, {}", names.join(", "));
        return Err(mistake(name, "is no fault", remedy));
    };
    let Some(value) = value else {
        return Ok(Brings::One(fault));
    };
    match fault.parameter() {
        Parameter::Absent => Err(mistake(
            name,
            "takes no parameter",
            format!("write {name} alone"),
        )),
        Parameter::Milliseconds => Ok(Brings::One(fault.with_ms(milliseconds(name, value)?))),
        Parameter::Code(codes) => match value.parse::<u16>() {
            Ok(code) if codes.contains(&code) => Ok(Brings::One(fault.with_code(code))),
            _ => {
                let codes: Vec<_> = codes.iter().map(u16::to_string).collect();
                let remedy = format!("use one of {}", codes.join(", "));
                Err(mistake(name, format!("cannot answer {value:?}"), remedy))
            }
        },
    }
}

fn member(rule: &mut Rule, name: &str, value: &str) -> Result<(), Mistake> {
    if value.is_empty() {
        return Err(mistake(name, "is empty", "give it a value or leave it out"));
    }
    match name {
        "n" => rule.numbers = Some(numbers(value)?),
        "every" => rule.every = Some(positive(name, value)?),
        "times" => rule.times = Some(positive(name, value)?),
        "p" => rule.probability = Some(probability(value)?),
        "per" if value == "reference" => rule.per_reference = true,
        "per" => {
            return Err(mistake(
                name,
                format!("cannot be {value:?}"),
                "write per=reference",
            ));
        }
        "class" => rule.class = Some(class(value)?),
        "method" if value.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            rule.method = Some(value.to_owned());
        }
        "method" => {
            return Err(mistake(
                name,
                "is not in capitals",
                "write POST, PUT or GET",
            ));
        }
        "path" if value.starts_with('/') => rule.path = Some(value.to_owned()),
        "path" => return Err(mistake(name, "does not begin with /", "write path=/key/")),
        "ref" => rule.reference = Some(value.to_owned()),
        "late" | "hang" | "delay" => duration(rule, name, value)?,
        _ => {
            let remedy = "use n, every, p, times, per, class, method, path or ref";
            return Err(mistake(name, "is no member of a rule", remedy));
        }
    }
    Ok(())
}

fn duration(rule: &mut Rule, name: &str, value: &str) -> Result<(), Mistake> {
    let Brings::Loss(durations) = &mut rule.brings else {
        let remedy = "give the fault its own parameter, such as late_answer=800";
        return Err(mistake(name, "is for loss only", remedy));
    };
    let ms = milliseconds(name, value)?;
    match name {
        "late" => durations.late = ms,
        "hang" => durations.hang = ms,
        _ => durations.delay = ms,
    }
    Ok(())
}

/// A connection has neither method, path nor reference, so a rule that asks for them there could never fire.
fn fits(rule: &Rule) -> Result<(), Mistake> {
    if let (Brings::One(fault), Some(class)) = (rule.brings, rule.class) {
        let wrong = match (fault.is_of_callback(), class == Class::Callback) {
            (true, false) => Some(format!("{} happens to reports", fault.name())),
            (false, true) => Some(format!("{} happens to requests", fault.name())),
            (_, _) => None,
        };
        if let (Some(wrong), true) = (wrong, fault != Fault::None) {
            let remedy = "leave the class out, or name another fault";
            return Err(mistake("class", wrong, remedy));
        }
    }
    if rule.class != Some(Class::Connection) {
        return Ok(());
    }
    if rule.method.is_some() || rule.path.is_some() || rule.reference.is_some() {
        let remedy = "leave method, path and ref out, or name another class";
        return Err(mistake(
            "class",
            "a connection has no method, path or reference",
            remedy,
        ));
    }
    match rule.brings {
        Brings::One(fault) if !fault.precedes_reading() => {
            let remedy = "use refuse, close_unread or hang_in_accept, or name another class";
            Err(mistake(
                "class",
                format!("{} needs a request", fault.name()),
                remedy,
            ))
        }
        Brings::One(_) | Brings::Loss(_) => Ok(()),
    }
}

fn numbers(value: &str) -> Result<(u64, u64), Mistake> {
    let (low, high) = value.split_once('-').unwrap_or((value, value));
    match (low.trim().parse(), high.trim().parse()) {
        (Ok(low), Ok(high)) if 1 <= low && low <= high => Ok((low, high)),
        _ => Err(mistake(
            "n",
            format!("cannot be {value:?}"),
            "write n=1 or n=2-4, counted from 1",
        )),
    }
}

fn positive(name: &str, value: &str) -> Result<u64, Mistake> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(mistake(
            name,
            format!("cannot be {value:?}"),
            "write a whole number from 1",
        )),
    }
}

/// An hour bounds every wait, so that a slip of the finger does not hold a connection for a week.
const MILLISECONDS_MAX: u64 = 3_600_000;

fn milliseconds(name: &str, value: &str) -> Result<u64, Mistake> {
    match value.parse() {
        Ok(number) if number <= MILLISECONDS_MAX => Ok(number),
        _ => Err(mistake(
            name,
            format!("cannot last {value:?}"),
            format!("write whole milliseconds up to {MILLISECONDS_MAX}"),
        )),
    }
}

fn probability(value: &str) -> Result<u32, Mistake> {
    match value.parse::<f64>() {
        Ok(p) if (0.0..=1.0).contains(&p) => Ok(millionths(p)),
        _ => Err(mistake(
            "p",
            format!("cannot be {value:?}"),
            "write a number from 0 to 1",
        )),
    }
}

/// A probability from 0 to 1 in whole millionths.
pub(crate) fn millionths(p: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "callers hold p within 0 to 1, so the product fits"
    )]
    let whole = (p * 1e6).round() as u32;
    whole
}

fn class(value: &str) -> Result<Class, Mistake> {
    let found = Class::ALL
        .iter()
        .copied()
        .find(|class| class.name() == value);
    found.ok_or_else(|| {
        let names: Vec<_> = Class::ALL.iter().map(|class| class.name()).collect();
        let remedy = format!("use one of {}", names.join(", "));
        mistake("class", format!("cannot be {value:?}"), remedy)
    })
}
