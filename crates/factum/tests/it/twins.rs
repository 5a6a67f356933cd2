//! The twin guard (R16): equal content under another identity, counted at the destination.

use factum::{Code, Problem};
use serde_json::json;

use crate::support::Rig;

pub(crate) const GUARDED: &str = r#"
    [destinations.bed.operations."key.sync"]
    twin_guard = "1 h"
"#;

async fn submit(rig: &Rig, key: &str, another: bool) -> Result<String, Problem> {
    let action = rig.factum.action("bed", "key.sync").key(key);
    let action = action.payload(json!({ "business": "b" }));
    let action = if another { action.another() } else { action };
    action.submit().await.map(|submitted| submitted.status.id)
}

/// B65: a caller makes a new key with every try, because the answer to the first is lost.
#[tokio::test]
async fn a_new_key_with_every_try_is_one_effect_and_another_one_is_meant() {
    let rig = Rig::start_with("close_fin,class=effect,n=1,per=reference", GUARDED).await;
    let first = submit(&rig, "try-1", false).await.unwrap();
    for n in 2..6 {
        let refused = submit(&rig, &format!("try-{n}"), false).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.code.status()),
            (Code::PossibleDuplicate, 409)
        );
        assert_eq!(refused.action, Some(first.parse().unwrap()));
        assert_eq!(&*refused.member, "/another");
    }
    assert_eq!(submit(&rig, "try-1", false).await.unwrap(), first);
    assert_eq!(rig.rested(first.parse().unwrap()).await.state, "succeeded");
    let late = submit(&rig, "try-6", false).await.unwrap_err();
    assert_eq!(
        late.code,
        Code::PossibleDuplicate,
        "it was done a moment ago"
    );
    assert_eq!(rig.effects("b"), 1);
    let second = submit(&rig, "try-6", true).await.unwrap();
    assert_eq!(rig.rested(second.parse().unwrap()).await.state, "succeeded");
    assert_eq!(rig.effects("b"), 2);
}

/// Without the setting, equal content under another identity is another action.
#[tokio::test]
async fn without_a_guard_a_second_intent_is_no_retry() {
    let rig = Rig::start("").await;
    for key in ["monday", "tuesday"] {
        let id = submit(&rig, key, false).await.unwrap();
        assert_eq!(rig.rested(id.parse().unwrap()).await.state, "succeeded");
    }
    assert_eq!(rig.effects("b"), 2);
}

#[test]
fn a_time_that_is_none_is_refused_by_its_member() {
    let text = |guard: &str| {
        let guarded = GUARDED.replace("1 h", guard);
        let config = crate::support::config("http://127.0.0.1:9", &guarded);
        let catalogue = factum::setup::catalogue(&config).unwrap();
        factum::setup::destinations(&config, &catalogue).map(|_| ())
    };
    assert!(text("off").is_ok() && text("10 min").is_ok());
    let refused = text("soon").unwrap_err();
    assert!(
        refused.member.ends_with("/key.sync/twin_guard"),
        "{refused:?}"
    );
}
