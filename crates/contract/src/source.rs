//! The TOML text as a tree that knows its places: every complaint about a member carries its path and its position.
//!
//! Reading goes on after a complaint, so that one pass shows everything that is wrong. Members that nobody asked for are
//! complaints too. Nothing here knows what a contract is.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::examples::Spot;
use crate::finding::{Complaint, Finding, Severity};

/// One file, and what is wrong with it so far.
#[derive(Debug)]
pub(crate) struct Report<'t> {
    file: &'t str,
    text: &'t str,
    findings: RefCell<Vec<Finding>>,
}

/// A value at its path.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    report: &'a Report<'a>,
    value: &'a DeValue<'a>,
    span: Range<usize>,
    path: String,
}

/// A table at its path, which knows what was asked of it.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    report: &'a Report<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    path: String,
    asked: RefCell<BTreeSet<&'static str>>,
}

/// Something of which the text has one of a few fixed words.
pub(crate) trait Word: Copy + 'static {
    /// The words and what they stand for.
    const WORDS: &'static [(&'static str, Self)];
}

impl<'t> Report<'t> {
    pub(crate) fn new(file: &'t str, text: &'t str) -> Self {
        Self {
            file,
            text,
            findings: RefCell::new(Vec::new()),
        }
    }

    /// The tree of the text, or the complaint about its syntax.
    pub(crate) fn tree(&self) -> Option<Spanned<DeTable<'t>>> {
        match DeTable::parse(self.text) {
            Ok(tree) => Some(tree),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let remedy = "correct the TOML at this place";
                let complaint = Complaint::error("syntax", error.message(), remedy);
                self.add(span, String::new(), complaint);
                None
            }
        }
    }

    pub(crate) fn root<'a>(&'a self, tree: &'a Spanned<DeTable<'a>>) -> Section<'a> {
        Section {
            report: self,
            table: tree.get_ref(),
            span: 0..0,
            path: String::new(),
            asked: RefCell::default(),
        }
    }

    pub(crate) fn add(&self, span: Range<usize>, member: String, complaint: Complaint) {
        let finding = Finding::at(self.file, self.text, span, member, complaint);
        self.findings.borrow_mut().push(finding);
    }

    pub(crate) fn failed(&self) -> bool {
        let findings = self.findings.borrow();
        findings.iter().any(|f| f.severity == Severity::Error)
    }

    /// Everything found, in the order of the text.
    pub(crate) fn into_findings(self) -> Vec<Finding> {
        let mut findings = self.findings.into_inner();
        findings.sort_by(|a, b| (a.span.start, &a.member).cmp(&(b.span.start, &b.member)));
        findings
    }
}

impl<'a> Node<'a> {
    pub(crate) fn value(&self) -> &'a DeValue<'a> {
        self.value
    }

    /// Its place, for what is found out about it later.
    pub(crate) fn spot(&self) -> Spot {
        Spot {
            span: self.span.clone(),
            member: self.path.clone(),
        }
    }

    pub(crate) fn complain(&self, complaint: Complaint) {
        self.report
            .add(self.span.clone(), self.path.clone(), complaint);
    }

    /// An error at this member.
    pub(crate) fn error(
        &self,
        rule: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.complain(Complaint::error(rule, message, remedy));
    }

    /// What is wrong with a value, with this member's place.
    pub(crate) fn checked<T>(&self, result: Result<T, Complaint>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(complaint) => {
                self.complain(complaint);
                None
            }
        }
    }

    /// A complaint that the value is of another type.
    pub(crate) fn wrong_type(&self, wanted: &str) {
        let message = format!("is {}, not {wanted}", article(self.value.type_str()));
        self.error("wrong_type", message, format!("write {wanted}"));
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            self.wrong_type("a text in quotes");
        }
        text
    }

    /// A text that is not empty.
    pub(crate) fn words(&self) -> Option<&'a str> {
        let text = self.text()?;
        if text.trim().is_empty() {
            self.error("empty", "is empty", "write it out, or leave the member out");
            return None;
        }
        Some(text)
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            self.wrong_type("true or false");
        }
        flag
    }

    /// An integer, as written in decimal.
    pub(crate) fn integer(&self) -> Option<i64> {
        let number = self.value.as_integer();
        let parsed = number.and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
        if parsed.is_none() {
            self.wrong_type("an integer");
        }
        parsed
    }

    /// An integer from `least` to `most`.
    pub(crate) fn integer_in(&self, least: i64, most: i64) -> Option<i64> {
        let number = self.integer()?;
        if (least..=most).contains(&number) {
            return Some(number);
        }
        let message = format!("is {number}, which is not from {least} to {most}");
        self.error("out_of_range", message, "write a number in this range");
        None
    }

    /// The elements of a list; a single value counts as a list of one where `one_will_do`.
    pub(crate) fn list(&self, one_will_do: bool) -> Option<Vec<Node<'a>>> {
        match self.value.as_array() {
            Some(array) => Some(self.elements(array)),
            None if one_will_do => Some(vec![self.clone()]),
            None => {
                self.wrong_type("a list in brackets");
                None
            }
        }
    }

    fn elements(&self, array: &'a [Spanned<DeValue<'a>>]) -> Vec<Node<'a>> {
        let element = |(index, value): (usize, &'a Spanned<DeValue<'a>>)| Node {
            report: self.report,
            value: value.get_ref(),
            span: value.span(),
            path: format!("{}/{index}", self.path),
        };
        array.iter().enumerate().map(element).collect()
    }

    pub(crate) fn section(&self) -> Option<Section<'a>> {
        let Some(table) = self.value.as_table() else {
            self.wrong_type("a table");
            return None;
        };
        Some(Section {
            report: self.report,
            table,
            span: self.span.clone(),
            path: self.path.clone(),
            asked: RefCell::default(),
        })
    }

    /// Whether it is a table with this member.
    pub(crate) fn section_has(&self, name: &str) -> bool {
        let table = self.value.as_table();
        table.is_some_and(|table| table.iter().any(|(key, _)| key.get_ref() == name))
    }

    pub(crate) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// One of the fixed words of `T`.
    pub(crate) fn word<T: Word>(&self) -> Option<T> {
        #[cfg(test)]
        T::WORDS
            .iter()
            .for_each(|(word, _)| crate::documented::note_word(word));
        let text = self.text()?;
        let found = T::WORDS.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
            let remedy = format!("write one of {}", words.join(", "));
            self.error("unknown_word", format!("does not know `{text}`"), remedy);
        }
        found.map(|(_, value)| *value)
    }
}

impl<'a> Section<'a> {
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The member of this name, if it is there.
    pub(crate) fn get(&self, name: &'static str) -> Option<Node<'a>> {
        self.asked.borrow_mut().insert(name);
        #[cfg(test)]
        crate::documented::note(&self.path, name, self.peek(name).is_some());
        self.peek(name)
    }

    fn peek(&self, name: &str) -> Option<Node<'a>> {
        let (_, value) = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        Some(Node {
            report: self.report,
            value: value.get_ref(),
            span: value.span(),
            path: child(&self.path, name),
        })
    }

    /// The member of this name, which has to be there.
    pub(crate) fn need(&self, name: &'static str) -> Option<Node<'a>> {
        let node = self.get(name);
        if node.is_none() {
            let message = format!("lacks the member `{name}`");
            self.error(name, "missing_member", message, format!("add `{name} = …`"));
        }
        node
    }

    /// An error about a member of this section: placed there, or at the section where it is missing.
    pub(crate) fn error(
        &self,
        name: &str,
        rule: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let member = if name.is_empty() {
            self.path.clone()
        } else {
            child(&self.path, name)
        };
        let complaint = Complaint::error(rule, message, remedy);
        let span = self.peek(name).map_or(self.span.clone(), |node| node.span);
        self.report.add(span, member, complaint);
    }

    /// Text of a member that may be missing.
    pub(crate) fn words(&self, name: &'static str) -> Option<String> {
        self.get(name)?.words().map(str::to_owned)
    }

    /// Text of a member that has to be there.
    pub(crate) fn need_words(&self, name: &'static str) -> Option<String> {
        self.need(name)?.words().map(str::to_owned)
    }

    /// A flag; false where the member is missing.
    pub(crate) fn flag(&self, name: &'static str) -> bool {
        self.get(name).and_then(|n| n.flag()).unwrap_or(false)
    }

    /// A section within this one that may be missing.
    pub(crate) fn sub(&self, name: &'static str) -> Option<Section<'a>> {
        self.get(name)?.section()
    }

    /// All members, whatever their names: for tables whose keys are content.
    pub(crate) fn entries(&self) -> Vec<(String, Node<'a>)> {
        let names = self.table.iter().map(|(key, _)| key.get_ref());
        names
            .filter_map(|name| Some((name.to_string(), self.peek(name)?)))
            .collect()
    }

    /// Whether a path leads to a member below this section.
    pub(crate) fn resolves(&self, path: &str) -> bool {
        path.starts_with('/') && self.walk(path).1
    }

    /// A complaint about a member that may be several levels down: placed there, or at the last section on the way to it.
    pub(crate) fn complain_at(&self, path: &str, complaint: Complaint) {
        let (span, _) = self.walk(path);
        let member = format!("{}{path}", self.path);
        self.report.add(span, member, complaint);
    }

    /// An error about a member that may be several levels down.
    pub(crate) fn error_at(
        &self,
        path: &str,
        rule: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.complain_at(path, Complaint::error(rule, message, remedy));
    }

    /// The place where a path ends, and whether it is led to its end.
    fn walk(&self, path: &str) -> (Range<usize>, bool) {
        let mut parts = path.split('/').skip(1).map(unescaped);
        let first = parts.next().and_then(|name| self.peek(&name));
        let Some(first) = first else {
            return (self.span.clone(), false);
        };
        let (mut value, mut span) = (first.value, first.span);
        for part in parts {
            let next = match value {
                DeValue::Table(table) => {
                    let mut members = table.iter();
                    let member = members.find(|(key, _)| *key.get_ref() == part);
                    member.map(|(_, value)| value)
                }
                DeValue::Array(items) => part.parse::<usize>().ok().and_then(|i| items.get(i)),
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_) => None,
            };
            let Some(next) = next else {
                return (span, false);
            };
            (value, span) = (next.get_ref(), next.span());
        }
        (span, true)
    }

    /// Complains about every member that was not asked for.
    pub(crate) fn end(&self) {
        let asked = self.asked.borrow();
        for (key, _) in self.table {
            let name: &str = key.get_ref();
            if asked.contains(name) {
                continue;
            }
            let known: Vec<_> = asked.iter().copied().collect();
            let remedy = match known.iter().find(|word| alike(word, name)) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            let message = format!("`{name}` is not a member that is known here");
            let complaint = Complaint::error("unknown_member", message, remedy);
            self.report
                .add(key.span(), child(&self.path, name), complaint);
        }
    }
}

/// The path of a member, escaped as in a JSON pointer.
pub(crate) fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// One letter too many, too few or other, or two neighbours swapped.
fn alike(a: &str, b: &str) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    let after = |chars: &[char], n: usize| chars.get(n..).map(<[char]>::to_vec);
    let swapped = rest_a.len() > 1
        && rest_b.len() > 1
        && rest_a[0] == rest_b[1]
        && rest_a[1] == rest_b[0]
        && rest_a[2..] == rest_b[2..];
    swapped
        || after(rest_a, 1).is_some_and(|rest| rest == rest_b)
        || after(rest_b, 1).is_some_and(|rest| rest == rest_a)
        || after(rest_a, 1)
            .zip(after(rest_b, 1))
            .is_some_and(|(x, y)| x == y)
}
