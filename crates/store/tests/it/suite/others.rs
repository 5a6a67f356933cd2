//! The clock, contracts, settings, and restores from a copy.

use factum_core::Span;
use factum_store::Restore;

use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, START, admission};

on_each_store!(
    the_clock_never_runs_back,
    contracts_and_settings_are_kept,
    a_restore_is_declared_and_released,
);

// R11
async fn the_clock_never_runs_back(at: Ready) {
    assert_eq!(at.store.now().await.unwrap(), START);
    at.clock.pass(MINUTE);
    assert_eq!(at.store.now().await.unwrap(), START + MINUTE);
    at.clock.step_back(MINUTE + MINUTE);
    assert_eq!(at.store.now().await.unwrap(), START + MINUTE);
    let record = at.create(admission(1)).await;
    let note = factum_core::Fact::Noted {
        text: "while the wall clock was behind".to_owned(),
    };
    let recorded = at.store.record(record.id(), vec![note]).await.unwrap();
    assert_eq!(recorded.map(|recorded| recorded.at), Some(START + MINUTE));
}

async fn contracts_and_settings_are_kept(at: Ready) {
    let digest = [7; 32];
    assert_eq!(at.store.contract(digest).await.unwrap(), None);
    at.store
        .keep_contract(digest, "first".to_owned())
        .await
        .unwrap();
    at.store
        .keep_contract(digest, "second".to_owned())
        .await
        .unwrap();
    let kept = at.store.contract(digest).await.unwrap();
    assert_eq!(kept.as_deref(), Some("first"), "repeating changes nothing");

    assert_eq!(at.store.setting("paused").await.unwrap(), None);
    for value in ["by ana", "by ben"] {
        at.store
            .set_setting("paused", Some(value.to_owned()))
            .await
            .unwrap();
        let set = at.store.setting("paused").await.unwrap();
        assert_eq!(set.as_deref(), Some(value));
    }
    at.store.set_setting("paused", None).await.unwrap();
    assert_eq!(at.store.setting("paused").await.unwrap(), None);
}

// R18
async fn a_restore_is_declared_and_released(at: Ready) {
    assert_eq!(at.store.restore().await.unwrap(), None);
    assert_eq!(
        at.store.release_restore("ana".to_owned()).await.unwrap(),
        None
    );
    let copy_until = START - MINUTE;
    let declared = at.store.declare_restored(Some(copy_until)).await.unwrap();
    let wanted = Restore {
        copy_until,
        at: START,
        released: None,
    };
    assert_eq!(declared, wanted);
    assert_eq!(at.store.restore().await.unwrap(), Some(wanted.clone()));
    at.clock.pass(MINUTE);
    let released = Restore {
        released: Some(("ana".to_owned(), START + MINUTE)),
        ..wanted
    };
    for by in ["ana", "ben"] {
        let after = at.store.release_restore(by.to_owned()).await.unwrap();
        assert_eq!(after.as_ref(), Some(&released), "the first release stands");
    }
    // A second restore is not released by the first one's release, and the earliest copy counts.
    let later = at
        .store
        .declare_restored(Some(START + Span::from_secs(1)))
        .await
        .unwrap();
    assert_eq!((later.copy_until, later.released), (copy_until, None));
}
