//! An export of a destination, as a person got it there: CSV, or JSON with one object per row. Read strictly, and bounded.

use factum_core::Timestamp;
use serde_json::{Map, Value};

use crate::problem::{Code, Problem};
use crate::submission::instant;

/// Rows at the most.
pub const ROWS_MAX: usize = 50_000;

/// Which column holds what. Each may be missing: then nothing is matched by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The destination's own reference for the effect: what becomes the receipt.
    pub receipt: Option<String>,
    /// Where it keeps somebody else's reference.
    pub reference: Option<String>,
    /// What it is about, as in the action's subject or summary.
    pub subject: Option<String>,
    /// When it was made there.
    pub at: Option<String>,
}

/// What columns are called by destinations that people get exports from, without what differs by typing.
const RECEIPTS: &[&str] = &[
    "id",
    "ticket",
    "ticketid",
    "ticketnumber",
    "number",
    "messageid",
    "chargeid",
    "key",
];
const REFERENCES: &[&str] = &[
    "externalid",
    "externalreference",
    "reference",
    "clientreference",
    "idempotencykey",
    "metadata",
];
const SUBJECTS: &[&str] = &[
    "subject",
    "title",
    "summary",
    "business",
    "description",
    "name",
];
const INSTANTS: &[&str] = &[
    "createdat",
    "created",
    "createdtime",
    "createddate",
    "date",
    "time",
    "timestamp",
];

impl Columns {
    /// Which of these columns is probably which, by what it is called. A person looks at it before anything rests on it.
    #[must_use]
    pub fn guessed(headings: &[String]) -> Self {
        let plain = |name: &str| -> String {
            let letters = name.chars().filter(|letter| letter.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        let named = |known: &[&str]| {
            let mut found = known.iter().filter_map(|name| {
                let mut all = headings.iter();
                all.find(|heading| plain(heading) == *name)
            });
            found.next().cloned()
        };
        Self {
            receipt: named(RECEIPTS),
            reference: named(REFERENCES),
            subject: named(SUBJECTS),
            at: named(INSTANTS),
        }
    }
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its number, from 1; a header is not counted.
    pub no: usize,
    /// Every text in it: a mark of ours may stand in any.
    pub cells: Vec<String>,
    /// The named columns.
    pub receipt: Option<String>,
    /// See [`Columns::reference`].
    pub reference: Option<String>,
    /// See [`Columns::subject`].
    pub subject: Option<String>,
    /// See [`Columns::at`].
    pub at: Option<Timestamp>,
}

/// In which form an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A header, then rows; separated by commas, semicolons or tabs, quoted as in RFC 4180.
    Csv,
    /// A list of objects, or an object with one such list.
    Json,
}

impl Form {
    /// The form that a text seems to be in.
    #[must_use]
    pub fn guessed(text: &str) -> Self {
        if text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with(['[', '{'])
        {
            Self::Json
        } else {
            Self::Csv
        }
    }
}

/// What the columns of an export are called, in its order: the header of a CSV, the members of the first row of JSON.
///
/// # Errors
/// [`Code::WrongType`] names what cannot be read, with its line or row.
pub fn headings(text: &str, form: Form) -> Result<Vec<String>, Problem> {
    match form {
        Form::Csv => {
            let header = records(text.trim_start_matches('\u{feff}'))?
                .into_iter()
                .next();
            let (_, header) = header.ok_or_else(no_header)?;
            Ok(header.iter().map(|name| name.trim().to_owned()).collect())
        }
        Form::Json => {
            let value = parsed(text)?;
            let first = listed(&value)?.first();
            let members = first.and_then(Value::as_object);
            Ok(members
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect())
        }
    }
}

/// The rows of an export.
///
/// # Errors
/// [`Code::WrongType`] names what cannot be read, with its line or row.
pub fn rows(text: &str, form: Form, columns: &Columns) -> Result<Vec<Row>, Problem> {
    let rows = match form {
        Form::Csv => csv(text.trim_start_matches('\u{feff}'), columns)?,
        Form::Json => json(text, columns)?,
    };
    if rows.len() > ROWS_MAX {
        return Err(wrong(
            "/export",
            format!("it has more than {ROWS_MAX} rows"),
        ));
    }
    Ok(rows)
}

fn csv(text: &str, columns: &Columns) -> Result<Vec<Row>, Problem> {
    let mut lines = records(text)?.into_iter();
    let (_, header) = lines.next().ok_or_else(no_header)?;
    let place = |name: &Option<String>, member: &str| {
        let Some(name) = name else { return Ok(None) };
        let found = header.iter().position(|column| column.trim() == name);
        let known = || header.join(", ");
        let missing = || {
            wrong(
                member,
                format!("there is no column {name:?} among: {}", known()),
            )
        };
        found.map(Some).ok_or_else(missing)
    };
    let receipt = place(&columns.receipt, "/columns/receipt")?;
    let reference = place(&columns.reference, "/columns/reference")?;
    let subject = place(&columns.subject, "/columns/subject")?;
    let at = place(&columns.at, "/columns/at")?;
    let rows = lines.zip(1..).map(|((line, cells), no)| {
        if cells.len() != header.len() {
            let (has, wanted) = (cells.len(), header.len());
            let rule = format!("line {line} has {has} cells, and the header has {wanted}");
            return Err(wrong("/export", rule));
        }
        let cell = |place: Option<usize>| {
            let text = place.and_then(|place| cells.get(place));
            text.map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        Ok(Row {
            no,
            receipt: cell(receipt),
            reference: cell(reference),
            subject: cell(subject),
            at: cell(at).map(|text| when(&text, no)).transpose()?,
            cells: cells.clone(),
        })
    });
    rows.collect()
}

/// A line's number, and its cells.
type Line = (usize, Vec<String>);

/// The records of a CSV text, each with the line it begins in. Empty lines are left out.
fn records(text: &str) -> Result<Vec<Line>, Problem> {
    let first = text.lines().next().unwrap_or_default();
    let count = |mark: char| first.matches(mark).count();
    let separator = [',', ';', '\t']
        .into_iter()
        .max_by_key(|mark| (count(*mark), *mark == ','));
    let separator = separator.unwrap_or(',');
    let mut records = Vec::new();
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let (mut line, mut begins) = (1, 1);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        line += usize::from(c == '\n');
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            _ if quoted => cell.push(c),
            '"' if cell.trim().is_empty() => {
                cell.clear();
                quoted = true;
            }
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => {
                cells.push(std::mem::take(&mut cell));
                keep(&mut records, begins, std::mem::take(&mut cells));
                begins = line;
            }
            _ if c == separator => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(c),
        }
    }
    if quoted {
        let rule = format!("the quotation that begins in line {begins} does not end");
        return Err(wrong("/export", rule));
    }
    cells.push(cell);
    keep(&mut records, begins, cells);
    Ok(records)
}

fn keep(records: &mut Vec<Line>, line: usize, cells: Vec<String>) {
    if cells.len() > 1 || cells.iter().any(|cell| !cell.trim().is_empty()) {
        records.push((line, cells));
    }
}

fn no_header() -> Problem {
    wrong("/export", "it has no header".to_owned())
}

fn parsed(text: &str) -> Result<Value, Problem> {
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| wrong("/export", format!("it is no JSON: {error}")))
}

/// The one list that a text is, or has.
fn listed(value: &Value) -> Result<&Vec<Value>, Problem> {
    let list = match value {
        Value::Array(list) => Some(list),
        Value::Object(members) => {
            let mut lists = members.values().filter_map(Value::as_array);
            lists.next().filter(|_| lists.next().is_none())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    let rule = "it is no list of rows, nor an object with one";
    list.ok_or_else(|| wrong("/export", rule.to_owned()))
}

fn json(text: &str, columns: &Columns) -> Result<Vec<Row>, Problem> {
    let value = parsed(text)?;
    let rows = listed(&value)?.iter().zip(1..).map(|(row, no)| {
        let members = row.as_object();
        let members = members.ok_or_else(|| wrong("/export", format!("row {no} is no object")))?;
        let cell = |name: &Option<String>| name.as_ref().and_then(|name| member(members, name));
        let mut cells = Vec::new();
        texts(row, &mut cells);
        Ok(Row {
            no,
            receipt: cell(&columns.receipt),
            reference: cell(&columns.reference),
            subject: cell(&columns.subject),
            at: cell(&columns.at).map(|text| when(&text, no)).transpose()?,
            cells,
        })
    });
    rows.collect()
}

/// A member by its name, or by a pointer where the name begins with a slash.
fn member(members: &Map<String, Value>, name: &str) -> Option<String> {
    let found = match name.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
        Some((first, rest)) => members.get(first)?.pointer(&format!("/{rest}"))?,
        None => members.get(name.strip_prefix('/').unwrap_or(name))?,
    };
    let text = match found {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Number(number) => into.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => members.values().for_each(|item| texts(item, into)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// An instant: RFC 3339, the same without a zone (then UTC), or seconds since 1970.
fn when(text: &str, no: usize) -> Result<Timestamp, Problem> {
    // Without a zone it is UTC.
    let civil = || format!("{}Z", text.replacen(' ', "T", 1)).parse().ok();
    let seconds = || jiff::Timestamp::from_second(text.parse().ok()?).ok();
    let read = text.parse::<jiff::Timestamp>().ok();
    let read = read.or_else(civil).or_else(seconds);
    read.map(instant).ok_or_else(|| {
        let rule = format!("row {no} says {text:?}, which is no instant");
        wrong("/columns/at", rule)
    })
}

fn wrong(member: &str, rule: String) -> Problem {
    let remedy = "send the export as the destination wrote it, and name its columns";
    Problem::new(Code::WrongType, member, rule, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        Columns {
            receipt: Some("id".to_owned()),
            reference: Some("ext".to_owned()),
            subject: Some("title".to_owned()),
            at: Some("made".to_owned()),
        }
    }

    fn at(text: &str) -> Option<Timestamp> {
        Some(instant(text.parse().unwrap()))
    }

    #[test]
    fn csv_is_read_as_it_is_written() {
        let text = "\u{feff}id,ext,title,made\r\n1,r-1,\"Refund, \"\"77\"\"\",2026-11-29T12:00:00Z\r\n\r\n2,,\"two\nlines\",2026-11-29 12:00:00\n3,r-3,,\n";
        let rows = rows(text, Form::Csv, &columns()).unwrap();
        let seen: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row.no,
                    row.receipt.as_deref(),
                    row.reference.as_deref(),
                    row.subject.as_deref(),
                    row.at,
                )
            })
            .collect();
        let noon = at("2026-11-29T12:00:00Z");
        assert_eq!(
            seen,
            [
                (1, Some("1"), Some("r-1"), Some("Refund, \"77\""), noon),
                (2, Some("2"), None, Some("two\nlines"), noon),
                (3, Some("3"), Some("r-3"), None, None),
            ]
        );
        for (separator, made) in [(";", "1"), ("\t", "1")] {
            let text = ["id", "ext", "title", "made"].join(separator)
                + "\n"
                + &["7", "x,y", "t", made].join(separator);
            let rows = super::rows(&text, Form::Csv, &columns()).unwrap();
            assert_eq!(rows[0].reference.as_deref(), Some("x,y"), "{separator:?}");
            assert_eq!(rows[0].at, at("1970-01-01T00:00:01Z"));
        }
    }

    #[test]
    fn json_is_a_list_or_an_object_with_one() {
        let list = r#"[{"id": 17, "ext": {"ref": "r-1"}, "title": "T", "made": 1}]"#;
        let columns = Columns {
            reference: Some("/ext/ref".to_owned()),
            ..columns()
        };
        for text in [
            list.to_owned(),
            format!(r#"{{"total": 1, "tickets": {list}}}"#),
        ] {
            let rows = rows(&text, Form::Json, &columns).unwrap();
            assert_eq!(rows[0].receipt.as_deref(), Some("17"));
            assert_eq!(rows[0].reference.as_deref(), Some("r-1"));
            assert!(rows[0].cells.contains(&"r-1".to_owned()));
        }
    }

    #[test]
    fn columns_are_guessed_by_what_they_are_called() {
        let csv = "\u{feff}Ticket ID;External-Reference;Subject;Priority\n1;2;3;4\n";
        let names = headings(csv, Form::guessed(csv)).unwrap();
        let guessed = Columns::guessed(&names);
        assert_eq!(guessed.receipt.as_deref(), Some("Ticket ID"));
        assert_eq!(guessed.reference.as_deref(), Some("External-Reference"));
        assert_eq!(
            (guessed.subject.as_deref(), guessed.at),
            (Some("Subject"), None)
        );
        let json = r#" {"tickets": [{"id": 1, "created_at": 2}]}"#;
        let guessed = Columns::guessed(&headings(json, Form::guessed(json)).unwrap());
        assert_eq!(
            (guessed.receipt.as_deref(), guessed.at.as_deref()),
            (Some("id"), Some("created_at"))
        );
        assert!(headings("[]", Form::Json).unwrap().is_empty());
        assert!(headings("", Form::Csv).is_err() && headings("1", Form::Json).is_err());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let csv = |text: &str| rows(text, Form::Csv, &columns()).unwrap_err().to_string();
        assert!(csv("").contains("no column") || csv("").contains("no header"));
        assert!(csv("id,ext,title\n").contains("made"));
        assert!(csv("id,ext,title,made\n1,2\n").contains("line 2 has 2"));
        assert!(csv("id,ext,title,made\n1,2,\"open,4\n").contains("does not end"));
        assert!(csv("id,ext,title,made\n1,2,3,soon\n").contains("row 1"));
        let json = |text: &str| rows(text, Form::Json, &columns()).unwrap_err().to_string();
        assert!(json("{").contains("no JSON"));
        assert!(json("{\"a\":[],\"b\":[]}").contains("no list"));
        assert!(json("[1]").contains("row 1"));
    }
}
