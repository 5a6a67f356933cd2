//! Reports and actions find each other, whichever comes first, and never across sites or operations.

use factum_core::evidence::{AnswerClass, Callback, Receipt};
use factum_core::{Fact, State, Timestamp};
use factum_store::{
    Admission, Admitted, Committed, Delivered, KeptReport, Name, Record, Report, ReportFilter, Site,
};

use super::{Ready, on_each_store};
use crate::fixtures::{
    MINUTE, START, WORKER, action, admission, answered, mark, next, report, reversed, submission,
};

on_each_store!(
    a_report_is_evidence_about_the_action_that_it_names,
    a_repeated_report_is_one_fact,
    a_report_waits_for_the_answer_that_it_belongs_to,
    what_had_waited_stands_behind_the_commit_that_brought_its_name,
    a_submission_that_a_report_waited_for_is_not_claimed,
    names_that_no_fact_brings_can_be_added,
    names_that_lead_to_two_actions_lead_to_none,
    nothing_crosses_sites_and_operations,
    what_is_not_ours_gives_no_name,
    reports_are_listed_newest_first,
    old_reports_are_forgotten,
    whoever_waits_for_a_report_is_found_by_destination,
);

fn reference(text: &str) -> Name {
    Name::Reference(text.to_owned())
}

fn receipt(text: &str) -> Name {
    Name::Receipt(text.to_owned())
}

fn positive(text: &str) -> Callback {
    Callback::Positive(Receipt::new(text))
}

fn known_by(n: u64, name: Name) -> Admission {
    Admission {
        names: vec![name],
        ..admission(n)
    }
}

impl Ready {
    async fn deliver(&self, report: Report) -> Delivered {
        let forget_before = Timestamp::EARLIEST;
        self.store.deliver(report, forget_before).await.unwrap()
    }

    async fn reports(&self, unmatched: bool) -> Vec<KeptReport> {
        let filter = ReportFilter {
            tenant: "default".to_owned(),
            unmatched,
            before: None,
            limit: 100,
        };
        self.store.reports(filter).await.unwrap()
    }

    async fn reported(&self, record: &Record) -> Vec<Fact> {
        let history = self.store.history(record.id()).await.unwrap();
        let facts = history.into_iter().map(|evidence| evidence.fact);
        facts
            .filter(|fact| matches!(fact, Fact::CalledBack(_)))
            .collect()
    }
}

async fn a_report_is_evidence_about_the_action_that_it_names(at: Ready) {
    let record = at.create(known_by(1, reference("r-1"))).await;
    at.create(known_by(2, reference("r-2"))).await;
    let names = vec![reference("r-1"), receipt("T-1")];
    let delivered = at.deliver(report(1, names, positive("T-1"))).await;
    assert_eq!(delivered, Delivered::Matched(record.id()));
    let after = at.read(&record).await;
    assert_eq!(after.status().state, State::Succeeded);
    assert_eq!((after.version, after.next.at), (2, Some(START)));
    assert_eq!(
        at.reports(false).await[0].action,
        Some(record.id()),
        "kept with its action"
    );
    // The receipt that the first one brought leads the second one.
    let delivered = at
        .deliver(report(2, vec![receipt("T-1")], reversed()))
        .await;
    assert_eq!(delivered, Delivered::Matched(record.id()));
    assert!(at.read(&record).await.status().reversed);
}

// B181
async fn a_repeated_report_is_one_fact(at: Ready) {
    let record = at.create(known_by(1, reference("r-1"))).await;
    let same = report(1, vec![reference("r-1")], positive("T-1"));
    assert_eq!(
        at.deliver(same.clone()).await,
        Delivered::Matched(record.id())
    );
    for _ in 0..3 {
        let again = at.deliver(same.clone()).await;
        assert_eq!(again, Delivered::Repeated(Some(record.id())));
    }
    // Under another name of the report, it still says nothing new.
    let renamed = report(2, vec![reference("r-1")], positive("T-1"));
    assert_eq!(at.deliver(renamed).await, Delivered::Matched(record.id()));
    assert_eq!(at.reported(&record).await.len(), 1);
    assert_eq!(at.read(&record).await.version, 2);
    let unmatched = report(3, vec![reference("r-3")], positive("T-3"));
    assert_eq!(at.deliver(unmatched.clone()).await, Delivered::Unmatched);
    assert_eq!(at.deliver(unmatched).await, Delivered::Repeated(None));
}

async fn a_report_waits_for_the_answer_that_it_belongs_to(at: Ready) {
    let record = at.create(admission(1)).await;
    let early = report(1, vec![receipt("T-4711")], reversed());
    assert_eq!(at.deliver(early).await, Delivered::Unmatched);
    assert_eq!(at.reports(true).await.len(), 1);
    at.store
        .record(record.id(), vec![mark(1, START)])
        .await
        .unwrap();
    let facts = vec![answered(1, AnswerClass::Done)];
    let recorded = at.store.record(record.id(), facts).await.unwrap().unwrap();
    assert_eq!((recorded.version, recorded.ids.len()), (3, 1));
    let after = at.read(&record).await;
    let behind = recorded.behind.unwrap();
    assert_eq!((behind.version, after.version), (4, 4));
    assert!(behind.status().reversed && after.status().reversed);
    assert_eq!(behind.next, after.next);
    assert_eq!(at.reports(true).await, []);
}

// What a claim is decided on has to hold the report: the claim's version does not fit any more.
async fn what_had_waited_stands_behind_the_commit_that_brought_its_name(at: Ready) {
    let record = at.create(admission(1)).await;
    let early = report(1, vec![receipt("T-4711")], reversed());
    at.deliver(early).await;
    let (claim, _) = at.hold(&record).await;
    let facts = vec![mark(1, START), answered(1, AnswerClass::Done)];
    let committed = at.store.commit(&claim, facts, next("none", None)).await;
    let Committed::Durable(recorded) = committed.unwrap() else {
        panic!("the claim is held");
    };
    let behind = recorded.behind.unwrap();
    assert_eq!((recorded.version, behind.version), (2, 3));
    assert_eq!(behind.next.at, Some(START), "it is decided anew");
    let stale = claim.at_version(recorded.version);
    let refused = at
        .store
        .commit(&stale, Vec::new(), next("none", None))
        .await;
    assert!(matches!(refused.unwrap(), Committed::Stale));
    let fresh = stale.at_version(behind.version);
    let written = at
        .store
        .commit(&fresh, Vec::new(), next("none", None))
        .await;
    assert!(matches!(written.unwrap(), Committed::Durable(_)));
}

// A restored copy has lost the action, and the destination has not: it is not sent again.
async fn a_submission_that_a_report_waited_for_is_not_claimed(at: Ready) {
    let early = report(1, vec![reference("r-1")], positive("T-1"));
    assert_eq!(at.deliver(early).await, Delivered::Unmatched);
    let wish = Admission {
        facts: vec![mark(1, START)],
        claim_for: Some((WORKER, MINUTE)),
        ..known_by(1, reference("r-1"))
    };
    let Admitted::Created(record, None) = at.store.admit(wish).await.unwrap() else {
        panic!("new, and not claimed");
    };
    assert_eq!(record.status().state, State::Succeeded);
    assert_eq!(record.next.at, Some(START), "it is decided at once");
    assert_eq!(at.read(&record).await.version, record.version);
}

async fn names_that_no_fact_brings_can_be_added(at: Ready) {
    let record = at.create(admission(1)).await;
    let key = Name::Key("k-2".to_owned());
    at.deliver(report(1, vec![key.clone()], positive("T-1")))
        .await;
    assert!(at.store.know(record.id(), vec![key.clone()]).await.unwrap());
    assert_eq!(at.read(&record).await.status().state, State::Succeeded);
    assert!(!at.store.know(record.id(), vec![key]).await.unwrap());
    let gone = admission(9).action.intent.action;
    let nobody = at.store.know(gone, vec![reference("r-9")]).await.unwrap();
    assert!(!nobody);
    assert_eq!(at.reported(&record).await.len(), 1);
}

// Contradictory: our reference says one action and the receipt another.
async fn names_that_lead_to_two_actions_lead_to_none(at: Ready) {
    let one = at.create(known_by(1, reference("r-1"))).await;
    let two = at.create(known_by(2, receipt("T-2"))).await;
    let names = vec![reference("r-1"), receipt("T-2")];
    let both = report(1, names, positive("T-2"));
    assert_eq!(at.deliver(both).await, Delivered::Unmatched);
    at.store
        .know(two.id(), vec![reference("r-1")])
        .await
        .unwrap();
    let shared = report(2, vec![reference("r-1")], reversed());
    assert_eq!(at.deliver(shared).await, Delivered::Unmatched);
    for record in [&one, &two] {
        assert_eq!(at.reported(record).await, [], "neither is told");
    }
    assert_eq!(at.reports(true).await.len(), 2, "they are shown");
}

// Law 9, B187
async fn nothing_crosses_sites_and_operations(at: Ready) {
    let record = at.create(known_by(1, reference("r-1"))).await;
    let here = report(1, vec![reference("r-1")], positive("T-1"));
    let site = |tenant: &str, destination: &str| Site {
        tenant: tenant.to_owned(),
        destination: destination.to_owned(),
    };
    let mut others = vec![
        report(2, vec![Name::Key("r-1".to_owned())], positive("T-1")),
        report(3, vec![receipt("r-1")], positive("T-1")),
        report(4, vec![Name::Object("r-1".to_owned())], positive("T-1")),
    ];
    for (n, site) in [(5, site("acme", "helpdesk")), (6, site("default", "crm"))] {
        let mut other = report(n, vec![reference("r-1")], positive("T-1"));
        other.site = site;
        others.push(other);
    }
    let mut operation = report(7, vec![reference("r-1")], positive("T-1"));
    operation.readings[0].operation = "ticket.close".to_owned();
    others.push(operation);
    for other in others {
        assert_eq!(at.deliver(other).await, Delivered::Unmatched);
    }
    let mut elsewhere = action("key-2", "broken", 2);
    elsewhere.scope.tenant = "acme".to_owned();
    let elsewhere = at
        .create(Admission {
            names: vec![reference("r-2")],
            ..submission(elsewhere)
        })
        .await;
    let stranger = report(8, vec![reference("r-2")], positive("T-2"));
    assert_eq!(at.deliver(stranger).await, Delivered::Unmatched);
    assert_eq!(at.reported(&elsewhere).await, []);
    assert_eq!(at.reported(&record).await, []);
    assert_eq!(at.deliver(here).await, Delivered::Matched(record.id()));
    let listed = at.reports(false).await;
    assert!(
        listed
            .iter()
            .all(|kept| kept.report.site.tenant == "default")
    );
    assert_eq!(listed.len(), 7, "one is another tenant's");
}

async fn what_is_not_ours_gives_no_name(at: Ready) {
    let record = at.create(admission(1)).await;
    let mut theirs = answered(1, AnswerClass::Done);
    if let Fact::Answered(answer) = &mut theirs {
        answer.class = AnswerClass::AlreadyExists { ours: false };
    }
    let facts = vec![mark(1, START), theirs];
    at.store.record(record.id(), facts).await.unwrap();
    let about = report(1, vec![receipt("T-4711")], positive("T-4711"));
    assert_eq!(at.deliver(about).await, Delivered::Unmatched);
}

async fn reports_are_listed_newest_first(at: Ready) {
    let record = at.create(known_by(1, reference("r-1"))).await;
    for n in 1..=4 {
        let name = reference(&format!("r-{n}"));
        at.deliver(report(n, vec![name], reversed())).await;
        at.clock.pass(MINUTE);
    }
    let all = at.reports(false).await;
    let ids: Vec<u8> = all.iter().map(|kept| kept.report.id.0[0]).collect();
    assert_eq!(ids, [4, 3, 2, 1]);
    assert_eq!(all[3].action, Some(record.id()));
    assert_eq!(all[3].at, START);
    assert_eq!(all[0].at, START + MINUTE + MINUTE + MINUTE);
    assert_eq!(all[0].report, report(4, vec![reference("r-4")], reversed()));
    assert_eq!(at.reports(true).await, all[..3]);
    let page = ReportFilter {
        tenant: "default".to_owned(),
        unmatched: true,
        before: Some(all[0].no),
        limit: 1,
    };
    assert_eq!(at.store.reports(page).await.unwrap(), all[1..2]);
    let foreign = ReportFilter {
        tenant: "acme".to_owned(),
        unmatched: false,
        before: None,
        limit: 9,
    };
    assert_eq!(at.store.reports(foreign).await.unwrap(), []);
}

async fn old_reports_are_forgotten(at: Ready) {
    let old = report(1, vec![reference("r-1")], positive("T-1"));
    at.deliver(old.clone()).await;
    at.clock.pass(MINUTE);
    let new = report(2, vec![reference("r-2")], positive("T-2"));
    at.store.deliver(new.clone(), START + MINUTE).await.unwrap();
    let kept = at.reports(false).await;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].report, new);
    // It is as if it had never come.
    let record = at.create(known_by(1, reference("r-1"))).await;
    assert_eq!(at.reported(&record).await, []);
    assert_eq!(at.deliver(old).await, Delivered::Matched(record.id()));
}

async fn whoever_waits_for_a_report_is_found_by_destination(at: Ready) {
    let object = || Some("J-1".to_owned());
    let accepted = |n| {
        let facts = vec![
            mark(n, START),
            answered(n, AnswerClass::Accepted { object: object() }),
        ];
        (facts, next("wait", Some(START + MINUTE)))
    };
    let mut foreign = action("key-9", "broken", 9);
    foreign.scope.tenant = "acme".to_owned();
    let mut elsewhere = action("key-8", "broken", 8);
    elsewhere.scope.tenant = "acme".to_owned();
    elsewhere.scope.destination = "tracker".to_owned();
    let waits = |at_destination: &str| at.store.who_waits(at_destination.to_owned());
    let mut records = Vec::new();
    for admission in [
        admission(1),
        admission(2),
        submission(foreign),
        submission(elsewhere),
    ] {
        records.push(at.create(admission).await);
    }
    assert_eq!(waits("helpdesk").await.unwrap(), [""; 0]);
    for record in &records {
        let (claim, _) = at.hold(record).await;
        let (facts, next) = accepted(1);
        let committed = at.store.commit(&claim, facts, next).await.unwrap();
        assert!(matches!(committed, Committed::Durable(_)));
    }
    assert_eq!(waits("helpdesk").await.unwrap(), ["acme", "default"]);
    assert_eq!(waits("tracker").await.unwrap(), ["acme"]);
    // What is to be decided anew, or settled, waits no more; nor does what waits for its own time.
    let done = Fact::CalledBack(positive("T-1"));
    at.store.record(records[2].id(), vec![done]).await.unwrap();
    assert_eq!(waits("helpdesk").await.unwrap(), ["default"]);
    let later = Admission {
        next: next("wait", Some(START + MINUTE)),
        ..admission(3)
    };
    at.create(later).await;
    for record in &records[..2] {
        let done = Fact::CalledBack(positive("T-2"));
        at.store.record(record.id(), vec![done]).await.unwrap();
    }
    assert_eq!(waits("helpdesk").await.unwrap(), [""; 0]);
}
