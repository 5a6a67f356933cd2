//! Where a contract's claims come from. What nobody stands behind carries no permission.

use std::collections::BTreeMap;

use crate::finding::Complaint;
use crate::source::{Node, Section, Word};

/// Where a claim comes from: a page, or a person who knows the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// An address for a page, a name for a person.
    pub origin: Origin,
    /// The day on which it was read, or said: `2026-11-29`.
    pub date: String,
    /// What it is worth.
    pub grade: Grade,
    /// The words that carry the claim.
    pub quote: Option<String>,
    /// The version of the interface that it speaks of, where the page names one.
    pub api_version: Option<String>,
}

/// Who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A page at this address.
    Page(String),
    /// A person, or a team.
    Person(String),
    /// The report of a probe, by its file or its name.
    Report(String),
}

/// What a source is worth, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// The provider's own documentation says so.
    Stated,
    /// It was seen by experiment.
    Probed,
    /// The people who run the destination say so.
    InHouse,
    /// Somebody decided to assume it.
    Assumed,
    /// Others say so. It is shown, and not relied on.
    SecondHand,
}

impl Word for Grade {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("stated", Self::Stated),
        ("probed", Self::Probed),
        ("in_house", Self::InHouse),
        ("assumed", Self::Assumed),
        ("second_hand", Self::SecondHand),
    ];
}

/// The sources of a contract, by the path of what they speak for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims(BTreeMap<String, Vec<Source>>);

impl Claims {
    /// The claims that a file lists by themselves: `[[claims]]` with `about` and the members of a source.
    pub(crate) fn read(root: &Section<'_>) -> Self {
        let mut claims = Self::default();
        let list = root.get("claims").and_then(|node| node.list(false));
        for node in list.unwrap_or_default() {
            let Some(section) = node.section() else {
                continue;
            };
            let (about, source) = (section.need("about"), Source::read(&section));
            if let Some(about) = about
                && let Some(path) = about.text()
            {
                if !root.resolves(path) {
                    let remedy = "write the path of a member of this file: \"/key/repeat\"";
                    about.error("claim_about", format!("`{path}` leads nowhere"), remedy);
                }
                let sources = claims.0.entry(path.to_owned()).or_default();
                sources.extend(source);
            }
            section.end();
        }
        claims
    }

    /// Notes the `source` of a section, if it has one.
    pub(crate) fn note(&mut self, section: &Section<'_>) {
        let Some(source) = section.sub("source") else {
            return;
        };
        // A source that cannot be read is complained about by itself, not as a source that is missing.
        let sources = self.0.entry(section.path().to_owned()).or_default();
        sources.extend(Source::read(&source));
        source.end();
    }

    /// The best grade of what speaks for this path, or for one of the sections around it.
    pub(crate) fn grade(&self, path: &str) -> Option<Grade> {
        let own = self.0.get(path).into_iter().flatten().map(|s| s.grade);
        own.min().or_else(|| {
            let (parent, _) = path.rsplit_once('/')?;
            self.grade(parent)
        })
    }

    fn spoken_for(&self, path: &str) -> bool {
        let around = |(parent, _): (&str, &str)| self.spoken_for(parent);
        self.0.contains_key(path) || path.rsplit_once('/').is_some_and(around)
    }

    /// Whether a promise at this path may be relied on.
    pub(crate) fn relied_on(&self, path: &str) -> bool {
        self.grade(path).is_some_and(|g| g < Grade::SecondHand)
    }

    /// Complains if nothing speaks for this section.
    pub(crate) fn require(&self, section: &Section<'_>, member: &str, what: &str) {
        let path = match member {
            "" => section.path().to_owned(),
            name => crate::source::child(section.path(), name),
        };
        if !self.spoken_for(&path) {
            let remedy =
                "add `source = { url = …, read = …, grade = … }` here, or a [[claims]] about it";
            let message = format!("{what} carries permissions and has no source");
            section.error(member, "source_missing", message, remedy);
        }
    }

    /// Everything, for showing.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Source)> {
        let entries = self.0.iter();
        entries.flat_map(|(path, sources)| sources.iter().map(move |s| (path.as_str(), s)))
    }
}

impl Source {
    fn read(section: &Section<'_>) -> Option<Self> {
        let quote = section.words("quote");
        let api_version = section.words("api_version");
        let page = section.get("url");
        let (person, report) = (section.get("person"), section.get("report"));
        let (read, date) = (section.get("read"), section.get("date"));
        let grade = section.get("grade");
        let (origin, date, usual) = match (page, person, report) {
            (Some(page), None, None) => {
                reject(date, "belongs to a person", "write `read` beside `url`");
                let address = page.checked(address(page.text()?))?;
                (Origin::Page(address), need(section, read, "read"), None)
            }
            (None, Some(person), None) => {
                reject(read, "belongs to a page", "write `date` beside `person`");
                let name = person.words()?.to_owned();
                let date = need(section, date, "date");
                (Origin::Person(name), date, Some(Grade::InHouse))
            }
            (None, None, Some(report)) => {
                reject(read, "belongs to a page", "write `date` beside `report`");
                let name = report.words()?.to_owned();
                let date = need(section, date, "date");
                (Origin::Report(name), date, Some(Grade::Probed))
            }
            (page, _, _) => {
                let message = match page {
                    Some(_) => "names both a page and a person",
                    None => "names neither a page nor a person",
                };
                let remedy = "write `url` and `read`, or `person` and `date`";
                section.error("", "source_form", message, remedy);
                return None;
            }
        };
        let date = date.and_then(|node| node.checked(day(node.text()?)))?;
        let grade = match grade {
            Some(node) => node.word()?,
            None => usual.or_else(|| section.need("grade").and_then(|node| node.word()))?,
        };
        Some(Self {
            origin,
            date,
            grade,
            quote,
            api_version,
        })
    }
}

fn need<'a>(section: &Section<'a>, node: Option<Node<'a>>, name: &'static str) -> Option<Node<'a>> {
    node.or_else(|| section.need(name))
}

fn reject(node: Option<Node<'_>>, message: &str, remedy: &str) {
    if let Some(node) = node {
        node.error("source_form", message, remedy);
    }
}

fn address(text: &str) -> Result<String, Complaint> {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let fine = host.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace));
    fine.then(|| text.to_owned()).ok_or_else(|| {
        Complaint::error(
            "source_form",
            format!("`{text}` is not the address of a page"),
            "write it with https:// in front",
        )
    })
}

pub(crate) fn day(text: &str) -> Result<String, Complaint> {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, width: usize| {
        let digits = part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u32>().ok()).flatten()
    };
    let fine = match parts.as_slice() {
        [year, month, day] => {
            let (year, month, day) = (number(year, 4), number(month, 2), number(day, 2));
            year.is_some()
                && month.is_some_and(|month| (1..=12).contains(&month))
                && day.is_some_and(|day| (1..=31).contains(&day))
        }
        _ => false,
    };
    fine.then(|| text.to_owned()).ok_or_else(|| {
        Complaint::error(
            "source_form",
            format!("`{text}` is not a day"),
            "write it as \"2026-11-29\"",
        )
    })
}
