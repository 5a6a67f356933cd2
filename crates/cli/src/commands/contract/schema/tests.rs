//! The schema against the parser: what one of them knows, the other knows too.

use std::collections::{BTreeMap, BTreeSet};

use factum_contract::Catalogue;

use super::*;

/// The schema that a `$ref` leads to, with its name.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> (&'a str, &'a Value) {
    let Some(name) = schema["$ref"].as_str() else {
        return ("", schema);
    };
    let name = name.trim_start_matches("#/$defs/");
    let target = &root["$defs"][name];
    assert!(target.is_object(), "{name} is defined");
    (name, target)
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    }
}

/// What of a value the schema refuses, by the words that it uses.
fn refused(schema: &Value, root: &Value, value: &Value, at: &str) -> Vec<String> {
    let (_, schema) = resolved(schema, root);
    if let Some(forms) = schema["anyOf"].as_array() {
        let fits = |form| refused(form, root, value, at).is_empty();
        return match forms.iter().any(fits) {
            true => Vec::new(),
            false => vec![format!("{at} has none of its forms")],
        };
    }
    let mut wrong = Vec::new();
    let kinds: Vec<_> = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind, value)) {
        wrong.push(format!("{at} is no {kinds:?}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        wrong.push(format!("{at} is none of {words:?}"));
    }
    for needed in schema["required"].as_array().into_iter().flatten() {
        if value[needed.as_str().unwrap()].is_null() {
            wrong.push(format!("{at} lacks {needed}"));
        }
    }
    if let Some(members) = value.as_object() {
        let count = members.len() as u64;
        let least = schema["minProperties"].as_u64().unwrap_or(0);
        let most = schema["maxProperties"].as_u64().unwrap_or(u64::MAX);
        if count < least || count > most {
            wrong.push(format!("{at} has {count} members"));
        }
        for (name, member) in members {
            let at = format!("{at}/{name}");
            let other = &schema["additionalProperties"];
            match &schema["properties"][name] {
                Value::Null if *other == false => wrong.push(at),
                Value::Null => wrong.extend(refused(other, root, member, &at)),
                inner => wrong.extend(refused(inner, root, member, &at)),
            }
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}/{index}");
        wrong.extend(refused(&schema["items"], root, item, &at));
    }
    wrong
}

fn schema_of(path: &str) -> Value {
    if path.ends_with("provider.toml") {
        provider()
    } else {
        operation()
    }
}

fn check(path: &str, text: &str) -> Vec<String> {
    let value: Value = toml::from_str(text).unwrap();
    let schema = schema_of(path);
    refused(&schema, &schema, &value, path)
}

/// The kitchen uses every member of the language once: names within the catalogue, and texts.
fn kitchen() -> Vec<(String, String)> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../contract/tests/kitchen/sink"
    );
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        (format!("sink/{name}"), text)
    };
    std::fs::read_dir(folder).unwrap().map(read).collect()
}

#[test]
fn every_contract_that_lint_accepts_fits_the_schema() {
    let builtin = Catalogue::builtin_files().iter();
    let mut files: Vec<_> = builtin
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    files.extend(kitchen());
    assert!(files.len() > 60);
    let wrong: Vec<_> = files
        .iter()
        .flat_map(|(path, text)| check(path, text))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every table of a document: where it stands, and the schema that it has to fit with its name.
fn tables<'a>(
    (schema, root): (&'a Value, &'a Value),
    value: &Value,
    at: &str,
    found: &mut Vec<(String, &'a str, &'a Value)>,
) {
    let (mut name, mut schema) = resolved(schema, root);
    if let Some(forms) = schema["anyOf"].as_array() {
        let kind = if value.is_array() { "array" } else { "object" };
        let forms = forms.iter().map(|form| resolved(form, root));
        let Some(form) = forms.into_iter().find(|(_, form)| form["type"] == kind) else {
            return;
        };
        (name, schema) = form;
    }
    if let Some(members) = value.as_object() {
        found.push((at.to_owned(), name, schema));
        for (member, value) in members {
            let inner = match &schema["properties"][member] {
                Value::Null => &schema["additionalProperties"],
                inner => inner,
            };
            // What stands in a free table is the destination's, not the language's.
            if inner.is_object() {
                let member = member.replace('~', "~0").replace('/', "~1");
                tables((inner, root), value, &format!("{at}/{member}"), found);
            }
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}/{index}");
        tables((&schema["items"], root), item, &at, found);
    }
}

/// The table of a document at this pointer.
fn table_at<'a>(document: &'a mut toml::Value, at: &str) -> &'a mut toml::Table {
    let parts = at.split('/').skip(1);
    let table = parts.fold(document, |value, part| match value {
        toml::Value::Array(items) => &mut items[part.parse::<usize>().unwrap()],
        table => &mut table[part.replace("~1", "/").replace("~0", "~").as_str()],
    });
    table.as_table_mut().unwrap()
}

/// What the parser knows in a table: it says so where a member is put there that nobody knows. None where names are free.
fn known_by_the_parser(
    files: &[(String, String)],
    (path, text): (&str, &str),
    at: &str,
) -> Option<BTreeSet<String>> {
    const NOBODYS: &str = "zzzzzzzz";
    let mut changed: toml::Value = toml::from_str(text).unwrap();
    table_at(&mut changed, at).insert(NOBODYS.to_owned(), 1.into());
    let changed = toml::to_string(&changed).unwrap();
    let of_provider = files.iter().find(|(name, _)| name == "sink/provider.toml");
    let mut given = BTreeMap::from([(path, changed.as_str())]);
    let (name, text) = of_provider.unwrap();
    given.entry(name).or_insert(text);
    let findings = Catalogue::default().load_overrides(given).err()?;
    let member = format!("{at}/{NOBODYS}");
    let mut findings = findings.iter();
    let finding =
        findings.find(|finding| finding.rule == "unknown_member" && finding.member == member)?;
    let names = finding.remedy.strip_prefix("known here: ").unwrap();
    Some(names.split(", ").map(str::to_owned).collect())
}

#[test]
fn the_schema_knows_the_members_that_the_parser_knows_and_no_others() {
    let files = kitchen();
    let mut known: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for (path, text) in &files {
        let document: Value = toml::from_str(text).unwrap();
        let (root, mut found) = (schema_of(path), Vec::new());
        tables((&root, &root), &document, "", &mut found);
        for (at, name, schema) in found {
            let by_parser = known_by_the_parser(&files, (path, text), &at);
            let closed = schema["additionalProperties"] == false;
            assert_eq!(
                by_parser.is_some(),
                closed,
                "{path}{at}: one of both is open"
            );
            let properties = schema["properties"].as_object().into_iter().flatten();
            let name = match name {
                "" => root["title"].as_str().unwrap(),
                name => name,
            };
            let (parser, own) = known.entry(name.to_owned()).or_default();
            parser.extend(by_parser.into_iter().flatten());
            own.extend(properties.map(|(name, _)| name.clone()));
        }
    }
    for (name, (parser, own)) in &known {
        assert_eq!(
            parser, own,
            "what the parser knows in {name}, and what the schema"
        );
    }
    let unused = SECTIONS
        .iter()
        .filter(|(name, _)| !known.contains_key(*name));
    let unused: Vec<_> = unused.map(|(name, _)| *name).collect();
    assert!(unused.is_empty(), "the kitchen uses none of {unused:?}");
}

#[test]
fn every_object_says_which_other_members_it_takes() {
    fn walk(value: &Value, at: &str) {
        if value["type"] == "object" {
            assert!(!value["additionalProperties"].is_null(), "{at} is open");
        }
        let members = value.as_object().into_iter().flatten();
        let items = value.as_array().into_iter().flatten();
        for (name, member) in members {
            walk(member, &format!("{at}/{name}"));
        }
        for item in items {
            walk(item, at);
        }
    }
    walk(&operation(), "operation");
    walk(&provider(), "provider");
}

#[test]
fn a_wrong_member_or_word_is_refused() {
    let text = "provider = \"a\"\noperation = \"b\"\ntitle = \"c\"\nconsequence = \"awful\"\n[effect]\npath = \"/\"\npaht = 1\n";
    let wrong = check("x.toml", text);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    let lacking = check("provider.toml", "title = \"x\"\n");
    assert_eq!(lacking, ["provider.toml lacks \"provider\""]);
}

#[test]
fn what_is_wrong_within_a_small_table_is_refused_too() {
    let files: BTreeMap<_, _> = kitchen().into_iter().collect();
    let broken = [
        (
            "charge.create",
            "/key/repeat/retention",
            json!({"floor": "24 h", "count": 3}),
        ),
        (
            "charge.create",
            "/key/repeat/retention",
            json!({"flor": "24 h"}),
        ),
        ("charge.create", "/key/repeat/retention", json!("for ever")),
        (
            "charge.create",
            "/key/place",
            json!({"heder": "Idempotency-Key"}),
        ),
        ("charge.create", "/key/place", json!("body")),
        (
            "charge.create",
            "/callback/signature/scheme",
            json!("strype"),
        ),
        ("charge.create", "/answers/0/receipt", json!({"jsn": "/id"})),
        (
            "charge.create",
            "/answers/0/when/json",
            json!({"at": "/id", "equal": 1}),
        ),
        (
            "charge.create",
            "/lookup/pages",
            json!({"offset": 10, "limit": 3}),
        ),
        ("charge.create", "/examples/0/answer", json!({"code": 201})),
        (
            "provider",
            "/auth/oauth2",
            json!({"token_url": "/t", "scope": "write"}),
        ),
        (
            "provider",
            "/auth/sigv4",
            json!({"service": "s", "regoin": "r"}),
        ),
        (
            "provider",
            "/auth/hmac",
            json!({"header": "X", "signed": "{body}", "algorithm": "md5"}),
        ),
    ];
    for (file, at, wrong) in broken {
        let path = format!("sink/{file}.toml");
        let (schema, mut document) = (schema_of(&path), Value::Null);
        document.clone_from(&toml::from_str(&files[&path]).unwrap());
        let (parent, name) = at.rsplit_once('/').unwrap();
        document.pointer_mut(parent).unwrap()[name] = wrong.clone();
        let refused = refused(&schema, &schema, &document, "");
        assert_eq!(refused.len(), 1, "{at} = {wrong}: {refused:?}");
    }
}

#[test]
fn every_section_that_is_named_is_defined() {
    let names: BTreeSet<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
    let all = SECTIONS.iter().map(|(_, members)| *members);
    for members in all.chain([OPERATION, PROVIDER, QUESTION]) {
        for member in members.split_whitespace() {
            if let Some((_, section)) = member.split_once('#') {
                let section = section.trim_end_matches([']', '}']);
                assert!(names.contains(section), "{member}");
            }
        }
    }
    assert!(CHOICES.iter().all(|name| names.contains(name)));
}
