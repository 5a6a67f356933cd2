//! What has to hold whatever the body of a submission is. `byte_noise` calls these with drawn bytes, `fuzz/` with bytes that a
//! fuzzer finds; they use nothing but the crate's own interface, so that both can include this file.

use factum_engine::canonical::canonical;
use factum_engine::submission::KEY_MAX;
use factum_engine::{Problem, Submission};

/// A JSON text: refused by member, rule and remedy, or in the one form of its value.
pub(crate) fn canonical_json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = serde_json::from_str::<serde_json::Value>(&text);
    match canonical(&text, "/payload") {
        Ok(form) => {
            assert_eq!(canonical(&form, "/payload").as_ref(), Ok(&form));
            let value: serde_json::Value = serde_json::from_str(&form).expect("a form is JSON");
            assert_eq!(
                Some(&value),
                read.as_ref().ok(),
                "another value than {text:?}"
            );
            assert!(!form.contains(['\n', '\r', '\t']), "{form:?}");
            // White space changes nothing, one more element does.
            assert_eq!(
                canonical(&format!(" {text}\n"), "/payload").as_ref(),
                Ok(&form)
            );
            assert_ne!(canonical(&format!("[{text}]"), "/payload").ok(), Some(form));
        }
        Err(problem) => check_problem(&problem),
    }
}

/// The body of a submission: refused by member, rule and remedy, or with an identity and content that a second reading of the
/// same submission has too.
pub(crate) fn submission(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let submission = match Submission::from_json(&text) {
        Ok(submission) => submission,
        Err(problem) => return check_problem(&problem),
    };
    let written = serde_json::to_string(&submission).expect("a submission is plain data");
    let again = Submission::from_json(&written).expect("what was read can be written and read");
    match (
        submission.check("t", "user:ana"),
        again.check("t", "user:ana"),
    ) {
        (Ok(checked), Ok(again)) => {
            assert_eq!(format!("{checked:?}"), format!("{again:?}"), "{written}");
            assert_eq!(checked.scope.tenant, "t", "a body names no tenant");
            assert!(!checked.scope.destination.is_empty());
            let names = checked.compared.keys();
            assert!(names.clone().all(|name| name.starts_with('/')), "{names:?}");
            match &checked.identity {
                factum_core::Identity::Key(key) => check_name(key),
                factum_core::Identity::Event { event, effect } => {
                    for name in [&event.source, &event.id, effect] {
                        check_name(name);
                    }
                }
            }
        }
        (Err(problem), Err(again)) => {
            assert_eq!(problem, again, "{written}");
            check_problem(&problem);
        }
        (one, other) => panic!("{one:?} and then {other:?}"),
    }
}

fn check_name(name: &str) {
    assert!(!name.trim().is_empty() && name.len() <= KEY_MAX, "{name:?}");
    assert!(!name.chars().any(char::is_control), "{name:?}");
}

fn check_problem(problem: &Problem) {
    assert!(
        problem.member.is_empty() || problem.member.starts_with('/'),
        "{problem:?}"
    );
    assert!(
        !problem.rule.is_empty() && !problem.remedy.is_empty(),
        "{problem:?}"
    );
    assert!((400..500).contains(&problem.code.status()), "{problem:?}");
}
