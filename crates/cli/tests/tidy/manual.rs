//! `packaging/factum.default.toml` is both the default and the manual: as it stands it changes nothing, and no member is missing.

use std::collections::{BTreeMap, BTreeSet};

use factum::Config;
use toml::{Table, Value};

fn manual() -> String {
    let path = crate::tree::root().join("packaging/factum.default.toml");
    std::fs::read_to_string(path).expect("the manual is there")
}

/// The manual with every setting in it, used.
fn used() -> String {
    let lines = manual();
    let lines = lines.lines().map(|line| {
        let setting = line.strip_prefix('#');
        setting
            .filter(|rest| rest.starts_with(|c: char| !c.is_whitespace() && c != '#'))
            .unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The members that a table may have, as its reader says when it is given one that it does not know; none where any name will do.
fn known(whole: &Table, path: &[String]) -> Option<BTreeSet<String>> {
    const UNKNOWN: &str = "zz_unknown";
    let mut whole = Value::Table(whole.clone());
    let mut at = &mut whole;
    for part in path {
        at = match at {
            Value::Array(items) => &mut items[part.parse::<usize>().expect("an index")],
            other => other.get_mut(part).expect("a path of the manual"),
        };
    }
    let table = at.as_table_mut().expect("a table");
    table.insert(UNKNOWN.to_owned(), Value::Boolean(true));
    let text = toml::to_string(&whole).expect("TOML");
    let error = Config::parse("manual", &text)
        .expect_err("nothing is called so")
        .rule;
    let (_, list) = error.split_once(&format!("unknown field `{UNKNOWN}`, expected "))?;
    let list = list.lines().next().unwrap_or_default();
    Some(
        list.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect(),
    )
}

/// Of each kind of table, the members that the manual names and those that there are. Names that users give are all one.
#[derive(Default)]
struct Kinds {
    named: BTreeMap<String, BTreeSet<String>>,
    known: BTreeMap<String, BTreeSet<String>>,
}

impl Kinds {
    fn visit(&mut self, whole: &Table, path: &[String], kind: &str, value: &Value) {
        match value {
            Value::Table(table) => {
                let known = known(whole, path);
                for (name, inner) in table {
                    let of = if known.is_some() { name } else { "*" };
                    let kind = format!("{kind}/{of}");
                    self.visit(
                        whole,
                        &[path, std::slice::from_ref(name)].concat(),
                        &kind,
                        inner,
                    );
                }
                if let Some(known) = known {
                    let names = table.keys().cloned();
                    self.named.entry(kind.to_owned()).or_default().extend(names);
                    self.known.insert(kind.to_owned(), known);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    self.visit(whole, &[path, &[index.to_string()]].concat(), kind, inner);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn the_manual_as_it_stands_changes_nothing() {
    let read = Config::parse("packaging/factum.default.toml", &manual()).expect("it is read");
    assert_eq!(format!("{read:#?}"), format!("{:#?}", Config::default()));
}

#[test]
fn the_manual_names_every_member_that_there_is() {
    Config::parse("the manual, used", &used()).expect("every example is right");
    let whole: Table = used().parse().expect("TOML");
    let mut kinds = Kinds::default();
    kinds.visit(&whole, &[], "", &Value::Table(whole.clone()));
    let missing: Vec<String> = (kinds.known.iter())
        .flat_map(|(kind, known)| {
            let missing = known.difference(&kinds.named[kind]);
            missing.map(move |name| format!("{kind}/{name}"))
        })
        // One account, and one route, is explained; those of a tenant or a destination are alike.
        .filter(|at| !at.starts_with("/tenants/*/destinations/"))
        .filter(|at| !at.starts_with("/tenants/*/retention/"))
        .filter(|at| at.starts_with("/contact/") || !at.contains("/contact"))
        .collect();
    crate::tree::report(
        "settings that packaging/factum.default.toml does not name",
        &missing,
    );
    assert!(kinds.known.len() > 15, "{:?}", kinds.known.keys());
}
