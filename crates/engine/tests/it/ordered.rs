//! What a probe gets to send with: ordered by a person, on disk first, at a sandbox only.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use factum_core::evidence::{Order as By, PermissionKind};
use factum_core::promise::Consequence;
use factum_core::{
    ActionId, Evidence, EvidenceId, Fact, Lane, Limits, Permission, Promises, Span, Timestamp,
    WorkerNonce,
};
use factum_engine::driver::gate::GateSettings;
use factum_engine::ordered::{Journal, NotOrdered, Order, order};
use factum_engine::{Carried, CarriedRequest, Destination, Reach};

/// What was made durable, and whether that works.
struct Disk {
    records: Vec<Evidence>,
    full: bool,
}

impl Journal for Disk {
    fn durable(&mut self, _: ActionId, records: &[Evidence]) -> io::Result<()> {
        if self.full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.records.extend_from_slice(records);
        Ok(())
    }
}

fn destination(sandbox: bool) -> Destination {
    let carrier = |_: Permission, _: CarriedRequest| std::future::pending::<Carried>();
    Destination {
        name: "place".to_owned(),
        provider: "own code".to_owned(),
        account: None,
        reach: Reach::InProcess(Arc::new(carrier)),
        operations: BTreeMap::new(),
        any_operation: None,
        gate: GateSettings::default(),
        sandbox,
        callback_secrets: Vec::new(),
    }
}

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn ordered(sandbox: bool, disk: &mut Disk) -> Result<Permission, NotOrdered> {
    let promises = Promises::none(Consequence::Irreversible);
    let given = Order {
        action: ActionId::new(NOW, Lane(0), 1),
        by: "ana",
        why: "probe",
        limits: Limits::default(),
        promises: &promises,
        worker: WorkerNonce(7),
        now: NOW,
    };
    order(&destination(sandbox), &given, disk)
}

#[test]
fn it_is_ordered_by_who_asked_and_both_records_are_there_first() {
    let mut disk = Disk {
        records: Vec::new(),
        full: false,
    };
    let permission = ordered(true, &mut disk).unwrap();
    let kind = PermissionKind::Ordered(By::Verdict(EvidenceId(1)));
    assert_eq!(permission.kind(), Some(kind));
    assert!(permission.check(NOW).is_ok());
    assert!(permission.check(NOW + Span::from_secs(60)).is_err());
    let facts: Vec<&Fact> = disk.records.iter().map(|record| &record.fact).collect();
    assert!(
        matches!(facts.as_slice(), [Fact::Verdict(verdict), Fact::Marked(mark)]
            if verdict.by == "ana" && mark.permission == kind),
        "{facts:?}"
    );
}

#[test]
fn without_a_sandbox_or_a_record_there_is_no_permission() {
    let mut disk = Disk {
        records: Vec::new(),
        full: false,
    };
    let refused = ordered(false, &mut disk);
    assert!(matches!(refused, Err(NotOrdered::NoSandbox)), "{refused:?}");
    assert!(disk.records.is_empty());
    disk.full = true;
    let refused = ordered(true, &mut disk);
    assert!(
        matches!(refused, Err(NotOrdered::Journal(_))),
        "{refused:?}"
    );
}
