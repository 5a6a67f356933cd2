//! The encoding of what a report says.

use factum_core::evidence::Callback;
use serde::{Deserialize, Serialize};

use super::fact::CallbackDef;
use super::{Form, read, write};
use crate::report::{Name, Reading};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    v: u32,
    readings: Vec<ReadingDef>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadingDef {
    operation: String,
    names: Vec<NameDef>,
    #[serde(with = "CallbackDef")]
    callback: Callback,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum NameDef {
    Reference(String),
    Key(String),
    Object(String),
    Receipt(String),
}

/// What a report says, as text.
pub(crate) fn readings_text(form: &Form, readings: &[Reading]) -> String {
    let readings = readings.iter().cloned().map(|reading| ReadingDef {
        operation: reading.operation,
        names: reading.names.into_iter().map(NameDef::from).collect(),
        callback: reading.callback,
    });
    write(&Text {
        v: form.writes(),
        readings: readings.collect(),
    })
}

/// Reads it, or says for people why it cannot be read.
pub(crate) fn read_readings(form: &Form, text: &str) -> Result<Vec<Reading>, String> {
    let text: Text = read(form, text)?;
    form.known(text.v)?;
    let readings = text.readings.into_iter().map(|reading| Reading {
        operation: reading.operation,
        names: reading.names.into_iter().map(Name::from).collect(),
        callback: reading.callback,
    });
    Ok(readings.collect())
}

impl From<Name> for NameDef {
    fn from(name: Name) -> Self {
        match name {
            Name::Reference(text) => Self::Reference(text),
            Name::Key(text) => Self::Key(text),
            Name::Object(text) => Self::Object(text),
            Name::Receipt(text) => Self::Receipt(text),
        }
    }
}

impl From<NameDef> for Name {
    fn from(name: NameDef) -> Self {
        match name {
            NameDef::Reference(text) => Self::Reference(text),
            NameDef::Key(text) => Self::Key(text),
            NameDef::Object(text) => Self::Object(text),
            NameDef::Receipt(text) => Self::Receipt(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::NEWEST;
    use factum_core::evidence::Receipt;

    #[test]
    fn what_a_report_says_comes_back_as_it_was() {
        let receipt = Receipt {
            reference: "T-1".to_owned(),
            aliases: vec!["1".to_owned()],
        };
        let failed = ("job-1".to_owned(), "no such brand".to_owned());
        let callbacks = [
            Callback::Positive(receipt),
            Callback::Negative {
                object: failed.0,
                why: failed.1,
            },
            Callback::Reversed {
                why: "returned".to_owned(),
            },
        ];
        let names = [Name::Reference, Name::Key, Name::Object, Name::Receipt];
        let readings: Vec<Reading> = callbacks
            .into_iter()
            .map(|callback| Reading {
                operation: "ticket.create".to_owned(),
                names: names.iter().map(|name| name("x".to_owned())).collect(),
                callback,
            })
            .collect();
        let text = readings_text(&NEWEST, &readings);
        assert_eq!(read_readings(&NEWEST, &text), Ok(readings));
        let newer = text.replacen("\"v\":2", "\"v\":3", 1);
        assert!(read_readings(&NEWEST, &newer).is_err_and(|why| why.contains("version 3")));
    }
}
