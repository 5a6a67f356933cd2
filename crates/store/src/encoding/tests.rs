//! Everything that is written reads back as it was, over all variants and the whole range of their members.

use std::collections::BTreeMap;

use factum_core::evidence::{Answer, AnswerClass, Capture, Mark, PermissionKind, Receipt};
use factum_core::{
    AttemptNo, Bound, Epoch, EvidenceId, Fact, Limits, Span, Timestamp, WorkerNonce,
};
use proptest::prelude::*;

use super::bytes;
use super::strategies::{action, class, facts, permission};
use super::{Fixed, NEWEST, fact_text, head_text, read_fact, read_head};
use crate::record::Action;

const VERSION_FIRST: &str = r#"{"v":2,"#;

fn fixed(action: &Action) -> Fixed {
    Fixed {
        id: action.intent.action,
        identity: action.identity_hash,
        fingerprint: action.fingerprint,
        contract: action.content.contract,
        params: action.content.params.clone(),
        payload: action.content.payload.clone(),
    }
}

proptest! {
    #[test]
    fn every_fact_reads_back_and_is_named_by_the_cores_word(all in facts()) {
        for fact in all {
            let text = fact_text(&NEWEST, &fact);
            prop_assert_eq!(read_fact(&NEWEST, &text), Ok(fact.clone()), "{}", text);
            let value: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
            let by_word = value["f"].as_object().unwrap().keys().next().cloned();
            prop_assert_eq!(by_word.as_deref(), Some(fact.kind()));
            prop_assert!(text.starts_with(VERSION_FIRST), "{}", text);
        }
    }

    #[test]
    fn every_action_reads_back(action in action()) {
        let text = head_text(&NEWEST, &action);
        prop_assert_eq!(read_head(&NEWEST, &text, fixed(&action)), Ok(action), "{}", text);
    }

    #[test]
    fn a_fact_with_bytes_changed_is_refused_or_another_fact(all in facts(), edits in edits()) {
        for fact in all {
            bytes::column(&edited(fact_text(&NEWEST, &fact).into_bytes(), &edits));
        }
    }

    #[test]
    fn an_action_with_bytes_changed_is_refused_or_another_action(action in action(), edits in edits()) {
        bytes::column(&edited(head_text(&NEWEST, &action).into_bytes(), &edits));
    }

    #[test]
    fn bytes_that_nobody_wrote_are_refused(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        bytes::column(&noise);
    }

    #[test]
    fn words_of_permissions_and_classes_are_the_cores(permission in permission(), class in class()) {
        let mark = |permission| Mark { permission, ..sample_mark() };
        let text = fact_text(&NEWEST, &Fact::Marked(mark(permission)));
        let quoted = format!("\"{}\"", permission.name());
        prop_assert!(text.contains(&quoted), "{}", text);
        let word = format!("\"{}\"", class.name());
        let text = fact_text(&NEWEST, &Fact::Reread { supersedes: EvidenceId(1), class, why: String::new() });
        prop_assert!(text.contains(&word), "{}", text);
    }
}

/// A change: from where, how many bytes, and what stands there instead.
type Edit = (prop::sample::Index, usize, &'static str);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let pieces = [
        "",
        "0",
        "1",
        "-1",
        "9",
        "99999999999999999999",
        "null",
        "true",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "x",
        "xff",
        "\\u0000",
        "\u{fffd}",
        " ",
        "\0",
        "1e400",
        "\"v\":1,",
    ];
    prop::collection::vec(
        (
            any::<prop::sample::Index>(),
            0..12_usize,
            prop::sample::select(pieces.to_vec()),
        ),
        0..4,
    )
}

fn edited(mut bytes: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for (at, length, piece) in edits {
        let from = at.index(bytes.len() + 1);
        let to = (from + length).min(bytes.len());
        bytes.splice(from..to, piece.bytes());
    }
    bytes
}

fn sample_mark() -> Mark {
    Mark {
        attempt: AttemptNo(1),
        epoch: Epoch(0),
        permission: PermissionKind::First,
        worker: WorkerNonce(9),
        at: Timestamp::from_micros(5),
        valid_until: Timestamp::from_micros(6),
        lease_until: Timestamp::from_micros(7),
        bound: Limits::default().bound,
    }
}

#[test]
fn the_strategies_leave_out_no_kind_of_fact() {
    // The match has no wildcard: a new kind of fact does not compile here until it stands in `facts` too.
    let index = |fact: &Fact| match fact {
        Fact::Marked(_) => 0,
        Fact::NotSent { .. } => 1,
        Fact::Lost(_) => 2,
        Fact::Answered(_) => 3,
        Fact::ProcessGone { .. } => 4,
        Fact::LeaseOver { .. } => 5,
        Fact::LookedUp(_) => 6,
        Fact::Polled { .. } => 7,
        Fact::CancelMarked(_) => 8,
        Fact::CancelAnswered { .. } => 9,
        Fact::CalledBack(_) => 10,
        Fact::Verdict(_) => 11,
        Fact::Taken { .. } => 12,
        Fact::Released { .. } => 13,
        Fact::CheckAgain { .. } => 14,
        Fact::CancelRequested { .. } => 15,
        Fact::AuthorityLost { .. } => 16,
        Fact::DeadlinePassed { .. } => 17,
        Fact::ApprovalOver { .. } => 18,
        Fact::GaveUp { .. } => 19,
        Fact::SearchEnded { .. } => 20,
        Fact::ClockRead { .. } => 21,
        Fact::ReviewOpened { .. } => 22,
        Fact::StoreRestored { .. } => 23,
        Fact::NotAdmitted { .. } => 24,
        Fact::Reread { .. } => 25,
        Fact::Unsupported { .. } => 26,
        Fact::Noted { .. } => 27,
        Fact::LeaseExtended { .. } => 28,
    };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let seen: Vec<usize> = facts()
        .iter()
        .map(|kind| index(&kind.new_tree(&mut runner).unwrap().current()))
        .collect();
    assert_eq!(seen, (0..29).collect::<Vec<_>>());
}

#[test]
fn other_versions_and_unknown_members_are_refused_in_words() {
    let check = |text: &str, part: &str| {
        let error = read_fact(&NEWEST, text).expect_err(text);
        assert!(error.contains(part), "{error}");
    };
    check(r#"{"v":3,"f":{"noted":{"text":"x"}}}"#, "version 3");
    check(r#"{"v":3,"f":{"dreamt":{"text":"x"}}}"#, "version 3");
    check(
        r#"{"v":1,"f":{"noted":{"text":"x","more":1}}}"#,
        "unknown field `more`",
    );
    check(r#"{"v":1,"f":{"dreamt":{}}}"#, "unknown variant `dreamt`");
    check(
        r#"{"v":1,"f":{"clock_read":{"at":99999999999999999999}}}"#,
        "cannot be read",
    );
    check("", "cannot be read");
}

#[test]
fn the_form_is_fixed() {
    assert_eq!(
        fact_text(&NEWEST, &Fact::Marked(sample_mark())),
        concat!(
            r#"{"v":2,"f":{"marked":{"attempt":1,"epoch":0,"permission":"first","worker":9,"at":5,"valid_until":6,"#,
            r#""lease_until":7}}}"#
        )
    );
    let own = Mark {
        bound: Bound {
            skew: Span::from_secs(3),
            ..Limits::default().bound
        },
        ..sample_mark()
    };
    assert_eq!(
        fact_text(&NEWEST, &Fact::Marked(own)),
        concat!(
            r#"{"v":2,"f":{"marked":{"attempt":1,"epoch":0,"permission":"first","worker":9,"at":5,"valid_until":6,"#,
            r#""lease_until":7,"bound":{"write_limit":10000000,"linger":5000000,"pause_margin":30000000,"skew":3000000}}}}"#
        )
    );
    let answer = Answer {
        attempt: AttemptNo(2),
        read_at: Timestamp::from_micros(8),
        class: AnswerClass::Done,
        receipt: Some(Receipt::new("T-1")),
        replayed: false,
        retry_after: None,
        capture: Capture {
            status: 201,
            body: vec![0xff, 0x00],
            truncated: false,
        },
    };
    assert_eq!(
        fact_text(&NEWEST, &Fact::Answered(answer)),
        concat!(
            r#"{"v":2,"f":{"answered":{"attempt":2,"read_at":8,"class":"done","receipt":{"reference":"T-1"},"#,
            r#""replayed":false,"capture":{"status":201,"body":"xff00","truncated":false}}}}"#
        )
    );
}

// What version 1 wrote in full means the same as what version 2 leaves out.
#[test]
fn texts_of_the_first_version_are_read() {
    let whole = concat!(
        r#"{"v":1,"f":{"marked":{"attempt":1,"epoch":0,"permission":"first","worker":9,"at":5,"valid_until":6,"#,
        r#""lease_until":7,"bound":{"write_limit":10000000,"linger":5000000,"pause_margin":30000000,"skew":2000000}}}}"#
    );
    assert_eq!(
        read_fact(&NEWEST, whole).unwrap(),
        Fact::Marked(sample_mark())
    );
}
