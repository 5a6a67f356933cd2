//! Each lie of a stand-in beside the honest one: what a caller sees of it, and what the ledger counts.

use std::time::Duration;

use factum_contract::far_side::ExampleRequest;
use factum_contract::{Contract, HttpAnswer};
use factum_testbed::{Config, Handle, Lie, StandIn, Testbed};

use crate::caller::exchange;
use crate::stand_ins::{landed, of, one, request, send, word};

/// A stand-in of this contract, honest or not, that takes long enough for two requests to meet.
async fn bed(contract: &Contract, lie: Option<Lie>) -> Handle {
    let stand_in = StandIn::new(contract.clone());
    let mut config = Config {
        stand_ins: vec![match lie {
            Some(lie) => stand_in.lying(lie),
            None => stand_in,
        }],
        ..Config::default()
    };
    config.settings.work = Duration::from_millis(200);
    Testbed::start(config).await.unwrap()
}

fn refund() -> (Contract, ExampleRequest) {
    let contract = one("stripe", "refund.create");
    let example = request(contract.far_side(), 3).unwrap();
    (contract, example)
}

fn ticket() -> (Contract, ExampleRequest) {
    let contract = one("zendesk", "ticket.create");
    let example = request(contract.far_side(), 3).unwrap();
    (contract, example)
}

/// The same request with another text in its body.
fn changed(example: &ExampleRequest, from: &str, to: &str) -> ExampleRequest {
    let mut example = example.clone();
    let body = String::from_utf8(example.request.body).unwrap();
    assert!(body.contains(from), "{body}");
    example.request.body = body.replace(from, to).into_bytes();
    example
}

async fn effects(bed: &Handle, contract: &Contract) -> u64 {
    let counts = landed(bed, contract).await;
    assert_eq!(
        bed.ledger().counts(&of(contract)).total_effects,
        counts.total_effects
    );
    counts.total_effects
}

#[tokio::test]
async fn a_window_that_is_shorter_than_it_says() {
    let (contract, example) = refund();
    for (lie, expected) in [(None, 1), (Some(Lie::ShortWindow), 2)] {
        let bed = bed(&contract, lie).await;
        send(&bed, &example, "a").await;
        bed.advance(Duration::from_secs(7 * 3600));
        send(&bed, &example, "a").await;
        assert_eq!(effects(&bed, &contract).await, expected, "{lie:?}");
    }
}

#[tokio::test]
async fn after_its_window_a_key_is_new() {
    let (contract, example) = refund();
    let bed = bed(&contract, None).await;
    for expected in [1, 2] {
        send(&bed, &example, "a").await;
        assert_eq!(effects(&bed, &contract).await, expected);
        bed.advance(Duration::from_secs(25 * 3600));
    }
}

#[tokio::test]
async fn a_key_that_nobody_looks_at() {
    let (contract, example) = refund();
    for (lie, expected) in [(None, 1), (Some(Lie::IgnoresKey), 2)] {
        let bed = bed(&contract, lie).await;
        send(&bed, &example, "a").await;
        send(&bed, &example, "a").await;
        assert_eq!(effects(&bed, &contract).await, expected, "{lie:?}");
    }
}

#[tokio::test]
async fn the_key_of_other_content() {
    let (contract, example) = refund();
    let other = changed(&example, "amount=500", "amount=501");
    for (lie, means, expected) in [
        (None, "Mismatch", 1),
        (Some(Lie::IgnoresChangedBody), "Done", 1),
        (Some(Lie::NewEffectOnChangedBody), "Done", 2),
    ] {
        let bed = bed(&contract, lie).await;
        send(&bed, &example, "a").await;
        let answer = send(&bed, &other, "a").await;
        assert_eq!(word(&contract, &answer, &other), means, "{lie:?}");
        assert_eq!(effects(&bed, &contract).await, expected, "{lie:?}");
    }
}

#[tokio::test]
async fn errors_that_are_stored_or_not() {
    let failing = |(contract, example): (Contract, ExampleRequest), from: &str| {
        let example = changed(&example, from, "stand-in:fail-once");
        (contract, example)
    };
    let storing = failing(refund(), "500");
    let forgetting = failing(ticket(), "Printer offline");
    for ((contract, example), lie, second) in [
        (&storing, None, 500),
        (&storing, Some(Lie::ForgetsErrors), 200),
        (&forgetting, None, 201),
        (&forgetting, Some(Lie::ReplaysErrors), 500),
    ] {
        let bed = bed(contract, lie).await;
        assert_eq!(send(&bed, example, "a").await.status, 500, "{lie:?}");
        assert_eq!(effects(&bed, contract).await, 0);
        assert_eq!(send(&bed, example, "a").await.status, second, "{lie:?}");
        assert_eq!(effects(&bed, contract).await, u64::from(second != 500));
    }
}

// A form and a path write the colon of the marker as %3A.
#[tokio::test]
async fn a_script_is_found_in_a_form_too() {
    let (contract, example) = refund();
    for written in ["stand-in:fail", "stand-in%3Afail", "stand-in%3afail"] {
        let bed = bed(&contract, None).await;
        let scripted = changed(&example, "500", written);
        assert_eq!(send(&bed, &scripted, "a").await.status, 500, "{written}");
        assert_eq!(effects(&bed, &contract).await, 0, "{written}");
    }
}

#[tokio::test]
async fn the_mark_of_an_answer_that_is_played_again() {
    let (contract, example) = refund();
    for (lie, marked) in [(None, true), (Some(Lie::NoReplayMark), false)] {
        let bed = bed(&contract, lie).await;
        let replayed = |answer: &HttpAnswer| contract.read_answer(answer).replayed;
        assert!(!replayed(&send(&bed, &example, "a").await));
        assert_eq!(
            replayed(&send(&bed, &example, "a").await),
            marked,
            "{lie:?}"
        );
    }
}

#[tokio::test]
async fn two_at_once() {
    let (contract, example) = refund();
    for (lie, second, expected) in [
        (None, "InProgress", 1),
        (Some(Lie::ConcurrentPairDoubles), "Done", 2),
    ] {
        let bed = bed(&contract, lie).await;
        let (one, two) = tokio::join!(send(&bed, &example, "a"), send(&bed, &example, "a"));
        let mut words = [one, two].map(|answer| word(&contract, &answer, &example));
        words.sort();
        assert_eq!(words, ["Done", second], "{lie:?}");
        assert_eq!(effects(&bed, &contract).await, expected, "{lie:?}");
    }
}

#[tokio::test]
async fn lookups_that_show_too_little_or_too_late() {
    let (contract, example) = refund();
    for (lie, at_once, later) in [
        (None, "Found", "Found"),
        (Some(Lie::LaggingStrongLookup), "Absent", "Found"),
        (Some(Lie::IncompleteLookup), "Absent", "Absent"),
    ] {
        let bed = bed(&contract, lie).await;
        send(&bed, &example, "a").await;
        let question = contract
            .lookup_request(&example.params, &example.reference)
            .unwrap();
        let look = async || {
            let (_, answer) = exchange(bed.addr(), &question).await;
            let shown = contract.read_lookup(&answer, &example.reference);
            let shown = format!("{:?}", shown.answer);
            shown.split(['(', ' ']).next().unwrap().to_owned()
        };
        assert_eq!(look().await, at_once, "{lie:?}");
        bed.advance(Duration::from_secs(60));
        assert_eq!(look().await, later, "{lie:?}");
        assert_eq!(effects(&bed, &contract).await, 1);
    }
}

#[tokio::test]
async fn what_another_credential_shares() {
    let message = one("matrix", "message.send");
    let example = request(message.far_side(), 3).unwrap();
    let apart = (message, example);
    let together = refund();
    for ((contract, example), lie, expected) in [
        (&apart, None, 2),
        (&apart, Some(Lie::WiderScope), 1),
        (&together, None, 1),
        (&together, Some(Lie::NarrowerScope), 2),
    ] {
        let bed = bed(contract, lie).await;
        send(&bed, example, "a").await;
        send(&bed, example, "b").await;
        assert_eq!(effects(&bed, contract).await, expected, "{lie:?}");
    }
}

#[tokio::test]
async fn a_cancel_that_does_nothing() {
    let contract = one("testbed", "cancel.sync");
    let example = request(contract.far_side(), 3).unwrap();
    for (lie, expected) in [(None, 0), (Some(Lie::CancelDoesNothing), 1)] {
        let bed = bed(&contract, lie).await;
        send(&bed, &example, "a").await;
        let key = example.key.clone().unwrap();
        let cancel = contract.cancel_request(&example.params, &key).unwrap();
        let (_, answer) = exchange(bed.addr(), &cancel).await;
        let read = format!("{:?}", contract.read_cancel(&answer));
        assert!(read.starts_with("Confirmed"), "{read}");
        assert_eq!(effects(&bed, &contract).await, expected, "{lie:?}");
    }
}

#[tokio::test]
async fn a_lie_about_what_is_not_claimed_changes_nothing() {
    let contract = one("zendesk", "comment.add");
    let example = request(contract.far_side(), 3).unwrap();
    for lie in Lie::ALL {
        assert!(!lie.contradicts(&contract), "{lie:?}");
        assert_eq!(Lie::from_name(lie.name()), Some(*lie));
        assert!(!lie.does().is_empty());
    }
    let bed = bed(&contract, Some(Lie::IgnoresKey)).await;
    send(&bed, &example, "a").await;
    assert_eq!(effects(&bed, &contract).await, 1);
}
