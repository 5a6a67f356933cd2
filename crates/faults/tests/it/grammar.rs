//! The rule text: what it accepts, and what it says when it is wrong.

use factum_faults::{Class, Draws, Fault, FaultPlan, Request};

#[test]
fn every_fault_can_be_written_and_read_back() {
    for fault in Fault::ALL {
        let plan = FaultPlan::parse(1, &fault.to_string()).unwrap();
        assert_eq!(plan.to_string(), fault.to_string());
        // A class makes the accept-time faults a matter of requests, so that one kind of draw serves all.
        let (class, other) = match fault.is_of_callback() {
            true => (Class::Callback, "effect"),
            false => (Class::Effect, "callback"),
        };
        let plan = FaultPlan::parse(1, &format!("{fault},class={}", class.name())).unwrap();
        let request = Request {
            class,
            ..crate::draws::effect("a")
        };
        assert_eq!(Draws::new(plan).draw(&request), *fault);
        let refused = FaultPlan::parse(1, &format!("{fault},class={other}"));
        assert_eq!(refused.is_ok(), *fault == Fault::None, "{fault}");
    }
}

#[test]
fn spaces_line_ends_and_empty_rules_do_not_count() {
    let plan = FaultPlan::parse(1, " close_fin , p=0.5 ;; \n status=503 , n=2-4\n").unwrap();
    assert_eq!(plan.to_string(), "close_fin,p=0.5; status=503,n=2-4");
    assert!(FaultPlan::parse(1, " ; \n").unwrap().is_none());
}

/// Rule text, and a part of what must be said about it.
const MISTAKES: &[(&str, &str)] = &[
    (
        "close",
        "fault rule 1 (close): close: is no fault; use one of loss, none, refuse",
    ),
    (
        "none; status=501",
        "fault rule 2 (status=501): status: cannot answer \"501\"; use one of 500, 502, 503, 504",
    ),
    (
        "close_fin=3",
        "close_fin: takes no parameter; write close_fin alone",
    ),
    (
        "late_answer=soon",
        "late_answer: cannot last \"soon\"; write whole milliseconds",
    ),
    (
        "late_answer=9999999999",
        "write whole milliseconds up to 3600000",
    ),
    (
        "close_fin,n=0",
        "n: cannot be \"0\"; write n=1 or n=2-4, counted from 1",
    ),
    ("close_fin,n=4-2", "n: cannot be \"4-2\""),
    (
        "close_fin,every=0",
        "every: cannot be \"0\"; write a whole number from 1",
    ),
    (
        "close_fin,p=1.5",
        "p: cannot be \"1.5\"; write a number from 0 to 1",
    ),
    ("close_fin,p=NaN", "p: cannot be \"NaN\""),
    (
        "close_fin,p=0.1,p=0.2",
        "p: is given twice; keep one of them",
    ),
    ("close_fin,often", "often: has no value; write member=value"),
    (
        "close_fin,often=3",
        "often: is no member of a rule; use n, every",
    ),
    ("close_fin,method=", "method: is empty"),
    ("close_fin,method=post", "method: is not in capitals"),
    ("close_fin,path=key", "path: does not begin with /"),
    (
        "close_fin,class=search",
        "class: cannot be \"search\"; use one of connection, effect",
    ),
    (
        "close_fin,class=connection",
        "class: close_fin needs a request",
    ),
    (
        "refuse,class=connection,ref=a",
        "a connection has no method, path or reference",
    ),
    (
        "close_fin,per=path",
        "per: cannot be \"path\"; write per=reference",
    ),
    (
        "close_fin,late=20",
        "late: is for loss only; give the fault its own parameter",
    ),
    ("loss", "loss: has no probability; add p=0.3"),
    ("loss=0.3", "loss: takes no parameter; write loss,p=0.3"),
];

#[test]
fn a_mistake_names_rule_member_and_remedy() {
    for (text, expected) in MISTAKES {
        let message = FaultPlan::parse(1, text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}
