//! Pages that are written from code. A stale one fails; `UPDATE_DOCS=1` writes it anew.

use std::fmt::Write as _;

use factum_faults::{Acted, Fault};

use crate::tree;

/// Compares a page with what the code says, or writes it.
#[track_caller]
fn check(path: &str, fresh: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(tree::root().join(path), fresh).expect("the page can be written");
    }
    assert!(
        tree::read(path) == fresh,
        "{path} is stale: run the tests once with UPDATE_DOCS=1, and look at the difference"
    );
}

fn acted(fault: Fault) -> &'static str {
    match fault.acted() {
        Acted::No => "no",
        Acted::Yes => "yes",
        Acted::Later => "later",
        Acted::Twice => "got it twice",
    }
}

fn faults_page() -> String {
    let mut page = "# Faults\n\n\
        What the testbed does to requests and answers, whether the destination acted, and what an engine may conclude at most from\n\
        what it can see. Written from the crate `faults`; do not edit.\n\n\
        A rule names a fault as in the first column, with another number where one is shown: `status=503,n=1,method=POST`.\n\n\
        | fault | what it does | acted | the answer is lost | may be concluded at most |\n\
        | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for fault in Fault::ALL {
        let lost = if fault.loses_answer() { "yes" } else { "no" };
        writeln!(
            page,
            "| `{fault}` | {} | {} | {lost} | {} |",
            fault.does(),
            acted(*fault),
            fault.may_conclude()
        )
        .expect("a string takes everything");
    }
    page
}

#[test]
fn the_page_of_faults_is_what_the_code_says() {
    check("docs/faults.md", &faults_page());
}
