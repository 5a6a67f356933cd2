//! What has to hold whatever the body of a submission is. `byte_noise` calls these with drawn bytes, `fuzz/` with bytes that a
//! fuzzer finds; they use nothing but the crate's own interface, so that both can include this file.

use factum_engine::canonical::canonical;
use factum_engine::submission::KEY_MAX;
use factum_engine::{Code, Problem, Submission};
use serde_json::Value;

/// A JSON text: refused by member, rule and remedy, or in the one form of its value.
pub(crate) fn canonical_json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = serde_json::from_str::<Value>(&text);
    match canonical(&text, "/payload") {
        Ok(form) => {
            assert_eq!(canonical(&form, "/payload").as_ref(), Ok(&form));
            let value: Value = serde_json::from_str(&form).expect("a form is JSON");
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
            // The order of members changes nothing, and none may come twice. (Both texts are written anew: `Value` spells
            // exponents in its own way.)
            let mut turned = String::new();
            turn(&value, &mut turned);
            let straight = canonical(&value.to_string(), "/payload");
            assert_eq!(canonical(&turned, "/payload"), straight, "{turned}");
            let twice = format!("{{\"a\":{form},\"a\":{form}}}");
            let refused = canonical(&twice, "")
                .expect_err("a member that comes twice")
                .code;
            assert!(
                matches!(refused, Code::DuplicateMember | Code::TooDeep),
                "{twice}"
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

/// Writes a value with the members of its objects from the last to the first.
fn turn(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.reverse();
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                turn(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                turn(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
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
