//! Authority that ends between an unknown outcome and what would follow, with the testbed's ledger as the judge.

use std::time::Duration;

use factum::config::Wait;
use factum::core::Span;
use factum::directory::{GrantEntry, Limits, PrincipalEntry, Standing};
use factum::statements::Reader;
use factum::view::StatusView;
use factum::{ActionId, Caller, EntryKey, Factum, Kind, Reason, Submission};
use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Testbed};

use crate::support::{PATIENCE, Rig, config};

const REASON: Reason<'_> = Reason {
    by: "ana",
    why: "the test says so",
};

/// Whatever would follow an unknown outcome by itself comes so late that everything here is over before.
async fn rig(faults: &str) -> Rig {
    let faults = FaultPlan::parse(7, faults).unwrap();
    let testbed = Testbed::start(TestbedConfig {
        faults,
        ..TestbedConfig::default()
    })
    .await
    .unwrap();
    let mut config = config(&testbed.base_url(), "");
    let bed = config.destinations.get_mut("bed").unwrap();
    bed.limits.backoff = Some(Wait(Span::from_secs(600)));
    bed.limits.backoff_max = bed.limits.backoff;
    let factum = Factum::memory().config(config).start().await.unwrap();
    Rig { testbed, factum }
}

/// A principal with a grant for everything.
async fn caller(factum: &Factum) -> Caller {
    let engine = factum.engine();
    let key = EntryKey::new(Kind::Principal, "default", "agent");
    let body = PrincipalEntry::new(None, None).text();
    engine.add_entry(key, body, REASON).await.unwrap();
    let all = Vec::new;
    let grant = GrantEntry::new(
        None,
        "agent".to_owned(),
        all(),
        all(),
        all(),
        None,
        Limits::default(),
    );
    engine
        .add_entry(grant_key(), grant.text(), REASON)
        .await
        .unwrap();
    Caller {
        grant: Some("night".to_owned()),
        ..Caller::trusted("default", "agent")
    }
}

fn grant_key() -> EntryKey {
    EntryKey::new(Kind::Grant, "default", "night")
}

async fn revoke(factum: &Factum) {
    let key = grant_key();
    let revoked = factum.engine().change_entry(&key, REASON, |entry| {
        let mut grant = GrantEntry::read(&entry.body).unwrap();
        grant.standing = Standing::Revoked;
        Ok(Some(grant.text()))
    });
    revoked.await.unwrap();
}

async fn submit(factum: &Factum, caller: &Caller, operation: &str, business: &str) -> ActionId {
    let text = format!(
        r#"{{"destination":"bed","operation":"{operation}","key":"{business}","payload":{{"business":"{business}"}}}}"#
    );
    let submission = Submission::from_json(&text).unwrap();
    let submitted = factum
        .submit_for(submission, caller, Reader::default())
        .await
        .unwrap();
    submitted.status.id.parse().unwrap()
}

/// Until the action is unknown, with this step still to come.
async fn unknown(rig: &Rig, id: ActionId, step: &str) {
    let looked = async {
        loop {
            let status = rig.factum.status(id).await.unwrap();
            if status.state == "outcome_unknown" && status.next.step == step {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looked)
        .await
        .expect("its answer is lost");
}

/// As the action rests once the destination was asked often enough: absence counts only when no request can land any more.
async fn asked(rig: &Rig, id: ActionId) -> StatusView {
    for _ in 0..20 {
        // Once it rests there is nothing more to ask.
        let _ = rig.factum.check_again(id, "ana").await;
        let status = rig
            .factum
            .wait_status(id, Duration::from_secs(3))
            .await
            .unwrap();
        if status.rests() {
            return status;
        }
    }
    panic!("still going on: {:?}", rig.facts(id).await)
}

/// R10, law 6: revoked while it is unknown, it is not sent again, although the key would allow it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_stops_the_resend_of_what_is_unknown() {
    let rig = rig("close_after_read,class=effect,n=1").await;
    let caller = caller(&rig.factum).await;
    let id = submit(&rig.factum, &caller, "key.sync", "stopped").await;
    unknown(&rig, id, "send").await;
    revoke(&rig.factum).await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review"),
        "{:?}",
        rig.facts(id).await
    );
    assert!(rig.facts(id).await.contains(&"authority_lost"));
    assert_eq!((rig.effects("stopped"), rig.deliveries("stopped")), (0, 1));
}

/// R10: the lookup goes on, and what it finds counts; nothing is sent again, even where it finds nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_leaves_the_lookup_alone() {
    for (fault, state, effects) in [
        ("close_fin", "succeeded", 1),
        ("close_after_read", "cancelled", 0),
    ] {
        let rig = rig(&format!("{fault},class=effect,n=1")).await;
        let caller = caller(&rig.factum).await;
        let id = submit(&rig.factum, &caller, "lookup.sync", "asked").await;
        unknown(&rig, id, "look_up").await;
        revoke(&rig.factum).await;
        let status = asked(&rig, id).await;
        let facts = rig.facts(id).await;
        assert_eq!(status.state, state, "{fault}: {facts:?}");
        assert!(facts.contains(&"looked_up"), "{fault}: {facts:?}");
        assert!(facts.contains(&"authority_lost"), "{fault}: {facts:?}");
        assert_eq!(
            (rig.effects("asked"), rig.deliveries("asked")),
            (effects, 1),
            "{fault}"
        );
    }
}
