//! `factum explain`: a page for every code, state and step.

use factum::{Code, State};

use crate::support::Folder;

#[test]
fn every_code_state_and_step_has_a_page() {
    let folder = Folder::new();
    let listed = folder.json(&["explain"]);
    let codes = listed["codes"].as_array().unwrap();
    assert_eq!(codes.len(), Code::ALL.len());
    for code in codes {
        let what = code["what"].as_str().unwrap();
        let page = folder.run(&["explain", what]);
        assert_eq!(page.code, 0, "{what}");
        assert!(
            page.out.starts_with(&format!("# {what}")) && page.out.contains("## What to do"),
            "{what}: {}",
            page.out
        );
    }
    for state in State::ALL {
        let page = folder.run(&["explain", state.name()]);
        assert!(
            page.out.contains(state.happened().name()) && page.out.contains("What to do"),
            "{}",
            page.out
        );
    }
    for step in listed["steps"].as_array().unwrap() {
        assert_eq!(
            folder.run(&["explain", step.as_str().unwrap()]).code,
            0,
            "{step}"
        );
    }
}

#[test]
fn codes_are_found_in_any_case_and_others_are_not_found() {
    let folder = Folder::new();
    assert!(folder.run(&["explain", "f1007"]).out.contains("identity"));
    assert!(folder.run(&["explain", "exit-codes"]).out.contains("10"));
    assert_eq!(folder.refused(&["explain", "F9999"]).0, 3);
}
