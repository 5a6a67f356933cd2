//! Proposals: what is approved is sent, once, and nothing else of an operation that asks for an approval. Effects are counted by the
//! carriers.

mod interleaved;
mod kit;

use std::sync::Arc;
use std::time::Duration;

use factum_core::{Fact, Span, State, Timestamp};
use factum_engine::approval::{ApprovalPolicy, Exempt, Required, UpTo};
use factum_engine::directory::{Amount, GrantEntry, Limits, Scope, Standing};
use factum_engine::proposal::ProposalState;
use factum_engine::{Ask, Caller, Code, Decision, ProposalFilter};
use factum_store::{EntryKey, Kind};
use tokio::task::JoinSet;

use kit::{PATIENCE, REASON, Site, World, always, approver, by, named, propose, submission};

/// B, R23: whatever the number of approvals that arrive at once, one of them makes the action, and all get it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvals_at_once_make_one_action() {
    let world = World::new(always());
    let engine = world.start().await;
    let proposal = propose(&engine, "a", "x", "agent").await.proposal;
    let engine = Arc::new(engine);
    let mut at_once = JoinSet::new();
    for n in 0..8 {
        let (engine, proposal) = (engine.clone(), proposal.clone());
        at_once.spawn(async move {
            let boss = approver(&format!("boss-{n}"));
            engine.approve(&boss, proposal.id, named(&proposal)).await
        });
    }
    let all: Vec<_> = at_once.join_all().await;
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert_eq!(all.iter().filter(|one| one.created).count(), 1);
    let ids: Vec<_> = all
        .iter()
        .map(|one| one.action.as_ref().unwrap().id())
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let done = engine.wait(ids[0], PATIENCE).await.unwrap();
    assert_eq!(done.status().state, State::Succeeded);
    assert_eq!(world.effects("x"), 1);
    let repeat = engine
        .submit(submission("a", "x"), "default", "agent")
        .await;
    assert_eq!(repeat.unwrap().record.id(), ids[0], "a repeat joins");
}

#[tokio::test]
async fn no_submission_gets_round_an_approval_that_is_asked_for() {
    let world = World::new(always());
    let engine = world.start().await;
    let refused = engine
        .submit(submission("a", "x"), "default", "admin")
        .await;
    assert_eq!(refused.unwrap_err().code, Code::ApprovalRequired);
    let refused = engine.submit_as(submission("a", "x"), &by("agent")).await;
    assert_eq!(refused.unwrap_err().code, Code::ApprovalRequired);
    propose(&engine, "a", "x", "agent").await;
    let refused = engine
        .submit(submission("a", "x"), "default", "agent")
        .await;
    assert_eq!(
        refused.unwrap_err().code,
        Code::ApprovalRequired,
        "not while it waits either"
    );
    assert_eq!(world.effects("x"), 0);
}

/// Two people; the one who asked is none of them, whichever token they show, and nobody counts twice.
#[tokio::test]
async fn two_people_are_two_and_neither_is_who_asked() {
    let world = World::new(ApprovalPolicy {
        people: 2,
        reason: true,
        ..always()
    });
    let engine = world.start().await;
    let agent = by("agent");
    let proposal = engine.propose(submission("a", "x"), &agent, Ask::default());
    let proposal = proposal.await.unwrap().proposal;
    let decision = named(&proposal);
    let another_token = Caller {
        token: Some("another".to_owned()),
        ..approver("agent")
    };
    let own = engine.approve(&another_token, proposal.id, decision).await;
    assert_eq!(own.unwrap_err().code, Code::NotTheirDecision);
    let silent = Decision {
        why: None,
        ..decision
    };
    let silent = engine.approve(&approver("ana"), proposal.id, silent).await;
    assert_eq!(
        silent.unwrap_err().code,
        Code::NotTheirDecision,
        "no reason"
    );
    for _ in 0..2 {
        let first = engine
            .approve(&approver("ana"), proposal.id, decision)
            .await
            .unwrap();
        assert!(first.action.is_none());
        assert_eq!(first.proposal.state, ProposalState::Pending);
        assert_eq!(first.proposal.entry.approvals.len(), 1);
    }
    world.stand(&engine, "ana", Standing::Revoked).await;
    let second = engine
        .approve(&approver("ben"), proposal.id, decision)
        .await
        .unwrap();
    assert!(second.action.is_none(), "who was revoked does not count");
    let third = engine
        .approve(&approver("cleo"), proposal.id, decision)
        .await
        .unwrap();
    let action = third.action.unwrap();
    assert_eq!(
        action.action.content.approved.as_ref().unwrap().by,
        ["ben", "cleo"]
    );
    engine.wait(action.id(), PATIENCE).await.unwrap();
    assert_eq!(world.effects("x"), 1);
}

#[tokio::test]
async fn a_superseded_proposal_names_the_newer_one_and_is_never_sent() {
    let world = World::new(always());
    let engine = world.start().await;
    let agent = by("agent");
    let first = engine.propose(submission("a", "x"), &agent, Ask::default());
    let first = first.await.unwrap().proposal;
    let other = engine
        .propose(submission("a", "y"), &agent, Ask::default())
        .await;
    let other = other.unwrap_err();
    assert_eq!(other.code, Code::ProposalOpen);
    assert_eq!(other.proposal.as_deref(), Some(&first.id));
    let ask = Ask {
        supersedes: Some(first.id),
        ..Ask::default()
    };
    let mut edited = submission("a", "y");
    edited.key = None;
    let second = engine.propose(edited.clone(), &agent, ask).await.unwrap();
    assert!(second.created);
    let second = second.proposal;
    let again = engine.propose(edited, &agent, ask).await.unwrap();
    assert!(
        !again.created && again.proposal.id == second.id,
        "a repeat joins"
    );
    let late = engine
        .approve(&approver("ana"), first.id, named(&first))
        .await
        .unwrap_err();
    assert_eq!(late.code, Code::ProposalClosed);
    assert_eq!(late.proposal.as_deref(), Some(&second.id));
    let wrong = engine
        .approve(&approver("ana"), second.id, named(&first))
        .await;
    assert_eq!(
        wrong.unwrap_err().code,
        Code::ProposalChanged,
        "another digest"
    );
    let done = engine
        .approve(&approver("ana"), second.id, named(&second))
        .await
        .unwrap();
    engine
        .wait(done.action.unwrap().id(), PATIENCE)
        .await
        .unwrap();
    assert_eq!((world.effects("x"), world.effects("y")), (0, 1));
    let elsewhere = Ask {
        supersedes: Some(second.id),
        ..Ask::default()
    };
    let elsewhere = engine
        .propose(submission("b", "z"), &agent, elsewhere)
        .await;
    assert_eq!(
        elsewhere.unwrap_err().code,
        Code::BadIdentity,
        "another effect"
    );
}

/// R10: neither a proposal past its time nor an approval past its own lets anything be sent.
#[tokio::test]
async fn nothing_is_approved_or_sent_past_its_time() {
    let world = World::new(always());
    let engine = world.start().await;
    let agent = by("agent");
    let soon = world.now() + Span::from_secs(60);
    let ask = Ask {
        until: Some(soon),
        ..Ask::default()
    };
    let late = engine
        .propose(submission("late", "x"), &agent, ask)
        .await
        .unwrap()
        .proposal;
    let held = engine
        .propose(submission("held", "y"), &agent, ask)
        .await
        .unwrap()
        .proposal;
    engine.set_paused(true, "ana").await.unwrap();
    let held = engine
        .approve(&approver("ana"), held.id, named(&held))
        .await
        .unwrap();
    let held = held.action.unwrap();
    assert_eq!(held.action.intent.approved_until, Some(soon));
    world.advance(Span::from_secs(61));
    let refused = engine
        .approve(&approver("ana"), late.id, named(&late))
        .await;
    assert_eq!(refused.unwrap_err().code, Code::ProposalClosed);
    let filter = ProposalFilter {
        state: Some(ProposalState::Expired),
        limit: 10,
        ..ProposalFilter::default()
    };
    let expired = engine.proposals(&agent, filter).await.unwrap();
    assert_eq!(expired.len(), 1);
    // Another process reads the clock anew, and goes on.
    engine.shutdown(Duration::from_secs(1)).await;
    let engine = world.start().await;
    engine.set_paused(false, "ana").await.unwrap();
    let over = engine.wait(held.id(), PATIENCE).await.unwrap();
    assert_eq!(over.status().state, State::Expired);
    assert_eq!((world.effects("x"), world.effects("y")), (0, 0));
    let anew = engine
        .propose(submission("late", "x"), &agent, Ask::default())
        .await;
    assert!(anew.unwrap().created, "it may be asked for anew");
}

/// R23: an account, or a contract, that changed between approval and send stops the send, on whichever worker it shows.
#[tokio::test]
async fn what_changed_since_it_was_approved_is_not_sent() {
    for site in [
        Site {
            account: Some("another".to_owned()),
            ..Site::default()
        },
        Site {
            contract: 2,
            ..Site::default()
        },
    ] {
        let world = World::new(always());
        let engine = world.start().await;
        engine.set_paused(true, "ana").await.unwrap();
        let agent = by("agent");
        let approved = engine.propose(submission("a", "x"), &agent, Ask::default());
        let approved = approved.await.unwrap().proposal;
        let waits = engine.propose(submission("b", "y"), &agent, Ask::default());
        let waits = waits.await.unwrap().proposal;
        let action = engine
            .approve(&approver("ana"), approved.id, named(&approved))
            .await;
        let action = action.unwrap().action.unwrap();
        engine.shutdown(Duration::from_secs(1)).await;
        let other = world.start_at(site.clone()).await;
        other.set_paused(false, "ana").await.unwrap();
        let ended = other.wait(action.id(), PATIENCE).await.unwrap();
        assert_eq!(ended.status().state, State::Cancelled, "{site:?}");
        let log = other.evidence(action.id()).await.unwrap();
        let why = log.iter().find_map(|one| match &one.fact {
            Fact::AuthorityLost { why } => Some(why.clone()),
            _ => None,
        });
        let why = why.unwrap();
        assert!(
            why.contains("has changed since") && why.contains(&approved.id.to_string()),
            "{why}"
        );
        let refused = other
            .approve(&approver("ana"), waits.id, named(&waits))
            .await;
        assert_eq!(refused.unwrap_err().code, Code::ProposalChanged, "{site:?}");
        assert!(other.changed_since(&waits).await.unwrap().is_some());
        assert_eq!((world.effects("x"), world.effects("y")), (0, 0));
    }
}

/// R18: what waits in a copy of the store may have been approved and sent in what the copy lacks, however long ago that is.
#[tokio::test]
async fn a_proposal_that_is_older_than_a_restore_may_have_been_sent() {
    let world = World::new(always());
    let engine = world.start().await;
    let proposal = propose(&engine, "a", "x", "agent").await.proposal;
    engine.shutdown(Duration::from_secs(1)).await;
    world.advance(Span::from_secs(3_600));
    world.restored().await;
    world.advance(Span::from_secs(2 * 86_400));
    let engine = world.start().await;
    let approved = engine
        .approve(&approver("ana"), proposal.id, named(&proposal))
        .await;
    let action = approved.unwrap().action.unwrap();
    let rested = engine.wait(action.id(), PATIENCE).await.unwrap();
    assert_eq!(rested.status().state, State::OutcomeUnknown);
    assert_eq!(world.effects("x"), 0);
    let newer = propose(&engine, "b", "y", "agent").await.proposal;
    let approved = engine
        .approve(&approver("ana"), newer.id, named(&newer))
        .await;
    let action = approved.unwrap().action.unwrap();
    engine.wait(action.id(), PATIENCE).await.unwrap();
    assert_eq!(world.effects("y"), 1);
}

/// Decision 16: an approver who is revoked before the send takes their approval along; so does whoever asked.
#[tokio::test]
async fn an_approval_does_not_outlive_its_approver_or_its_asker() {
    for who in ["ana", "agent"] {
        let world = World::new(always());
        let engine = world.start().await;
        engine.set_paused(true, "ana").await.unwrap();
        let proposal = propose(&engine, "a", "x", "agent").await.proposal;
        let action = engine
            .approve(&approver("ana"), proposal.id, named(&proposal))
            .await;
        let action = action.unwrap().action.unwrap();
        world.stand(&engine, who, Standing::Revoked).await;
        engine.set_paused(false, "ana").await.unwrap();
        let ended = engine.wait(action.id(), PATIENCE).await.unwrap();
        assert_eq!(ended.status().state, State::Cancelled, "{who}");
        assert_eq!(world.effects("x"), 0, "{who}");
    }
}

#[tokio::test]
async fn who_has_no_authority_neither_asks_nor_approves() {
    let world = World::new(always());
    let engine = world.start().await;
    let proposal = propose(&engine, "a", "x", "agent").await.proposal;
    world.stand(&engine, "ana", Standing::Suspended).await;
    let refused = engine
        .approve(&approver("ana"), proposal.id, named(&proposal))
        .await;
    assert_eq!(refused.unwrap_err().code, Code::AuthorityEnded);
    let grant = GrantEntry::new(
        None,
        "ben".to_owned(),
        vec!["*".to_owned()],
        Vec::new(),
        vec!["other".to_owned()],
        None,
        Limits::default(),
    );
    let key = EntryKey::new(Kind::Grant, "default", "little");
    engine.add_entry(key, grant.text(), REASON).await.unwrap();
    let ben = Caller {
        grant: Some("little".to_owned()),
        ..approver("ben")
    };
    let beyond = engine.approve(&ben, proposal.id, named(&proposal)).await;
    assert_eq!(beyond.unwrap_err().code, Code::BeyondGrant);
    world.stand(&engine, "agent", Standing::Revoked).await;
    let gone = engine
        .approve(&approver("cleo"), proposal.id, named(&proposal))
        .await;
    assert_eq!(
        gone.unwrap_err().code,
        Code::AuthorityEnded,
        "who asked may not any more"
    );
    let asks = engine
        .propose(submission("b", "y"), &by("agent"), Ask::default())
        .await;
    assert_eq!(asks.unwrap_err().code, Code::AuthorityEnded);
    assert_eq!((world.effects("x"), world.effects("y")), (0, 0));
}

#[tokio::test]
async fn a_decline_ends_it_and_only_who_asked_withdraws_without_the_scope() {
    let world = World::new(always());
    let engine = world.start().await;
    let proposal = propose(&engine, "a", "x", "agent").await.proposal;
    let stranger = engine.decline(&by("mallory"), proposal.id, "no").await;
    assert_eq!(stranger.unwrap_err().code, Code::Forbidden);
    let declined = engine
        .decline(&by("agent"), proposal.id, "changed my mind")
        .await;
    assert_eq!(declined.unwrap().state, ProposalState::Declined);
    let late = engine
        .approve(&approver("ana"), proposal.id, named(&proposal))
        .await;
    assert_eq!(late.unwrap_err().code, Code::ProposalClosed);
    let anew = propose(&engine, "a", "x", "agent").await;
    assert!(anew.created && anew.proposal.id != proposal.id);
    assert_eq!(world.effects("x"), 0);
}

#[tokio::test]
async fn policy_waives_and_approves_for_those_it_names() {
    let exempt = |principal: &str| Exempt {
        principal: principal.to_owned(),
        up_to: None,
    };
    let world = World::new(ApprovalPolicy {
        waive: vec![exempt("nightly")],
        auto: vec![exempt("desk")],
        ..always()
    });
    let engine = world.start().await;
    let free = engine.submit_as(submission("a", "x"), &by("nightly")).await;
    engine
        .wait(free.unwrap().record.id(), PATIENCE)
        .await
        .unwrap();
    let refused = engine.submit_as(submission("b", "y"), &by("desk")).await;
    assert_eq!(refused.unwrap_err().code, Code::ApprovalRequired);
    let at_once = propose(&engine, "b", "y", "desk").await;
    assert_eq!(at_once.proposal.state, ProposalState::Approved);
    assert!(at_once.proposal.entry.approvals[0].policy);
    let action = at_once.action.unwrap();
    assert!(action.action.intent.approved_until.is_some());
    engine.wait(action.id(), PATIENCE).await.unwrap();
    assert_eq!((world.effects("x"), world.effects("y")), (1, 1));
}

/// An operation that says no amount moves more than any limit.
#[tokio::test]
async fn an_amount_that_cannot_be_told_is_over_the_limit() {
    let world = World::new(ApprovalPolicy {
        required: Required::Over(UpTo {
            amount: Amount::parse("500").unwrap(),
            currency: None,
        }),
        ..ApprovalPolicy::default()
    });
    let engine = world.start().await;
    let refused = engine
        .submit(submission("a", "x"), "default", "admin")
        .await;
    assert_eq!(refused.unwrap_err().code, Code::ApprovalRequired);
}

/// Law 9: another tenant's proposal is answered like one that there is not, by whichever call.
#[tokio::test]
async fn a_proposal_is_not_there_for_another_tenant() {
    let world = World::new(ApprovalPolicy::default());
    let engine = world.start().await;
    world.tenant(&engine, "acme").await;
    let acme = Caller::trusted("acme", "boss");
    let ours = propose(&engine, "a", "x", "agent").await.proposal;
    let theirs = engine.propose(submission("a", "x"), &acme, Ask::default());
    let theirs = theirs.await.unwrap();
    assert!(theirs.created && theirs.proposal.id != ours.id);
    assert_ne!(theirs.proposal.entry.digest, ours.entry.digest);
    let filter = ProposalFilter {
        limit: 10,
        ..ProposalFilter::default()
    };
    let listed = engine.proposals(&acme, filter).await.unwrap();
    assert_eq!(
        listed.iter().map(|one| one.id).collect::<Vec<_>>(),
        [theirs.proposal.id]
    );
    let unseen = [
        engine.proposal(&acme, ours.id).await.map(|_| ()),
        engine
            .approve(&acme, ours.id, named(&ours))
            .await
            .map(|_| ()),
        engine.decline(&acme, ours.id, "no").await.map(|_| ()),
    ];
    for answer in unseen {
        assert_eq!(answer.unwrap_err().code, Code::UnknownProposal);
    }
    let ask = Ask {
        supersedes: Some(ours.id),
        ..Ask::default()
    };
    let answer = engine.propose(submission("z", "z"), &acme, ask).await;
    assert_eq!(answer.unwrap_err().code, Code::UnknownProposal);
    assert!(approver("x").may(Scope::Approve) && Timestamp::EARLIEST < world.now());
}
