//! Examples within contracts: replayed through the builder and the readers, and complained about at their place.

use factum_contract::{Catalogue, Contract, Finding, Provider};

use crate::support::{contract, shown};

const TEXT: &str = r#"provider = "p"
operation = "o"
title = "t"
consequence = "costly"

[effect]
path = "/a/{brand}"
set = [{ at = "/r", to = "{reference}" }]

[key]
place = { header = "Idempotency-Key" }

[[answers]]
when = { status = 201, json = { at = "/id", exists = true } }
class = "done"
receipt = { json = "/id" }
same = [{ sent = "/amount", got = "/amount" }]

[[answers]]
when = { status = 422, json = { at = "/error", type = "string" } }
class = "rejected"
why = "/error"
source = { person = "us", date = "2026-11-29" }

[[examples]]
title = "a thing"
params = { brand = "acme" }
payload = { amount = 5 }
request = { method = "POST", path = "/a/acme", headers = { Idempotency-Key = "{key}" }, body = [{ at = "/r", equals = "{reference}" }, { at = "/amount", equals = 5 }], contains = "\"amount\":5" }
answer = { status = 201, body = '{"id":"x-1","amount":5}' }
class = "done"
receipt = "x-1"

[[examples]]
params = { brand = "acme" }
payload = '{"amount":5}'
answer = { status = 201, body = { id = "x-1", amount = 6 } }
class = "unknown"

[[examples]]
payload = "{}"
request = { refused = "/params/brand" }
"#;

#[test]
fn examples_that_hold_say_nothing() {
    let contract = contract(TEXT);
    assert_eq!(shown(&contract.run_examples()), "");
}

#[test]
fn an_example_that_differs_is_shown_at_its_place() {
    let rows = [
        (
            "method = \"POST\", path",
            "method = \"PUT\", path",
            "29:11 /examples/0/request example_request: is a POST, not a PUT",
        ),
        (
            "path = \"/a/acme\"",
            "path = \"/a/other\"",
            "29:11 /examples/0/request example_request: asks /a/acme, not /a/other",
        ),
        (
            "Idempotency-Key = \"{key}\"",
            "Other = \"x\"",
            "29:11 /examples/0/request example_request: has the header other: None, not \"x\"",
        ),
        (
            "contains = \"\\\"amount\\\":5\"",
            "contains = \"amount=5\"",
            "29:11 /examples/0/request example_request: has a body without \"amount=5\"",
        ),
        (
            "receipt = \"x-1\"",
            "receipt = \"x-2\"",
            "30:10 /examples/0/answer example_answer: has the receipt Some(\"x-1\"), not Some(\"x-2\")",
        ),
        (
            "class = \"unknown\"",
            "class = \"done\"",
            "37:10 /examples/1/answer example_answer: means `unknown`, not `done`",
        ),
        (
            "refused = \"/params/brand\"",
            "refused = \"/payload\"",
            "42:11 /examples/2/request example_request: cannot be built: /params/brand is missing; add it",
        ),
    ];
    for (from, to, expected) in rows {
        assert_eq!(TEXT.matches(from).count(), 1, "{from}");
        let found = contract(&TEXT.replace(from, to)).run_examples();
        let found: Vec<_> = found.iter().map(line_of).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(expected),
            "{} is not {expected}",
            found[0]
        );
    }
}

fn line_of(finding: &Finding) -> String {
    format!(
        "{}:{} {} {}: {}",
        finding.line, finding.column, finding.member, finding.rule, finding.message
    )
}

#[test]
fn malformed_examples_are_findings() {
    let rows = [
        (
            "class = \"unknown\"",
            "class = \"fine\"",
            "38:9 /examples/1/class unknown_word",
        ),
        (
            "class = \"unknown\"",
            "clas = \"unknown\"",
            "34:1 /examples/1/class missing_member",
        ),
        (
            "request = { refused = \"/params/brand\" }",
            "",
            "40:1 /examples/2 example",
        ),
        (
            "request = { refused = \"/params/brand\" }",
            "poll = { status = 200 }\nlookup = { status = 200 }",
            "40:1 /examples/2 example",
        ),
        (
            "request = { refused = \"/params/brand\" }",
            "poll = { status = 99 }\nshows = \"working\"",
            "42:19 /examples/2/poll/status out_of_range",
        ),
        (
            "request = { refused = \"/params/brand\" }",
            "poll = { status = 200 }\nshows = \"found\"",
            "43:9 /examples/2/shows unknown_word",
        ),
    ];
    for (from, to, expected) in rows {
        let text = TEXT.replace(from, to);
        let findings = Contract::parse("f", None, &text).unwrap_err();
        let first = format!(
            "{}:{} {} {}",
            findings[0].line, findings[0].column, findings[0].member, findings[0].rule
        );
        assert_eq!(first, expected, "{}", shown(&findings));
    }
}

#[test]
fn a_providers_examples_are_replayed_with_each_operation() {
    let provider = "provider = \"p\"\ntitle = \"P\"\n\
        [[answers]]\nwhen = { status = 401, json = { at = \"/e\", equals = \"auth\" } }\nclass = \"rejected\"\nsource = { person = \"us\", date = \"2026-11-29\" }\n\
        [[examples]]\nanswer = { status = 401, body = '{\"e\":\"auth\"}' }\nclass = \"rejected\"\nstored = false\n";
    assert!(Provider::parse("provider.toml", provider).is_ok());
    let run = |provider: &str| {
        let parsed = Contract::parse("o.toml", Some(("provider.toml", provider)), TEXT);
        parsed.unwrap().run_examples()
    };
    assert_eq!(shown(&run(provider)), "");
    let wrong = run(&provider.replace("'{\"e\":\"auth\"}'", "'{\"e\":\"other\"}'"));
    assert_eq!(wrong.len(), 1);
    assert_eq!(
        (wrong[0].file.as_str(), wrong[0].line),
        ("provider.toml", 8)
    );
}

#[test]
fn every_contract_of_the_catalogue_carries_its_examples() {
    let catalogue = Catalogue::builtin();
    let mut replayed = 0;
    for provider in catalogue.providers() {
        for contract in catalogue.operations(provider) {
            assert_eq!(shown(&contract.run_examples()), "");
            // The testbed is not the field: its own tests show what it answers.
            if provider != "testbed" {
                assert_eq!(shown(&contract.catalogue_gaps()), "");
                replayed += 1;
            }
        }
    }
    assert!(replayed > 0);
}

#[test]
fn what_a_contract_lacks_is_named() {
    let gaps = contract(TEXT).catalogue_gaps();
    let found: Vec<_> = gaps
        .iter()
        .map(|gap| (gap.member.as_str(), gap.remedy.as_str()))
        .collect();
    let source = "add `source = { … }` there, or a [[claims]] about it";
    assert_eq!(
        found,
        [
            (
                "/examples",
                "add an example with `answer` and `class = \"rejected\"`"
            ),
            ("/effect", source),
            ("/key", source),
            ("/verified_on", "add the day: \"2026-11-29\""),
            ("/review_by", "add the day: \"2026-11-29\""),
        ]
    );
}
