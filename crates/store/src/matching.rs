//! How reports and actions find each other, whichever comes first. Every backend does it alike, inside the transaction that
//! brings the report or the name; no I/O here.

use std::collections::{BTreeSet, VecDeque};

use factum_core::evidence::Callback;
use factum_core::{ActionId, Fact};

use crate::StoreError;
use crate::record::Record;
use crate::report::{Delivered, KeptReport, Name, Reading, Report, Site, names_in};

/// Reports that are kept at the most; the oldest are forgotten first.
pub(crate) const REPORTS_MAX: u64 = 100_000;

/// A name where it counts: at one site, for one operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Known {
    pub(crate) site: Site,
    pub(crate) operation: String,
    pub(crate) name: Name,
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
impl Known {
    /// As it is indexed.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let (kind, text) = match &self.name {
            Name::Reference(text) => ("reference", text),
            Name::Key(text) => ("key", text),
            Name::Object(text) => ("object", text),
            Name::Receipt(text) => ("receipt", text),
        };
        let mut hasher = blake3::Hasher::new_derive_key("factum store 2026 names of actions v1");
        let (site, operation) = (&self.site, &self.operation);
        for part in [&site.tenant, &site.destination, operation, kind, text] {
            // Length first, so that no two lists of parts hash alike.
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            hasher.update(&length.to_be_bytes());
            hasher.update(part.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// The names that the readings of a report carry, each where it counts.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn names_on(report: &Report) -> impl Iterator<Item = Known> + '_ {
    report.readings.iter().flat_map(|reading| {
        reading.names.iter().map(|name| Known {
            site: report.site.clone(),
            operation: reading.operation.clone(),
            name: name.clone(),
        })
    })
}

/// What a backend offers, inside one transaction.
pub(crate) trait Shelf {
    /// Actions that are known by a name; two are enough.
    fn known_by(&mut self, known: &Known) -> Result<Vec<ActionId>, StoreError>;
    /// From now on the action is known by this name too.
    fn know(&mut self, id: ActionId, known: &Known) -> Result<(), StoreError>;
    /// Reports without an action that carry this name, oldest first.
    fn waiting(&mut self, known: &Known) -> Result<Vec<KeptReport>, StoreError>;
    /// The report belongs to this action.
    fn settle(&mut self, report: &KeptReport, id: ActionId) -> Result<(), StoreError>;
    /// Whether the action's evidence holds this already.
    fn has(&mut self, id: ActionId, callback: &Callback) -> Result<bool, StoreError>;
    /// Adds facts to the evidence of an action, without looking for names in them.
    fn add(&mut self, id: ActionId, facts: Vec<Fact>) -> Result<(), StoreError>;
}

/// Gives a report that was just kept to the action that it names.
pub(crate) fn deliver(shelf: &mut impl Shelf, kept: &KeptReport) -> Result<Delivered, StoreError> {
    let Some((id, reading)) = find(shelf, &kept.report)? else {
        return Ok(Delivered::Unmatched);
    };
    let place = (kept.report.site.clone(), reading.operation.clone());
    let names = give(shelf, kept, id, reading)?;
    name_action(shelf, id, place, names)?;
    Ok(Delivered::Matched(id))
}

/// From now on the action is known by these names, and what waited for one of them is evidence about it. Gives whether
/// anything did.
pub(crate) fn name_action(
    shelf: &mut impl Shelf,
    id: ActionId,
    (site, operation): (Site, String),
    names: Vec<Name>,
) -> Result<bool, StoreError> {
    let mut names = VecDeque::from(names);
    let mut seen = BTreeSet::new();
    let mut found = false;
    while let Some(name) = names.pop_front() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let known = Known {
            site: site.clone(),
            operation: operation.clone(),
            name,
        };
        shelf.know(id, &known)?;
        for kept in shelf.waiting(&known)? {
            if let Some((named, reading)) = find(shelf, &kept.report)?
                && named == id
            {
                names.extend(give(shelf, &kept, id, reading)?);
                found = true;
            }
        }
    }
    Ok(found)
}

/// The one action that the names of a report find, and the reading that finds it. Names that lead to two actions are a
/// contradiction: then it is for a person to look at.
fn find<'a>(
    shelf: &mut impl Shelf,
    report: &'a Report,
) -> Result<Option<(ActionId, &'a Reading)>, StoreError> {
    let mut found: Option<(ActionId, &Reading)> = None;
    for reading in &report.readings {
        for name in &reading.names {
            let known = Known {
                site: report.site.clone(),
                operation: reading.operation.clone(),
                name: name.clone(),
            };
            for id in shelf.known_by(&known)? {
                match found {
                    Some((other, _)) if other != id => return Ok(None),
                    Some(_) => {}
                    None => found = Some((id, reading)),
                }
            }
        }
    }
    Ok(found)
}

/// Makes a report evidence about an action, once; gives the names that it brings.
fn give(
    shelf: &mut impl Shelf,
    kept: &KeptReport,
    id: ActionId,
    reading: &Reading,
) -> Result<Vec<Name>, StoreError> {
    shelf.settle(kept, id)?;
    if shelf.has(id, &reading.callback)? {
        return Ok(Vec::new());
    }
    let fact = Fact::CalledBack(reading.callback.clone());
    let names = names_in(&fact);
    shelf.add(id, vec![fact])?;
    Ok(names)
}

/// Where the names of an action count.
pub(crate) fn place(record: &Record) -> (Site, String) {
    let scope = &record.action.scope;
    let site = Site {
        tenant: scope.tenant.clone(),
        destination: scope.destination.clone(),
    };
    (site, scope.operation.clone())
}

/// The names that facts bring.
pub(crate) fn names_of(facts: &[Fact]) -> Vec<Name> {
    facts.iter().flat_map(names_in).collect()
}
