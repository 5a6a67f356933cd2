//! Every problem code has its page, and every page its code; what the page shows is what the code says.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::tree::{self, report};

/// One line of the engine's list.
struct Code {
    code: String,
    slug: String,
    status: u64,
    title: String,
}

/// The lines `Variant "F1001" "slug" 400 "title";` of the engine's source.
fn codes() -> Vec<Code> {
    let source = tree::read("crates/engine/src/problem.rs");
    let found: Vec<Code> = source.lines().filter_map(code_line).collect();
    assert!(found.len() > 20, "the list of codes is found");
    found
}

fn code_line(line: &str) -> Option<Code> {
    let parts: Vec<&str> = line.trim().strip_suffix("\";")?.split('"').collect();
    let [_, code, _, slug, status, title] = parts[..] else {
        return None;
    };
    Some(Code {
        code: code.to_owned(),
        slug: slug.to_owned(),
        status: status.trim().parse().ok()?,
        title: title.to_owned(),
    })
}

#[test]
fn each_code_has_one_page_and_each_page_a_code() {
    let codes: BTreeSet<String> = codes().into_iter().map(|code| code.code).collect();
    let pages: BTreeSet<String> = tree::files(|path| path.starts_with("docs/errors/F"))
        .into_iter()
        .map(|file| {
            let name = file.path.trim_start_matches("docs/errors/");
            name.trim_end_matches(".md").to_owned()
        })
        .collect();
    let without: Vec<String> = codes.difference(&pages).cloned().collect();
    report("codes without a page under docs/errors", &without);
    let orphans: Vec<String> = pages.difference(&codes).cloned().collect();
    report("pages under docs/errors without a code", &orphans);
}

#[test]
fn codes_slugs_and_titles_are_used_once() {
    let codes = codes();
    let unique = |part: fn(&Code) -> &String| codes.iter().map(part).collect::<BTreeSet<_>>().len();
    assert_eq!(unique(|code| &code.code), codes.len());
    assert_eq!(unique(|code| &code.slug), codes.len());
    assert_eq!(unique(|code| &code.title), codes.len());
}

#[test]
fn a_page_shows_what_the_code_says() {
    let index = tree::read("docs/errors/README.md");
    let mut wrong = Vec::new();
    for code in codes() {
        let Code {
            code,
            slug,
            status,
            title,
        } = code;
        let page = tree::read(&format!("docs/errors/{code}.md"));
        let mut want = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{code}: {what}"));
            }
        };
        want(
            page.starts_with(&format!("# {code}: {title}\n")),
            "the heading is code and title",
        );
        want(
            page.contains(&format!("`urn:factum:problem:{slug}` · HTTP {status}")),
            "the URN and the status",
        );
        for heading in [
            "What it means",
            "What was recorded",
            "Example",
            "What to do",
        ] {
            want(page.contains(&format!("\n## {heading}\n\n")), heading);
        }
        let row = format!("| [{code}]({code}.md) | {status} | {title} |");
        want(index.contains(&row), "the row in docs/errors/README.md");
        let example = example(&page);
        want(
            example["type"] == format!("urn:factum:problem:{slug}"),
            "type in the example",
        );
        want(example["title"] == title, "title in the example");
        want(example["status"] == status, "status in the example");
        want(example["code"] == code, "code in the example");
        for member in ["rule", "remedy"] {
            want(
                example[member]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                member,
            );
        }
    }
    report("pages that differ from the list of codes", &wrong);
}

fn example(page: &str) -> Value {
    let block = page
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    serde_json::from_str(block.unwrap_or_default()).unwrap_or_default()
}

#[test]
fn a_line_of_the_list_is_read_and_others_are_not() {
    let code = code_line("    TooLarge \"F1009\" \"too-large\" 413 \"the body is larger\";")
        .expect("a code");
    assert_eq!(
        (code.code.as_str(), code.slug.as_str(), code.status),
        ("F1009", "too-large", 413)
    );
    assert!(code_line("    let text = \"F1009\";").is_none());
}
