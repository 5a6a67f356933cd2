//! What is kept, and what stays of what is not (R24): content, actions, identities.

use std::collections::BTreeSet;
use std::sync::Arc;

use factum_core::evidence::AnswerClass;
use factum_core::mistake::{Mistake, making};
use factum_core::{ActionId, Fact, Span, State, Timestamp};
use factum_store::{
    Action, Admission, Admitted, Change, EntryKey, Kind, MemoryStore, PURGED_MAX, Purge, Purged,
    Record, SettledPage, Store as _, Take,
};

use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, START, action, answered, mark, next, submission};

on_each_store!(
    content_goes_and_what_is_compared_stays,
    nothing_goes_that_is_not_settled_or_has_moved_on,
    an_action_leaves_a_tombstone,
    what_comes_late_is_kept_and_shown,
    a_hold_made_meanwhile_is_never_run_over,
    forgotten_identities_are_refused,
    the_later_action_on_a_subject_stays_while_an_earlier_one_is_open,
    entries_go_with_their_action,
    pages_lead_through_all_and_a_purge_is_bounded,
    a_sweep_races_with_submissions,
);

impl Ready {
    /// A new action that is done.
    async fn done(&self, action: Action) -> Record {
        let record = self.create(submission(action)).await;
        let (claim, _) = self.hold(&record).await;
        let at = self.store.now().await.unwrap();
        let wait = next("wait", Some(at + MINUTE));
        let marked = self.store.commit(&claim, vec![mark(1, at)], wait).await;
        marked.unwrap();
        self.store.release(claim).await.unwrap();
        let id = record.id();
        let facts = vec![answered(1, AnswerClass::Done)];
        self.store.record(id, facts).await.unwrap();
        self.settle(&record).await
    }

    /// Decides that nothing is left to be done.
    async fn settle(&self, record: &Record) -> Record {
        let (claim, _) = self.hold(record).await;
        let none = self.store.commit(&claim, Vec::new(), next("none", None));
        none.await.unwrap();
        self.store.release(claim).await.unwrap();
        self.read(record).await
    }

    async fn take(&self, take: Take, records: &[&Record]) -> Vec<ActionId> {
        let wishes = records.iter().map(|record| wish(record, take)).collect();
        let edition = self.store.edition().await.unwrap();
        match self.store.purge(wishes, edition).await.unwrap() {
            Purged::Done(done) => done,
            Purged::Stale => panic!("nobody changed the register"),
        }
    }

    async fn all_settled(&self) -> SettledPage {
        let end = START + Span::from_secs(86_400);
        self.store.settled(None, end, 1_000).await.unwrap()
    }
}

fn wish(record: &Record, take: Take) -> Purge {
    Purge {
        action: record.id(),
        version: record.version,
        take,
        note: "content purged: kept for a day".to_owned(),
        entries: Vec::new(),
    }
}

/// An action whose intent was formed then.
fn formed(key: &str, made: u64, at: Timestamp) -> Action {
    let mut action = action(key, "broken", made);
    action.intent.intent_at = Some(at);
    action
}

async fn content_goes_and_what_is_compared_stays(at: Ready) {
    let record = at.done(action("key-1", "broken", 1)).await;
    assert_eq!(at.take(Take::Content, &[&record]).await, [record.id()]);
    let after = at.read(&record).await;
    let content = &after.action.content;
    assert!(content.params.is_empty() && content.payload.is_empty());
    assert_eq!(
        (&content.summary, content.purged_at.is_some()),
        (&None, true)
    );
    let talk = content.conversation.as_ref().unwrap();
    assert_eq!((talk.id.as_str(), &talk.asked), ("conv-91", &None));
    assert_eq!(after.action.members, record.action.members);
    assert_eq!(after.status().state, State::Succeeded);
    assert_eq!(after.version, record.version + 1);
    let log = at.store.history(record.id()).await.unwrap();
    assert!(matches!(&log.last().unwrap().fact, Fact::Noted { text } if text.contains("purged")));
    // Taken once; and the identity works as before.
    assert!(at.take(Take::Content, &[&after]).await.is_empty());
    let again = at.store.admit(submission(action("key-1", "broken", 2)));
    assert!(matches!(again.await.unwrap(), Admitted::Joined(joined) if joined.id() == record.id()));
    let other = at.store.admit(submission(action("key-1", "whole", 3)));
    let Admitted::Conflict { members, .. } = other.await.unwrap() else {
        panic!("another intent")
    };
    assert_eq!(members, ["/payload/subject"]);
}

async fn nothing_goes_that_is_not_settled_or_has_moved_on(at: Ready) {
    let open = at.create(submission(action("key-1", "broken", 1))).await;
    let settled = at.done(action("key-2", "broken", 2)).await;
    for take in [Take::Content, Take::Action] {
        let mut moved_on = settled.clone();
        moved_on.version -= 1;
        assert!(at.take(take, &[&open, &moved_on]).await.is_empty());
    }
    // Late evidence opens it again, and it is not settled until that is decided on.
    let late = vec![answered(1, AnswerClass::Done)];
    at.store.record(settled.id(), late).await.unwrap();
    let opened = at.read(&settled).await;
    assert!(at.take(Take::Action, &[&settled, &opened]).await.is_empty());
    assert_eq!(at.read(&open).await.action, open.action);
    assert_eq!(at.read(&settled).await.action, settled.action);
}

async fn an_action_leaves_a_tombstone(at: Ready) {
    let record = at.done(action("key-1", "broken", 1)).await;
    let id = record.id();
    assert_eq!(at.take(Take::Action, &[&record]).await, [id]);
    assert!(at.store.load(id).await.unwrap().is_none());
    let found = at.store.find(record.action.identity_hash).await.unwrap();
    assert!(found.is_none());
    assert!(at.store.history(id).await.unwrap().is_empty());
    let left = at.store.remains(id).await.unwrap().unwrap();
    let stone = &left.tombstone;
    assert_eq!((stone.action, stone.state), (id, State::Succeeded));
    assert_eq!(stone.scope, record.action.scope);
    assert!(left.late.is_empty() && stone.settled_at <= stone.purged_at);
    // Law 2: the identity stays taken, whatever comes under it.
    for body in ["broken", "whole"] {
        let again = at.store.admit(submission(action("key-1", body, 2))).await;
        let Admitted::Gone(gone) = again.unwrap() else {
            panic!("the identity is taken")
        };
        assert_eq!(gone.as_ref(), stone);
    }
    at.create(submission(action("key-2", "broken", 3))).await;
    assert!(at.take(Take::Action, &[&record]).await.is_empty(), "once");
}

async fn what_comes_late_is_kept_and_shown(at: Ready) {
    let record = at.done(action("key-1", "broken", 1)).await;
    at.take(Take::Action, &[&record]).await;
    let late = answered(1, AnswerClass::Done);
    for _ in 0..2 {
        let recorded = at.store.record(record.id(), vec![late.clone()]).await;
        assert!(recorded.unwrap().is_none(), "there is no such action");
    }
    let left = at.store.remains(record.id()).await.unwrap().unwrap();
    let shown: Vec<_> = left.late.iter().map(|one| (one.id.0, &one.fact)).collect();
    assert_eq!(shown, [(1, &late), (2, &late)]);
    let nobody = action("key-9", "broken", 9).intent.action;
    assert!(at.store.record(nobody, vec![late]).await.unwrap().is_none());
    assert!(at.store.remains(nobody).await.unwrap().is_none());
}

async fn a_hold_made_meanwhile_is_never_run_over(at: Ready) {
    let record = at.done(action("key-1", "broken", 1)).await;
    let edition = at.store.edition().await.unwrap();
    let hold = Change {
        key: EntryKey::new(Kind::Hold, "default", format!("action {}", record.id())),
        expected: 0,
        body: r#"{"v":1}"#.to_owned(),
        label: None,
        due: None,
        by: "ana".to_owned(),
        why: "a law suit".to_owned(),
    };
    at.store.change(vec![hold]).await.unwrap();
    for take in [Take::Content, Take::Action] {
        let purged = at.store.purge(vec![wish(&record, take)], edition).await;
        assert_eq!(purged.unwrap(), Purged::Stale);
    }
    assert_eq!(at.read(&record).await.action, record.action);
}

// R24. `old` is forgotten; `untimed` has no time, and is not.
async fn forgotten_identities_are_refused(at: Ready) {
    let horizon = START + MINUTE;
    let old = at.done(formed("old", 1, START)).await;
    let young = at.done(formed("young", 2, horizon)).await;
    let untimed = at.done(action("untimed", "broken", 3)).await;
    let kept = at.done(formed("kept", 4, START)).await;
    let gone = at.take(Take::Action, &[&old, &young, &untimed]).await;
    assert_eq!(gone.len(), 3);
    let scope = old.action.scope.clone();
    let forget = || at.store.forget_identities(scope.clone(), horizon, 10);
    assert_eq!((forget().await.unwrap(), forget().await.unwrap()), (1, 0));
    assert!(at.store.remains(old.id()).await.unwrap().is_none());
    let rows = at.store.scopes().await.unwrap();
    assert_eq!((rows.len(), rows[0].forgotten_before), (1, Some(horizon)));
    let admit = async |action: Action| at.store.admit(submission(action)).await.unwrap();
    for key in ["old", "another"] {
        let answer = admit(formed(key, 5, START)).await;
        assert!(matches!(answer, Admitted::Forgotten(before) if before == horizon));
    }
    assert!(matches!(
        admit(formed("young", 6, horizon)).await,
        Admitted::Gone(_)
    ));
    assert!(matches!(
        admit(action("untimed", "broken", 7)).await,
        Admitted::Gone(_)
    ));
    // After the join check: what is kept is joined, however old it is.
    let joined = admit(formed("kept", 8, START)).await;
    assert!(matches!(joined, Admitted::Joined(joined) if joined.id() == kept.id()));
    assert!(matches!(
        admit(formed("new", 9, horizon)).await,
        Admitted::Created(..)
    ));
    // Another scope has its own watermark, and this one never falls.
    let mut elsewhere = formed("elsewhere", 10, START);
    elsewhere.scope.principal = "user:ben".to_owned();
    assert!(matches!(admit(elsewhere).await, Admitted::Created(..)));
    at.store.forget_identities(scope, START, 10).await.unwrap();
    let rows = at.store.scopes().await.unwrap();
    assert_eq!(rows[0].forgotten_before, Some(horizon));
}

#[test]
fn an_old_intent_that_is_taken_as_new_is_noticed() {
    let is_new = || {
        let store = MemoryStore::new(factum_store::system_clock());
        let old = Admission {
            oldest: Some(START + MINUTE),
            ..submission(formed("old", 1, START))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let admitted = runtime.unwrap().block_on(store.admit(old)).unwrap();
        matches!(admitted, Admitted::Created(..))
    };
    assert!(!is_new());
    assert!(making(Some(Mistake::ForgottenIsNew), is_new));
}

// R14: what would be repeated has to know that something newer was done.
async fn the_later_action_on_a_subject_stays_while_an_earlier_one_is_open(at: Ready) {
    let on_subject = |key: &str, made| {
        let mut action = action(key, "broken", made);
        action.content.subject = Some("ticket/77".to_owned());
        action
    };
    let first = at.create(submission(on_subject("key-1", 1))).await;
    let later = at.done(on_subject("key-2", 2_000)).await;
    assert!(at.take(Take::Action, &[&later]).await.is_empty());
    assert!(at.read(&first).await.overtaken);
    assert_eq!(at.take(Take::Content, &[&later]).await.len(), 1);
}

async fn entries_go_with_their_action(at: Ready) {
    let record = at.done(action("key-1", "broken", 1)).await;
    let key = |kind| EntryKey::new(kind, "default", "one");
    for kind in [Kind::Proposal, Kind::Hold] {
        let change = Change {
            key: key(kind),
            expected: 0,
            body: "canary".to_owned(),
            label: None,
            due: None,
            by: "ana".to_owned(),
            why: "test".to_owned(),
        };
        at.store.change(vec![change]).await.unwrap();
    }
    let edition = at.store.edition().await.unwrap();
    let purge = Purge {
        entries: vec![key(Kind::Proposal), key(Kind::Hold)],
        ..wish(&record, Take::Content)
    };
    let stale = Purge {
        version: record.version + 7,
        ..purge.clone()
    };
    at.store.purge(vec![stale], edition).await.unwrap();
    assert!(at.store.entry(key(Kind::Proposal)).await.unwrap().is_some());
    at.store.purge(vec![purge], edition).await.unwrap();
    assert!(at.store.entry(key(Kind::Proposal)).await.unwrap().is_none());
    let versions = at.store.entry_history(key(Kind::Proposal)).await.unwrap();
    assert!(versions.is_empty());
    let hold = at.store.entry(key(Kind::Hold)).await.unwrap();
    assert!(hold.is_some(), "authority is never purged");
}

async fn pages_lead_through_all_and_a_purge_is_bounded(at: Ready) {
    let count = u64::try_from(PURGED_MAX).unwrap() + 5;
    let mut made = BTreeSet::new();
    for n in 0..count {
        made.insert(at.done(action(&format!("key-{n}"), "broken", n)).await.id());
    }
    let open = at.create(submission(action("open", "broken", 1))).await;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let end = START + Span::from_secs(86_400);
        let page = at.store.settled(after, end, 10).await.unwrap();
        assert!(page.settled.len() <= 10);
        seen.extend(page.settled.into_iter().map(|(record, _)| record));
        let Some(last) = page.last else { break };
        after = Some(last);
    }
    assert!(
        seen.iter().all(|record| made.remove(&record.id())),
        "each once"
    );
    assert!(made.is_empty() && !seen.iter().any(|record| record.id() == open.id()));
    let too_young = at.store.settled(None, START, 10).await.unwrap();
    assert!(too_young.settled.is_empty());
    let all: Vec<&Record> = seen.iter().collect();
    // The writer is held for so many rows at a time, however much is asked for.
    assert_eq!(at.take(Take::Action, &all).await.len(), PURGED_MAX);
    assert_eq!(at.all_settled().await.settled.len(), 5);
}

// B83: a sweep while the same keys come in. Within retention an identity never makes a second action.
async fn a_sweep_races_with_submissions(at: Ready) {
    const KEYS: u64 = 8;
    for n in 0..KEYS {
        at.done(action(&format!("key-{n}"), "broken", n)).await;
    }
    let wish = |n: u64, made: u64| -> Admission {
        submission(action(&format!("key-{n}"), "broken", made))
    };
    let mut callers = Vec::new();
    for n in 0..KEYS {
        let store = Arc::clone(&at.store);
        let wishes: Vec<Admission> = (0..20).map(|made| wish(n, 100 + made)).collect();
        callers.push(tokio::spawn(async move {
            let mut gone = false;
            for wish in wishes {
                match store.admit(wish).await.unwrap() {
                    Admitted::Joined(_) => assert!(!gone, "it came back"),
                    Admitted::Gone(_) => gone = true,
                    other => panic!("neither joined nor gone: {other:?}"),
                }
            }
        }));
    }
    let settled = at.all_settled().await.settled;
    for (record, _) in &settled {
        at.take(Take::Action, &[record]).await;
        tokio::task::yield_now().await;
    }
    for caller in callers {
        caller.await.unwrap();
    }
    for n in 0..KEYS {
        let answer = at.store.admit(wish(n, 200)).await.unwrap();
        assert!(matches!(answer, Admitted::Gone(_)));
    }
}
