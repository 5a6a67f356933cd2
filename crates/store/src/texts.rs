//! The confidential texts of a store as both backends write them: which columns hold them, and how they are sealed and opened.

use factum_core::{ActionId, Evidence, Fact};

use crate::chain::{self, FactHash};
use crate::encoding::{fact_text, head_text, read_fact, read_readings, readings_text};
use crate::record::Action;
use crate::register::{Change, EntryKey};
use crate::report::{Reading, Report, ReportId};
use crate::seal::{Place, Seals};

const PARAMS: &str = "action.params";
const PAYLOAD: &str = "action.payload";
const HEAD: &str = "action.head";
const FACT: &str = "evidence.fact";
const READINGS: &str = "report.readings";
const BODY: &str = "report.body";

/// What is wrong with a text, for people.
type Damage = String;

/// What is confidential of an action, as it is written.
pub(crate) struct ActionTexts {
    pub(crate) params: String,
    pub(crate) payload: String,
    pub(crate) head: String,
}

impl ActionTexts {
    /// Seals them. Whoever submits an action does that, not the one thread that writes.
    pub(crate) fn of(seals: &Seals, action: &Action) -> Self {
        let seal = |column, text: &str| {
            let place = Place::of_action(column, action.intent.action);
            seals.seal(&place, text).into_owned()
        };
        Self {
            params: seal(PARAMS, &action.content.params),
            payload: seal(PAYLOAD, &action.content.payload),
            head: seal(HEAD, &head_text(seals.form(), action)),
        }
    }

    /// The texts themselves.
    pub(crate) fn open(self, seals: &Seals, id: ActionId) -> Result<Self, Damage> {
        let open = |column, written| {
            let opened = seals.open(&Place::of_action(column, id), written);
            opened.map_err(|how| format!("its column `{column}` {how}"))
        };
        Ok(Self {
            params: open(PARAMS, self.params)?,
            payload: open(PAYLOAD, self.payload)?,
            head: open(HEAD, self.head)?,
        })
    }
}

/// Facts about an action, their texts as they are written, and what stands for them in the chain, in one order.
pub(crate) struct Penned {
    pub(crate) facts: Vec<Fact>,
    pub(crate) texts: Vec<String>,
    pub(crate) hashes: Vec<FactHash>,
}

impl Penned {
    /// Seals facts: in the task that has them, where it can be.
    pub(crate) fn of(seals: &Seals, id: ActionId, facts: Vec<Fact>) -> Self {
        let place = Place::of_action(FACT, id);
        let pen = |fact: &Fact| {
            let text = fact_text(seals.form(), fact);
            (
                seals.seal(&place, &text).into_owned(),
                chain::text_hash(&text),
            )
        };
        let (texts, hashes) = facts.iter().map(pen).unzip();
        Self {
            facts,
            texts,
            hashes,
        }
    }
}

/// A log, as it is written.
pub(crate) fn penned_log(seals: &Seals, id: ActionId, evidence: &[Evidence]) -> Penned {
    Penned::of(
        seals,
        id,
        evidence.iter().map(|one| one.fact.clone()).collect(),
    )
}

/// The texts of evidence alone.
pub(crate) fn sealed_facts(seals: &Seals, id: ActionId, evidence: &[Evidence]) -> Vec<String> {
    penned_log(seals, id, evidence).texts
}

/// A fact's text, as it is written.
pub(crate) fn sealed_fact(seals: &Seals, id: ActionId, text: &str) -> String {
    let place = Place::of_action(FACT, id);
    seals.seal(&place, text).into_owned()
}

/// The text of a fact.
pub(crate) fn opened_fact_text(
    seals: &Seals,
    id: ActionId,
    written: String,
) -> Result<String, Damage> {
    seals.open(&Place::of_action(FACT, id), written)
}

/// The fact in a written text.
pub(crate) fn opened_fact(seals: &Seals, id: ActionId, written: String) -> Result<Fact, Damage> {
    let text = opened_fact_text(seals, id, written)?;
    read_fact(seals.form(), &text).map_err(|how| format!("is of another make: {how}"))
}

/// A change of the register with its body as it is written.
pub(crate) fn sealed_change(seals: &Seals, change: &Change) -> Change {
    Change {
        body: sealed_body(seals, &change.key, &change.body),
        ..change.clone()
    }
}

/// The body of an entry, as it is written.
pub(crate) fn sealed_body(seals: &Seals, key: &EntryKey, body: &str) -> String {
    seals.seal(&Place::of_entry(key), body).into_owned()
}

/// The body of an entry, or of a version of it.
pub(crate) fn opened_body(
    seals: &Seals,
    key: &EntryKey,
    written: String,
) -> Result<String, Damage> {
    seals.open(&Place::of_entry(key), written)
}

/// What is confidential of a report, as it is written: its readings and its body.
pub(crate) fn sealed_report(seals: &Seals, report: &Report) -> (String, Vec<u8>) {
    let place = |column| Place::of_report(column, &report.id);
    let readings = readings_text(seals.form(), &report.readings);
    (
        seals.seal(&place(READINGS), &readings).into_owned(),
        seals.seal_bytes(&place(BODY), &report.body).into_owned(),
    )
}

/// The readings and the body of a report.
pub(crate) fn opened_report(
    seals: &Seals,
    id: &ReportId,
    (readings, body): (String, Vec<u8>),
) -> Result<(Vec<Reading>, Vec<u8>), Damage> {
    let place = |column| Place::of_report(column, id);
    let readings = read_readings(seals.form(), &seals.open(&place(READINGS), readings)?)?;
    Ok((readings, seals.open_bytes(&place(BODY), body)?))
}
