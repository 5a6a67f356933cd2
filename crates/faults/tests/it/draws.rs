//! Who is hit: counters, streams and the mix of lost answers.

use std::collections::BTreeMap;

use factum_faults::{Class, Draws, Fault, FaultPlan, Request};

pub(crate) fn effect(reference: &str) -> Request<'_> {
    Request {
        class: Class::Effect,
        method: "POST",
        path: "/key/sync/effects",
        reference,
    }
}

fn lookup(reference: &str) -> Request<'_> {
    Request {
        class: Class::Lookup,
        method: "GET",
        path: "/lookup/sync/effects",
        reference,
    }
}

fn draws(rules: &str) -> Draws {
    Draws::new(FaultPlan::parse(7, rules).expect("the rules of this file are well formed"))
}

fn hits(draws: &mut Draws, request: Request<'_>, count: usize) -> String {
    let mark = |fault| if fault == Fault::None { '.' } else { 'x' };
    (0..count).map(|_| mark(draws.draw(&request))).collect()
}

#[test]
fn numbers_ranges_steps_and_times() {
    let cases = [
        ("close_fin,n=1", "x......."),
        ("close_fin,n=2-4", ".xxx...."),
        ("close_fin,every=3", "..x..x.."),
        ("close_fin,times=2", "xx......"),
        ("close_fin,every=2,times=2", ".x.x...."),
        ("close_fin,p=0", "........"),
        ("close_fin,method=GET", "........"),
        ("close_fin,path=/key/,n=8", ".......x"),
        ("close_fin,path=/lookup/", "........"),
        ("close_fin,ref=b", "........"),
        ("close_fin,class=lookup", "........"),
    ];
    for (rules, expected) in cases {
        assert_eq!(hits(&mut draws(rules), effect("a"), 8), expected, "{rules}");
    }
}

#[test]
fn the_first_rule_that_fires_decides_and_later_rules_do_not_count_it() {
    let mut draws = draws("status=503,n=1; close_fin,n=1; cut_head");
    let drawn: Vec<_> = (0..4).map(|_| draws.draw(&effect("a")).name()).collect();
    assert_eq!(drawn, ["status", "close_fin", "cut_head", "cut_head"]);
    assert_eq!(draws.counts(), [(4, 1), (3, 1), (2, 2)]);
}

#[test]
fn numbers_count_over_all_references_unless_told_otherwise() {
    let mut over_all = draws("close_fin,n=1");
    assert_eq!(hits(&mut over_all, effect("a"), 2), "x.");
    assert_eq!(hits(&mut over_all, effect("b"), 2), "..");
    let mut by_reference = draws("close_fin,n=1,per=reference");
    assert_eq!(hits(&mut by_reference, effect("a"), 2), "x.");
    assert_eq!(hits(&mut by_reference, effect("b"), 2), "x.");
}

#[test]
fn accept_time_faults_are_drawn_per_connection_unless_the_rule_names_a_request() {
    let mut at_connection = draws("refuse,n=1");
    assert_eq!(at_connection.draw(&effect("a")), Fault::None);
    assert_eq!(at_connection.draw(&Request::CONNECTION), Fault::Refuse);
    assert_eq!(at_connection.draw(&Request::CONNECTION), Fault::None);
    let mut at_request = draws("refuse,n=1,ref=a");
    assert_eq!(at_request.draw(&Request::CONNECTION), Fault::None);
    assert_eq!(at_request.draw(&effect("a")), Fault::Refuse);
}

#[test]
fn the_order_of_concurrent_requests_does_not_change_who_is_hit() {
    let references: Vec<_> = (0..200).map(|n| format!("order-{n}")).collect();
    let fates = |order: Vec<&String>| {
        let mut draws = Draws::new(FaultPlan::loss(42, 0.3));
        let mut fates = BTreeMap::new();
        for round in 0..3 {
            for reference in &order {
                let drawn = (
                    draws.draw(&effect(reference)),
                    draws.draw(&lookup(reference)),
                );
                fates.insert((round, (*reference).clone()), drawn);
            }
        }
        fates
    };
    let forwards = fates(references.iter().collect());
    let backwards = fates(references.iter().rev().collect());
    assert_eq!(forwards, backwards);
    let other_seed = Draws::new(FaultPlan::loss(43, 0.3)).draw(&effect("order-0"));
    let changed = references.iter().any(|reference| {
        let fault = Draws::new(FaultPlan::loss(43, 0.3)).draw(&effect(reference));
        fault != forwards[&(0, reference.clone())].0
    });
    assert!(changed, "another seed hits others ({other_seed})");
}

#[test]
fn the_mix_hits_effects_with_p_reads_with_a_quarter_and_connections_with_a_twentieth() {
    let mut draws = Draws::new(FaultPlan::loss(1, 0.4));
    let mut count = |class| {
        let hit = |n: &u32| {
            let reference = n.to_string();
            let request = Request {
                class,
                reference: &reference,
                ..effect("")
            };
            draws.draw(&request) != Fault::None
        };
        (0..10_000_u32).filter(hit).count()
    };
    assert!((3_800..4_200).contains(&count(Class::Effect)));
    assert!((900..1_100).contains(&count(Class::Lookup)));
    assert!((900..1_100).contains(&count(Class::Poll)));
    assert!((900..1_100).contains(&count(Class::Cancel)));
    assert!((140..260).contains(&count(Class::Connection)));
    assert_eq!(count(Class::Other), 0);
}

#[test]
fn a_written_loss_rule_is_the_same_as_the_built_one() {
    let mut built = Draws::new(FaultPlan::loss(7, 0.3));
    let mut written = draws("loss,p=0.3");
    for n in 0..500 {
        let reference = n.to_string();
        assert_eq!(
            built.draw(&effect(&reference)),
            written.draw(&effect(&reference))
        );
    }
    assert_eq!(built.plan().to_string(), "loss,p=0.3");
}
