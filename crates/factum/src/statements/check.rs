//! What a message file has to keep: known names, known variables, and no claim that the evidence would not support.
//!
//! Each message is read in every way that its variants allow, so that no rare one claims more than the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use factum_core::statement::StatementKey;
use fluent_bundle::FluentResource;
use fluent_syntax::ast::{Entry, Expression, InlineExpression, Message, Pattern, PatternElement};

use super::Audience;
use super::book;
use super::claims::Claims;
use super::locale::Locale;

/// Readings of one message at the most: more variants than that are not read one by one.
const READINGS_MAX: usize = 64;

/// What stands for a variable while a message is read.
const STAND_IN: &str = "X";

/// What is wrong at one place of a message file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which file.
    pub file: String,
    /// Which line, from 1.
    pub line: usize,
    /// The rule that is broken.
    pub rule: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            rule,
            remedy,
        } = self;
        write!(f, "{file}:{line}: {rule}; {remedy}")
    }
}

/// What a message may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    /// What its state supports.
    Say(StatementKey),
    /// Anything: it is what may not be said.
    Anything,
    /// Nothing of its own: it frames other words.
    Nothing,
}

impl May {
    fn of(name: &str) -> Self {
        let bare = name.strip_suffix("-reference");
        let bare = bare.or_else(|| name.strip_suffix("-because"));
        let key = StatementKey::from_name(bare.unwrap_or(name));
        match key {
            Some(key) => Self::Say(key),
            None if name.starts_with("never-") => Self::Anything,
            // What was approved may be on its way; of all other proposals it is known that nothing was sent.
            None if name == "proposal-approved" => Self::Nothing,
            None if name.starts_with("proposal-") => Self::Say(StatementKey::Recorded),
            None => Self::Nothing,
        }
    }

    fn claim_done(self) -> bool {
        match self {
            Self::Say(key) => key.claims_done(),
            Self::Anything => true,
            Self::Nothing => false,
        }
    }

    fn claim_not_done(self) -> bool {
        match self {
            // What was undone may be called that.
            Self::Say(StatementKey::DoneAndReversed) => true,
            Self::Say(key) => key.claims_not_done(),
            Self::Anything => true,
            Self::Nothing => false,
        }
    }
}

/// The variables of each message, by its name; those of all its readers together.
pub(super) type Variables = BTreeMap<String, BTreeSet<String>>;

/// The messages that come with the program, and their variables.
pub(super) fn known() -> Variables {
    let resource = FluentResource::try_new(book::text(Locale::English).to_owned());
    let resource = resource.unwrap_or_else(|(resource, _)| resource);
    let messages = resource.entries().filter_map(|entry| match entry {
        Entry::Message(message) => Some(message),
        Entry::Term(_)
        | Entry::Comment(_)
        | Entry::GroupComment(_)
        | Entry::ResourceComment(_)
        | Entry::Junk { .. } => None,
    });
    messages
        .map(|message| {
            let mut variables = BTreeSet::new();
            for (_, pattern) in parts(message) {
                variables_of(pattern, &mut variables);
            }
            (message.id.name.to_owned(), variables)
        })
        .collect()
}

/// Reads a message file of a locale.
pub(super) fn read(
    file: &str,
    text: &str,
    locale: Locale,
    known: &Variables,
) -> Result<FluentResource, Vec<Finding>> {
    let at = |line, rule: String, remedy: &str| Finding {
        file: file.to_owned(),
        line,
        rule,
        remedy: remedy.to_owned(),
    };
    let resource = FluentResource::try_new(text.to_owned()).map_err(|(_, errors)| {
        let finding = |error: &fluent_syntax::parser::ParserError| {
            let line = 1 + text[..error.pos.start.min(text.len())]
                .matches('\n')
                .count();
            at(
                line,
                error.kind.to_string(),
                "write it as Fluent does: https://projectfluent.org",
            )
        };
        errors.iter().map(finding).collect::<Vec<_>>()
    })?;
    let claims = Claims::of(locale);
    let mut findings = Vec::new();
    for entry in resource.entries() {
        let message = match entry {
            Entry::Message(message) => message,
            Entry::Term(term) => {
                let line = line_of(text, &format!("-{}", term.id.name), None);
                let rule = format!("the term -{} is not looked at", term.id.name);
                findings.push(at(line, rule, "write its words where they are said"));
                continue;
            }
            Entry::Comment(_)
            | Entry::GroupComment(_)
            | Entry::ResourceComment(_)
            | Entry::Junk { .. } => continue,
        };
        for (attribute, problem) in wrong(message, known, &claims) {
            let line = line_of(text, message.id.name, attribute);
            findings.push(at(line, problem.rule, &problem.remedy));
        }
    }
    if findings.is_empty() {
        Ok(resource)
    } else {
        Err(findings)
    }
}

struct Wrong {
    rule: String,
    remedy: String,
}

/// What is wrong with a message, and in which attribute.
fn wrong<'a>(
    message: &'a Message<&'a str>,
    known: &Variables,
    claims: &Claims,
) -> Vec<(Option<&'a str>, Wrong)> {
    let name = message.id.name;
    let Some(allowed) = known.get(name) else {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let rule = format!("no message is called {name}");
        let remedy = format!("use one of: {}", names.join(", "));
        return vec![(None, Wrong { rule, remedy })];
    };
    let mut found = Vec::new();
    for (attribute, pattern) in parts(message) {
        if let Some(attribute) = attribute
            && Audience::ALL
                .iter()
                .all(|a| a.attribute() != Some(attribute))
        {
            let rule = format!("{name} is worded for no reader .{attribute}");
            let remedy =
                "use .agent or .operator; the message itself is for the customer".to_owned();
            found.push((Some(attribute), Wrong { rule, remedy }));
            continue;
        }
        let problem =
            wrong_form(name, pattern, allowed).or_else(|| wrong_claim(name, pattern, claims));
        found.extend(problem.map(|problem| (attribute, problem)));
    }
    found
}

fn wrong_form(name: &str, pattern: &Pattern<&str>, allowed: &BTreeSet<String>) -> Option<Wrong> {
    if !is_plain(pattern) {
        let rule = format!("{name} refers to a function, a term or another message");
        let remedy = "write it with texts, variables and their variants alone".to_owned();
        return Some(Wrong { rule, remedy });
    }
    let mut used = BTreeSet::new();
    variables_of(pattern, &mut used);
    let strange = used.difference(allowed).next()?;
    let names: Vec<String> = allowed.iter().map(|name| format!("${name}")).collect();
    let rule = format!("{name} has no variable ${strange}");
    let remedy = match names.as_slice() {
        [] => "it has none".to_owned(),
        names => format!("use {}", names.join(", ")),
    };
    Some(Wrong { rule, remedy })
}

fn wrong_claim(name: &str, pattern: &Pattern<&str>, claims: &Claims) -> Option<Wrong> {
    let may = May::of(name);
    readings(pattern).iter().find_map(|reading| {
        let claimed = claims.made_by(reading);
        let (words, what) = match (claimed.done, claimed.not_done) {
            (Some(words), _) if !may.claim_done() => (words, "that something was done"),
            (_, Some(words)) if !may.claim_not_done() => (words, "that nothing was done"),
            _ => return None,
        };
        let rule = format!("{name} claims {what} ({words:?}), which its state does not support");
        let remedy = "say only what is known: see docs/conversations.md".to_owned();
        Some(Wrong { rule, remedy })
    })
}

/// The message itself, and its attributes with their names.
fn parts<'a>(
    message: &'a Message<&'a str>,
) -> impl Iterator<Item = (Option<&'a str>, &'a Pattern<&'a str>)> {
    let value = message.value.iter().map(|pattern| (None, pattern));
    let attributes = message.attributes.iter();
    value.chain(attributes.map(|attribute| (Some(attribute.id.name), &attribute.value)))
}

/// The variables of each part of a message.
#[cfg(test)]
pub(super) fn variables_by_part<'a>(
    message: &'a Message<&'a str>,
) -> impl Iterator<Item = (Option<&'a str>, BTreeSet<String>)> {
    parts(message).map(|(attribute, pattern)| {
        let mut variables = BTreeSet::new();
        variables_of(pattern, &mut variables);
        (attribute, variables)
    })
}

fn is_plain(pattern: &Pattern<&str>) -> bool {
    let inline = |expression: &InlineExpression<&str>| {
        matches!(
            expression,
            InlineExpression::StringLiteral { .. }
                | InlineExpression::NumberLiteral { .. }
                | InlineExpression::VariableReference { .. }
        )
    };
    pattern.elements.iter().all(|element| match element {
        PatternElement::TextElement { .. } => true,
        PatternElement::Placeable { expression } => match expression {
            Expression::Inline(expression) => inline(expression),
            Expression::Select { selector, variants } => {
                inline(selector) && variants.iter().all(|variant| is_plain(&variant.value))
            }
        },
    })
}

fn variables_of(pattern: &Pattern<&str>, found: &mut BTreeSet<String>) {
    let mut note = |expression: &InlineExpression<&str>| {
        if let InlineExpression::VariableReference { id } = expression {
            found.insert(id.name.to_owned());
        }
    };
    let mut inner = Vec::new();
    for element in &pattern.elements {
        if let PatternElement::Placeable { expression } = element {
            match expression {
                Expression::Inline(expression) => note(expression),
                Expression::Select { selector, variants } => {
                    note(selector);
                    inner.extend(variants.iter().map(|variant| &variant.value));
                }
            }
        }
    }
    for pattern in inner {
        variables_of(pattern, found);
    }
}

/// Everything that a plain message can come to say.
fn readings(pattern: &Pattern<&str>) -> Vec<String> {
    let mut readings = vec![String::new()];
    for element in &pattern.elements {
        let next: Vec<String> = match element {
            PatternElement::TextElement { value } => vec![(*value).to_owned()],
            PatternElement::Placeable { expression } => match expression {
                Expression::Inline(InlineExpression::StringLiteral { value }) => {
                    vec![(*value).to_owned()]
                }
                Expression::Inline(_) => vec![STAND_IN.to_owned()],
                Expression::Select { variants, .. } => {
                    let variants = variants.iter();
                    variants.flat_map(|variant| readings_of(variant)).collect()
                }
            },
        };
        readings = readings
            .iter()
            .flat_map(|so_far| next.iter().map(move |next| format!("{so_far}{next}")))
            .take(READINGS_MAX)
            .collect();
    }
    readings
}

fn readings_of(variant: &fluent_syntax::ast::Variant<&str>) -> Vec<String> {
    readings(&variant.value)
}

/// Where a message, or an attribute of it, stands in its file.
fn line_of(text: &str, name: &str, attribute: Option<&str>) -> usize {
    let begins = |line: &str, name: &str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let mut lines = text.lines().enumerate();
    let message = lines.find(|(_, line)| begins(line, name));
    let found = match attribute {
        None => message,
        Some(attribute) => {
            lines.find(|(_, line)| begins(line.trim_start(), &format!(".{attribute}")))
        }
    };
    found.map_or(1, |(index, _)| index + 1)
}
