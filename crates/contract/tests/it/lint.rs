//! Broken contracts: each complaint at its line and column, with its member, its rule and its remedy.

mod answers;
mod effect;
mod language;
mod undo;

use factum_contract::{Contract, Finding, Provider};

use crate::support::{contract, shown};

/// A contract that uses every section. Its lines are counted in the tables below.
const WHOLE: &str = r#"provider = "p"
operation = "o"
title = "t"
consequence = "costly"
finish = false

[effect]
method = "POST"
path = "/a/{brand}"
headers = { X-Brand = "{brand}" }
set = [{ at = "/r", to = "{reference}" }]
direct = true
source = { person = "us", date = "2026-11-29" }

[key]
place = { header = "Idempotency-Key" }
alphabet = "base32"
length_max = 64

[key.repeat]
retention = { floor = "24 h" }
concurrent = "in_progress"
stored = { success = true, refusals = true, errors = false }
scope = ["account"]
other_content = "refused"
replayed = { headers = { name = "X-Replayed" } }
source = { url = "https://a.example/b", read = "2026-11-29", grade = "stated" }

[processing]
max = "2 s"
source = { person = "us", date = "2026-11-29" }

[[answers]]
when = { status = 202, json = { at = "/ok", equals = true } }
class = "accepted"
object = { json = "/job" }

[[answers]]
when = { status = 409, json = { at = "/code", equals = "running" } }
class = "in_progress"

[[answers]]
when = { status = 422, json = { at = "/code", equals = "reuse" } }
class = "mismatch"

[[answers]]
when = { status = 422, json = { at = "/code", one_of = ["a", "b"] } }
class = "rejected"
stored = true
why = "/message"

[lookup]
by = "reference"
path = "/a?r={reference}"
next_path = "/a?r={reference}&c={cursor}"
next = "/next"
items = "/items"
ours = "/r"
receipt = { json = "/id" }
complete = { tests = { at = "/complete", equals = true } }
authority = "authoritative"
sees_queued = true
visible_for = "30 d"
lag = "0 s"
source = { person = "us", date = "2026-11-29", grade = "probed" }

[poll]
path = "/jobs/{object}"
completed = { json = { at = "/s", equals = "done" } }
working = { json = { at = "/s", equals = "working" } }
receipt = { json = "/id" }

[cancel]
path = "/cancel"
json = { key = "{key}" }
confirmed = { status = 200, json = { at = "/ok", equals = true } }
retention = "unbounded"
source = { person = "us", date = "2026-11-29" }

[whoami]
path = "/me"
account = "/name"

[product]
kind = "thing"
deep_link = "/things/{receipt}"

[[claims]]
about = "/answers"
person = "us"
date = "2026-11-29"
"#;

/// Who stands behind the rules of the whole contract. What is found without them has its own table.
const ANSWERS_CLAIM: &str =
    "[[claims]]\nabout = \"/answers\"\nperson = \"us\"\ndate = \"2026-11-29\"\n";

fn line_of(finding: &Finding) -> String {
    format!(
        "{}:{} {} {} | {}",
        finding.line, finding.column, finding.member, finding.rule, finding.remedy
    )
}

/// What is found after one part of the whole contract is replaced by another.
fn found(whole: &str, from: &str, to: &str) -> Vec<String> {
    assert_eq!(whole.matches(from).count(), 1, "{from}");
    let text = whole.replace(from, to);
    match Contract::parse("p/o.toml", None, &text) {
        Ok(contract) => contract.warnings().iter().map(line_of).collect(),
        Err(findings) => {
            assert!(findings.iter().all(|f| f.file == "p/o.toml"));
            findings.iter().map(line_of).collect()
        }
    }
}

/// A part of the whole contract, what it is replaced by, and what is found then.
struct Row(&'static str, &'static str, &'static [&'static str]);

fn check(rows: &[Row]) {
    check_in(WHOLE, rows);
}

fn check_in(whole: &str, rows: &[Row]) {
    let mut wrong = Vec::new();
    for Row(from, to, expected) in rows {
        let found = found(whole, from, to);
        if found != *expected {
            wrong.push(format!("{from:?} -> {to:?}\n  {}", found.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_whole_contract_has_no_findings() {
    assert_eq!(shown(contract(WHOLE).warnings()), "");
}

const TEXT_AND_TYPES: &[Row] = &[
    Row(
        "consequence = \"costly\"",
        "consequence = \"costly",
        &["4:22  syntax | correct the TOML at this place"],
    ),
    Row(
        "finish = false",
        "finish = false\nfinish = true",
        &["6:1  syntax | correct the TOML at this place"],
    ),
    Row(
        "[processing]",
        "[processing",
        &["29:12  syntax | correct the TOML at this place"],
    ),
    Row(
        "finish = false",
        "finnish = false",
        &["5:1 /finnish unknown_member | did you mean `finish`?"],
    ),
    Row(
        "finish = false",
        "colour = \"red\"",
        &[
            "5:1 /colour unknown_member | known here: answers, api_version, callback, cancel, claims, completion, consequence, effect, events, examples, finish, input, key, lookup, neither, operation, poll, processing, product, provider, reference, requires, review_by, support, title, undo, verified_on, whoami",
        ],
    ),
    Row(
        "finish = false",
        "finish = \"no\"",
        &["5:10 /finish wrong_type | write true or false"],
    ),
    Row(
        "title = \"t\"\n",
        "",
        &["1:1 /title missing_member | add `title = …`"],
    ),
    Row(
        "title = \"t\"",
        "title = \" \"",
        &["3:9 /title empty | write it out, or leave the member out"],
    ),
    Row(
        "title = \"t\"",
        "title = 4",
        &["3:9 /title wrong_type | write a text in quotes"],
    ),
    Row(
        "operation = \"o\"",
        "operation = \"../o\"",
        &[
            "2:13 /operation name | use a-z, 0-9, hyphens, underscores and single dots, a letter first",
        ],
    ),
    Row(
        "\"costly\"",
        "\"cheap\"",
        &[
            "4:15 /consequence unknown_word | write one of harmless, reversible, costly, irreversible",
        ],
    ),
    Row(
        "consequence = \"costly\"\n",
        "",
        &["1:1 /consequence missing_member | add `consequence = …`"],
    ),
    Row(
        "kind = \"thing\"",
        "kind = []",
        &["85:8 /product/kind wrong_type | write a text in quotes"],
    ),
    Row(
        "[product]",
        "[products]",
        &["84:2 /products unknown_member | did you mean `product`?"],
    ),
    Row(
        "[lookup]",
        "[[lookup]]",
        &["52:1 /lookup wrong_type | write a table"],
    ),
    Row(
        "length_max = 64",
        "length_max = 64.0",
        &["18:14 /key/length_max wrong_type | write an integer"],
    ),
];

#[test]
fn text_and_types() {
    check(TEXT_AND_TYPES);
}

const STATED: &str = "{ url = \"https://a.example/b\", read = \"2026-11-29\", grade = \"stated\" }";

const SOURCES: &[Row] = &[
    Row(
        STATED,
        "{ url = \"a.example\", read = \"2026-11-29\", grade = \"stated\" }",
        &["27:18 /key/repeat/source/url source_form | write it with https:// in front"],
    ),
    Row(
        STATED,
        "{ url = \"https://a.example\", grade = \"stated\" }",
        &["27:10 /key/repeat/source/read missing_member | add `read = …`"],
    ),
    Row(
        STATED,
        "{ url = \"https://a.example\", read = \"2026-11-29\" }",
        &["27:10 /key/repeat/source/grade missing_member | add `grade = …`"],
    ),
    Row(
        STATED,
        "{ url = \"https://a.example\", read = \"29.11.2026\", grade = \"stated\" }",
        &["27:46 /key/repeat/source/read source_form | write it as \"2026-11-29\""],
    ),
    Row(
        STATED,
        "{ url = \"https://a.example\", read = \"2026-13-29\", grade = \"stated\" }",
        &["27:46 /key/repeat/source/read source_form | write it as \"2026-11-29\""],
    ),
    Row(
        STATED,
        "{ url = \"https://a.example\", read = \"2026-11-29\", grade = \"sure\" }",
        &[
            "27:68 /key/repeat/source/grade unknown_word | write one of stated, probed, in_house, assumed, second_hand",
        ],
    ),
    Row(
        STATED,
        "{ url = \"https://a.example\", date = \"2026-11-29\", grade = \"stated\" }",
        &[
            "27:10 /key/repeat/source/read missing_member | add `read = …`",
            "27:46 /key/repeat/source/date source_form | write `read` beside `url`",
        ],
    ),
    Row(
        STATED,
        "{ grade = \"stated\" }",
        &["27:10 /key/repeat/source source_form | write `url` and `read`, or `person` and `date`"],
    ),
    Row(
        STATED,
        "{ url = \"https://a.example\", person = \"us\" }",
        &["27:10 /key/repeat/source source_form | write `url` and `read`, or `person` and `date`"],
    ),
    Row(
        "[product]",
        "[[claims]]\nabout = \"/answers/3/when\"\nperson = \"us\"\ndate = \"2026-11-29\"\n\n[product]",
        &[],
    ),
    Row(
        "[product]",
        "[[claims]]\nabout = \"/answers/9\"\nperson = \"us\"\ndate = \"2026-11-29\"\n\n[product]",
        &[
            "85:9 /claims/0/about claim_about | write the path of a member of this file: \"/key/repeat\"",
        ],
    ),
    Row(
        "consequence = \"costly\"",
        "consequence = \"harmless\"",
        &[
            "4:15 /consequence source_missing | add `source = { url = …, read = …, grade = … }` here, or a [[claims]] about it",
        ],
    ),
    Row(
        "finish = false",
        "neither = { prefer = \"prefer_missing\" }",
        &["5:22 /neither/prefer preference_author | add `by` and `reason`"],
    ),
    Row(
        "finish = false",
        "neither = { prefer = \"retry\" }",
        &["5:22 /neither/prefer unknown_word | write one of ask, prefer_missing, prefer_duplicate"],
    ),
];

#[test]
fn sources() {
    check(SOURCES);
}

#[test]
fn everything_is_found_at_once_and_in_the_order_of_the_text() {
    let text = WHOLE
        .replace("\"POST\"", "\"FETCH\"")
        .replace("\"base32\"", "\"base1\"")
        .replace("lag = \"0 s\"", "lag = \"soon\"")
        .replace("kind = \"thing\"", "kid = \"thing\"");
    let findings = Contract::parse("f", None, &text).unwrap_err();
    let found: Vec<_> = findings
        .iter()
        .map(|f| (f.line, f.member.as_str()))
        .collect();
    let expected = [
        (8, "/effect/method"),
        (17, "/key/alphabet"),
        (64, "/lookup/lag"),
        (85, "/product/kid"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_finding_shows_its_line() {
    let text = WHOLE.replace("\"base32\"", "\"base36\"");
    let findings = Contract::parse("contracts/p/o.toml", None, &text).unwrap_err();
    assert_eq!(
        shown(&findings),
        "contracts/p/o.toml:17:12: /key/alphabet: does not know `base36` [unknown_word]\n   \
         |\n17 | alphabet = \"base36\"\n   |            ^^^^^^^^\n   \
         = write one of hex, base32, base32hex, base64url, alphanumeric, digits, uuid"
    );
}

#[test]
fn keys_need_a_key() {
    let base = "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n";
    let rows = [
        (
            "[effect]\npath = \"/{key}\"\n",
            "6:8 /effect/path place | use parameters, or {reference}, {first_sent}, {first_sent_iso}",
        ),
        (
            "[effect]\npath = \"/\"\n[[answers]]\nwhen = { status = 409 }\nclass = \"in_progress\"\n",
            "9:9 /answers/0/class key_needed | add [key], or choose another class",
        ),
        (
            "[effect]\npath = \"/\"\n[[answers]]\nwhen = { status = 422, json = { at = \"/e\", exists = true } }\nclass = \"rejected\"\nstored = true\n",
            "10:10 /answers/0/stored key_needed | add [key] to this file, or write false",
        ),
        (
            "[effect]\npath = \"/\"\n[key]\nplace = { header = \"K\" }\n[[answers]]\nwhen = { status = 409, json = { at = \"/e\", exists = true } }\nclass = \"rejected\"\nstored = true\n",
            "9:1 /answers/0 source_missing | add `source = { url = …, read = …, grade = … }` here, or a [[claims]] about it\n10:8 /answers/0/when refusal_source | add `source = …` to this rule or a [[claims]] about \"/answers\", or choose `unknown`",
        ),
        (
            "[effect]\npath = \"/\"\n[cancel]\npath = \"/{key}\"\nconfirmed = { status = 200 }\nretention = \"unbounded\"\nsource = { person = \"us\", date = \"2026-11-29\" }\n",
            "7:1 /cancel key_needed | add [key]",
        ),
        (
            "[effect]\npath = \"/\"\n[lookup]\nby = \"key\"\npath = \"/{key}\"\nours = \"/k\"\nreceipt = \"none\"\nauthority = \"partial\"\nlag = \"0 s\"\n",
            "8:6 /lookup/by key_needed | add [key], or ask by reference",
        ),
    ];
    for (rest, expected) in rows {
        let findings = Contract::parse("f", None, &format!("{base}{rest}")).unwrap_err();
        let found: Vec<_> = findings.iter().map(line_of).collect();
        assert_eq!(found.join("\n"), expected, "{rest}");
    }
}

#[test]
fn work_whose_end_cannot_be_learned_is_warned_about() {
    let text = "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\n\
        [[answers]]\nwhen = { status = 202 }\nclass = \"accepted\"\n";
    let contract = contract(text);
    let found: Vec<_> = contract.warnings().iter().map(line_of).collect();
    let remedy = "add [poll]; without it every accepted action ends with a person";
    assert_eq!(found, [format!("7:1 /answers completion | {remedy}")]);
    assert!(shown(contract.warnings()).starts_with("op.toml:7:1: warning: /answers: "));
}

#[test]
fn providers() {
    let rows = [
        (
            "title = \"P\"\n",
            "1:1 /provider missing_member | add `provider = …`",
        ),
        (
            "provider = \"P\"\ntitle = \"P\"\n",
            "1:12 /provider name | use a-z, 0-9, hyphens, underscores and single dots, a letter first",
        ),
        (
            "provider = \"p\"\ntitle = \"P\"\n[auth]\nkinds = [\"oauth\"]\n",
            "4:10 /auth/kinds/0 unknown_word | write one of none, bearer, basic, header, query, oauth2_client_credentials, sigv4, hmac",
        ),
        (
            "provider = \"p\"\ntitle = \"P\"\n[auth]\nkinds = [\"header\"]\n",
            "3:1 /auth/header auth_member | write both, or neither",
        ),
        (
            "provider = \"p\"\ntitle = \"P\"\n[limits]\nconcurrency = 0\n",
            "4:15 /limits/concurrency out_of_range | write a number in this range",
        ),
        (
            "provider = \"p\"\ntitle = \"P\"\n[limits]\nrate = { requests = 10 }\n",
            "4:8 /limits/rate/per missing_member | add `per = …`",
        ),
        (
            "provider = \"p\"\ntitle = \"P\"\n[[answers]]\nwhen = { status = \"5xx\" }\nclass = \"busy\"\n",
            "4:8 /answers/0/when refusal_proof | add a test of the body or of a header, or a source for it",
        ),
        (
            "provider = \"p\"\ntitle = \"P\"\n[[answers]]\nwhen = { status = 422, json = { at = \"/e\", exists = true } }\nclass = \"rejected\"\nstored = true\n",
            "6:10 /answers/0/stored key_needed | add [key] to this file, or write false",
        ),
    ];
    for (text, expected) in rows {
        let findings = Provider::parse("f", text).unwrap_err();
        let found: Vec<_> = findings.iter().map(line_of).collect();
        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn both_files_are_complained_about() {
    let findings = Contract::parse("o.toml", Some(("provider.toml", "titel = 1")), "[effect]\n");
    let files: std::collections::BTreeSet<_> =
        findings.unwrap_err().into_iter().map(|f| f.file).collect();
    assert_eq!(
        files.into_iter().collect::<Vec<_>>(),
        ["o.toml", "provider.toml"]
    );
    let other = "provider = \"q\"\ntitle = \"Q\"\n";
    let findings = Contract::parse("o.toml", Some(("provider.toml", other)), WHOLE).unwrap_err();
    let found: Vec<_> = findings.iter().map(line_of).collect();
    let remedy = "put the file into the provider's own folder, or correct the name";
    assert_eq!(found, [format!("1:12 /provider provider_name | {remedy}")]);
}
