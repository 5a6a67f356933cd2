//! One identity, one action (cases, group G).

use factum::{Code, Filter, State, Submission};
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::Rig;

/// B82, B191, B167: the same submission many times at once is one action and one effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once_are_one_action() {
    let rig = Rig::start("").await;
    let mut submitting = JoinSet::new();
    for _ in 0..200 {
        let factum = rig.factum.clone();
        submitting.spawn(async move {
            let action = factum.action("bed", "neither.sync").key("comment-9/agent");
            let submitted = action
                .payload(json!({ "business": "once" }))
                .submit()
                .await
                .unwrap();
            (submitted.status.id, submitted.created)
        });
    }
    let answers = submitting.join_all().await;
    assert_eq!(answers.iter().filter(|(_, created)| *created).count(), 1);
    assert!(answers.iter().all(|(id, _)| *id == answers[0].0));
    rig.rested(answers[0].0.parse().unwrap()).await;
    assert_eq!((rig.effects("once"), rig.deliveries("once")), (1, 1));
}

/// B71: of two bodies that race on one key exactly one is taken; the other is told which members differ, and no values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_bodies_that_race_one_is_taken() {
    let rig = Rig::start("").await;
    for pair in 0..50 {
        let (key, business) = (format!("race-{pair}"), format!("race-{pair}"));
        let submit = |amount: u64| {
            let action = rig.factum.action("bed", "key.sync").key(key.clone());
            action
                .payload(json!({ "business": business, "secret_amount": amount }))
                .submit()
        };
        let (first, second) = tokio::join!(submit(470_011_470_011), submit(470_011_470_012));
        let (taken, refused) = if first.is_ok() {
            (first, second)
        } else {
            (second, first)
        };
        let (taken, refused) = (taken.unwrap(), refused.unwrap_err());
        assert_eq!(refused.code, Code::IdentityConflict);
        assert_eq!(&*refused.member, "/payload/secret_amount");
        assert_eq!(refused.action.unwrap().to_string(), taken.status.id);
        assert!(
            !refused.to_string().contains("47001147001"),
            "no value shows: {refused}"
        );
        rig.rested(taken.status.id.parse().unwrap()).await;
        assert_eq!(rig.effects(&business), 1);
    }
}

/// B85, a double click: the repeat joins, nothing is sent again, and the answer says so.
#[tokio::test]
async fn a_repeat_joins_whatever_the_state() {
    let rig = Rig::start("").await;
    let id = rig.submit("key.sync", "click").await;
    let first = rig.rested(id).await;
    let repeat = rig
        .factum
        .action("bed", "key.sync")
        .key("click")
        .payload(json!({ "business": "click" }));
    let repeat = repeat.submit().await.unwrap();
    assert!(!repeat.created && repeat.status.joined);
    assert_eq!(
        (repeat.status.id, repeat.status.created_at),
        (first.id, first.created_at)
    );
    assert_eq!((rig.effects("click"), rig.deliveries("click")), (1, 1));
}

/// The same intent in other spacing and member order is the same intent; another number notation is not.
#[tokio::test]
async fn spacing_and_order_do_not_make_another_intent() {
    let rig = Rig::start("").await;
    let submit = |text: &str| rig.factum.submit(Submission::from_json(text).unwrap());
    let head = r#""destination":"bed","operation":"key.sync","key":"k""#;
    let first = submit(&format!(
        r#"{{{head},"payload":{{"business":"b","n":1.0}}}}"#
    ))
    .await
    .unwrap();
    let spaced = format!("{{ \"payload\" : {{\"n\":1.0,\n \"business\":\"b\"}}, {head} }}");
    assert!(!submit(&spaced).await.unwrap().created);
    let other = submit(&format!(r#"{{{head},"payload":{{"business":"b","n":1}}}}"#))
        .await
        .unwrap_err();
    assert_eq!(
        (&*other.member, other.action.unwrap().to_string()),
        ("/payload/n", first.status.id)
    );
}

/// One event may cause several effects; delivered twice, it is one event.
#[tokio::test]
async fn an_event_delivered_twice_is_one_event() {
    let rig = Rig::start("").await;
    let submit = |event: &'static str, effect: &'static str| {
        let action = rig
            .factum
            .action("bed", "key.sync")
            .event("shop", event, effect);
        action
            .payload(json!({ "business": format!("{event}-{effect}") }))
            .submit()
    };
    let mail = submit("e1", "mail").await.unwrap();
    assert!(!submit("e1", "mail").await.unwrap().created);
    let ticket = submit("e1", "ticket").await.unwrap();
    assert!(ticket.created);
    for status in [&mail.status, &ticket.status] {
        rig.rested(status.id.parse().unwrap()).await;
    }
    assert_eq!((rig.effects("e1-mail"), rig.effects("e1-ticket")), (1, 1));
}

/// B68: a second intentional announcement with identical text has its own key, and goes out.
#[tokio::test]
async fn a_second_intentional_announcement_goes_out() {
    let rig = Rig::start("").await;
    let payload = json!({ "business": "news", "text": "we are open" });
    let first = rig
        .submit_payload("lookup.sync", "monday", payload.clone())
        .await;
    let second = rig.submit_payload("lookup.sync", "tuesday", payload).await;
    assert_ne!(first, second);
    for id in [first, second] {
        assert_eq!(rig.rested(id).await.state, "succeeded");
    }
    assert_eq!(rig.effects("news"), 2);
}

/// B86, B74: after a final failure the same key gives the stored failure, and a new key is a new try.
#[tokio::test]
async fn the_key_stays_bound_after_a_final_failure() {
    let rig = Rig::start("").await;
    let payload = json!({ "business": "call", "behave": "reject" });
    let id = rig
        .submit_payload("neither.sync", "try-1", payload.clone())
        .await;
    assert_eq!(rig.rested(id).await.state, "terminal_failure");
    let again = rig
        .factum
        .action("bed", "neither.sync")
        .key("try-1")
        .payload(payload)
        .submit()
        .await
        .unwrap();
    assert_eq!(
        (again.created, again.status.state),
        (false, "terminal_failure")
    );
    let fixed = rig
        .submit_payload("neither.sync", "try-2", json!({ "business": "call" }))
        .await;
    assert_eq!(rig.rested(fixed).await.state, "succeeded");
    assert_eq!(rig.effects("call"), 1);
}

/// Bodies that break a rule, the code and the member.
const BAD: &[(&str, Code, &str)] = &[
    (
        r#"{"destination":"bed","operation":"key.sync"}"#,
        Code::MissingIdentity,
        "/key",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":" "}"#,
        Code::BadIdentity,
        "/key",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","event":{"source":"s","id":"1"}}"#,
        Code::MissingIdentity,
        "/effect",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","kex":1}"#,
        Code::UnknownMember,
        "/kex",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","conversation":{"id":"c","tun":1}}"#,
        Code::UnknownMember,
        "/conversation/tun",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":7}"#,
        Code::WrongType,
        "/key",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","params":[1]}"#,
        Code::WrongType,
        "/params",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","deadline":"soon"}"#,
        Code::WrongType,
        "/deadline",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","trace":"x"}"#,
        Code::WrongType,
        "/trace",
    ),
    (
        r#"{"destination":"bad","operation":"key.sync","key":"k"}"#,
        Code::UnknownDestination,
        "/destination",
    ),
    (
        r#"{"destination":"bed","operation":"key.sunc","key":"k"}"#,
        Code::UnknownOperation,
        "/operation",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","deadline":"2020-01-01T00:00:00Z"}"#,
        Code::DeadlinePassed,
        "/deadline",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","payload":{"n":1e999}}"#,
        Code::NumberRange,
        "/payload/n",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k","payload":{"n":1,"n":2}}"#,
        Code::DuplicateMember,
        "/payload/n",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","key":"k""#,
        Code::MalformedJson,
        "",
    ),
    (
        r#"["bed","key.sync","k",null,null,null,{"business":"x"},null,null,null,null,null,null,null]"#,
        Code::WrongType,
        "",
    ),
    (
        r#"{"destination":"bed","operation":"key.sync","event":["s","1"],"effect":"e"}"#,
        Code::WrongType,
        "/event",
    ),
    (
        r#"{"operation":"key.sync","key":"k"}"#,
        Code::WrongType,
        "/destination",
    ),
];

/// B70 and the rest of bad input: each names member, rule and remedy, and records nothing.
#[tokio::test]
async fn bad_input_is_named_and_records_nothing() {
    let rig = Rig::start("").await;
    for (text, code, member) in BAD {
        let refused = match Submission::from_json(text) {
            Ok(submission) => rig.factum.submit(submission).await.unwrap_err(),
            Err(problem) => problem,
        };
        assert_eq!(
            (refused.code, &*refused.member),
            (*code, *member),
            "{text}: {refused}"
        );
        assert!(
            !refused.rule.is_empty() && !refused.remedy.is_empty(),
            "{text}"
        );
    }
    assert_eq!(
        rig.factum
            .list(Filter {
                limit: 10,
                ..Filter::default()
            })
            .await
            .unwrap(),
        []
    );
}

/// B158: what is scheduled ahead waits in our own store, and a deadline that passes ends it with proof.
#[tokio::test]
async fn not_before_and_deadline_are_kept() {
    let rig = Rig::start("").await;
    let at = |millis: i64| jiff::Timestamp::now() + jiff::SignedDuration::from_millis(millis);
    let later = rig
        .factum
        .action("bed", "key.sync")
        .key("later")
        .payload(json!({ "business": "later" }));
    let later = later.not_before(at(700)).submit().await.unwrap();
    assert_eq!(
        (later.status.state, later.status.next.step),
        ("pending", "send")
    );
    rig.testbed.shut_door().await;
    let never = rig
        .factum
        .action("bed", "key.sync")
        .key("never")
        .payload(json!({ "business": "never" }));
    let never = never.deadline(at(600)).submit().await.unwrap();
    let never = rig.rested(never.status.id.parse().unwrap()).await;
    assert_eq!(
        (never.state, never.happened, never.safe_to_call_again),
        ("expired", "no", true),
        "{never:?}"
    );
    rig.testbed.open_door().await.unwrap();
    let later = rig.rested(later.status.id.parse().unwrap()).await;
    assert_eq!(later.state, "succeeded");
    assert_eq!((rig.effects("later"), rig.effects("never")), (1, 0));
}

/// The states by their words, so that a listing by state finds what it should.
#[tokio::test]
async fn a_listing_finds_by_state_key_and_conversation() {
    let rig = Rig::start("close_fin,class=effect").await;
    let action = rig
        .factum
        .action("bed", "neither.sync")
        .key("k-1")
        .conversation("conv-91", 14, "please");
    let id = action
        .payload(json!({ "business": "k-1" }))
        .submit()
        .await
        .unwrap()
        .status
        .id;
    rig.rested(id.parse().unwrap()).await;
    let by = |filter: Filter| {
        rig.factum.list(Filter {
            limit: 10,
            ..filter
        })
    };
    let unknown = by(Filter {
        state: Some(State::OutcomeUnknown),
        ..Filter::default()
    })
    .await
    .unwrap();
    let keyed = by(Filter {
        key: Some("k-1".to_owned()),
        ..Filter::default()
    })
    .await
    .unwrap();
    let talked = by(Filter {
        conversation: Some("conv-91".to_owned()),
        ..Filter::default()
    })
    .await
    .unwrap();
    for found in [unknown, keyed, talked] {
        assert_eq!(
            found
                .iter()
                .map(|status| status.id.as_str())
                .collect::<Vec<_>>(),
            [id.as_str()]
        );
    }
    assert_eq!(
        by(Filter {
            state: Some(State::Succeeded),
            ..Filter::default()
        })
        .await
        .unwrap(),
        []
    );
}
