//! The calls of workers elsewhere: claim, begin, extend, report, give back. What is handed out and what follows is decided in
//! [`crate::work`].

use std::time::Duration;

use factum_core::promise::LookupBy;
use factum_core::{Epoch, Fact, Span, Timestamp, WorkerNonce};
use factum_store::{Claim, Claimed, Committed, Due, Record};

use super::{Engine, PAUSED, random_u64};
use crate::authority;
use crate::destination::{ByWorkers, Destination};
use crate::directory::Caller;
use crate::driver::answers::due_at;
use crate::driver::held::in_flight_row;
use crate::failpoint::{CrashPoint, reach};
use crate::metrics::Notes;
use crate::problem::{Code, Problem};
use crate::shell::{announce, name_key};
use crate::work::{self, Begun, Doable, Reading, Report, Ticket, TicketKind, Wish, Work};

/// The longest lease that a worker may ask for.
const LEASE_MAX: Span = Span::from_secs(3_600);

/// Rows that are read at once, and at the most for one call at one destination.
const PAGE: usize = 64;
const READ_MAX: usize = 1_024;

/// How often a begin, an extension or a report is decided anew because something else was recorded meanwhile.
const DECIDED_MAX: usize = 16;

impl Engine {
    /// Claims what waits for workers and fits a wish, at the caller's tenant: each for that long, and for nobody else meanwhile.
    /// Nothing while sends are held.
    ///
    /// # Errors
    /// [`Code::UnknownDestination`] for one that the tenant has not, or [`Problem`] if the store cannot be read.
    pub async fn claim_work(&self, caller: &Caller, wish: &Wish) -> Result<Vec<Work>, Problem> {
        let mut found = Vec::new();
        for destination in self.wished(caller, wish)? {
            let mut after = None;
            let mut read = 0;
            while found.len() < wish.limit && read < READ_MAX && !self.is_stopping() {
                let store = &self.shared.store;
                let rows: Vec<Due> = store
                    .for_workers(destination.name.clone(), after, PAGE)
                    .await?;
                read += PAGE;
                let more = rows.len() == PAGE;
                after = rows.last().map(|row| (row.at, row.action));
                for row in rows {
                    if found.len() == wish.limit {
                        break;
                    }
                    if wish.actions.is_empty() || wish.actions.contains(&row.action) {
                        found.extend(self.claim_one(caller, wish, destination, &row).await?);
                    }
                }
                if !more {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The tenant's destinations that a wish is about.
    fn wished(&self, caller: &Caller, wish: &Wish) -> Result<Vec<&Destination>, Problem> {
        let named = wish.destinations.iter();
        let named = named.map(|name| {
            self.destination(&caller.tenant, name).ok_or_else(|| {
                let rule = format!("no destination {name:?} is configured");
                let remedy = "see GET /v1/destinations";
                Problem::new(Code::UnknownDestination, "/destinations", rule, remedy)
            })
        });
        let named: Vec<_> = named.collect::<Result<_, _>>()?;
        if !wish.destinations.is_empty() {
            return Ok(named);
        }
        let all = self.destinations_of(&caller.tenant);
        let by_workers =
            |at: &Destination| at.operations.values().any(|op| op.by_workers.is_some());
        Ok(all.map(|(_, at)| at).filter(|at| by_workers(at)).collect())
    }

    async fn claim_one(
        &self,
        caller: &Caller,
        wish: &Wish,
        destination: &Destination,
        row: &Due,
    ) -> Result<Option<Work>, Problem> {
        let Some(record) = self.shared.store.load(row.action).await? else {
            return Ok(None);
        };
        let operation = &record.action.scope.operation;
        let by = destination
            .operation(operation)
            .and_then(|op| op.by_workers);
        let Some(by) = by.filter(|_| is_wished(caller, wish, &record)) else {
            return Ok(None);
        };
        // Read before the claim: a lookup under it is asked later (R2).
        let at = self.shared.store.now().await?;
        let nonce = WorkerNonce::elsewhere(random_u64());
        let lease = wish.lease.unwrap_or(by.lease).min(LEASE_MAX);
        let claimed = self.shared.store.claim(row.action, nonce, lease).await?;
        let Claimed::Held(claim, record) = claimed else {
            return Ok(None);
        };
        reach(CrashPoint::C3);
        let (kind, permission, lookup) = match self.doable(&record, by).await? {
            Doable::Send(leave) => {
                let right = leave.kind().map(|kind| (kind, leave.valid_until()));
                (
                    TicketKind::Send,
                    right.map(|right| (right, leave.epoch())),
                    None,
                )
            }
            Doable::LookUp(by) => (TicketKind::LookUp, None, Some(by)),
            Doable::Nothing(_) => {
                self.not_for_workers(claim, &record).await;
                return Ok(None);
            }
        };
        if wish.kind.is_some_and(|wished| wished != kind) {
            let _ = self.shared.store.release(claim).await;
            return Ok(None);
        }
        let epoch = permission.map_or_else(|| work::epoch_of(&record), |(_, epoch)| epoch);
        let ticket = Ticket {
            action: row.action,
            token: claim.token,
            nonce,
            kind,
            at,
            epoch,
        };
        let (key, reference) = self.names(&record, epoch).await;
        Ok(Some(Work {
            claim: ticket.text(&self.shared.keys),
            kind,
            key,
            reference,
            permission: permission.map(|(right, _)| right),
            by: lookup,
            until: claim.until,
            record,
        }))
    }

    /// Begins an attempt under a claim: its mark is durable when this answers, and the permission in the answer is the only one.
    ///
    /// # Errors
    /// [`Code::AlreadyBegun`] for a repeated begin, [`Code::ClaimOver`] where the claim has ended, [`Code::NothingToBegin`] where
    /// nothing may be sent now; after [`Code::StoreUnavailable`] the begin may be repeated.
    pub async fn begin_work(&self, caller: &Caller, claim: &str) -> Result<Begun, Problem> {
        let ticket = self.ticket(claim)?;
        if ticket.kind == TicketKind::LookUp {
            let rule = "a lookup needs no permission";
            let remedy = "ask, and report what was found";
            return Err(Problem::new(Code::NothingToBegin, "", rule, remedy).about(ticket.action));
        }
        for _ in 0..DECIDED_MAX {
            let record = self.of_claim(caller, &ticket).await?;
            if let Some(mark) = record.known.marked_for(ticket.nonce) {
                let rule = format!("attempt {} was begun under this claim before", mark.attempt);
                let remedy = "the permission was handed out once; if nothing was sent, report `not_sent`, else what happened";
                return Err(Problem::new(Code::AlreadyBegun, "", rule, remedy).about(ticket.action));
            }
            if ticket.is_before(self.shared.store.restore().await?.as_ref()) {
                return Err(over(&ticket));
            }
            let by = self
                .by_workers(&record)
                .ok_or_else(|| nothing(&record, "workers do not carry it out any more"))?;
            let leave = match self.doable(&record, by).await? {
                Doable::Send(leave) => leave.leased_for(by.lease),
                Doable::LookUp(_) => {
                    return Err(self
                        .refused_begin(&ticket, &record, "it is looked for first")
                        .await);
                }
                Doable::Nothing(why) => {
                    return Err(self.refused_begin(&ticket, &record, &why).await);
                }
            };
            let (mark, marked) = leave.mark(ticket.nonce);
            let held = self.hold(&ticket, &record);
            name_key(&self.shared, &record, std::slice::from_ref(&mark)).await?;
            let row = in_flight_row(&mark);
            let until = row.at.unwrap_or(Timestamp::NEVER);
            let notes = Notes::of(std::slice::from_ref(&mark));
            match self.shared.store.commit(&held, vec![mark], row).await? {
                Committed::Durable(recorded) => {
                    (self.shared.metrics).recorded(&record, &notes, recorded.states.0, recorded.at);
                    reach(CrashPoint::C4);
                    // Only now, and only here, does the permission exist.
                    let permission = marked.durable();
                    announce(&self.shared, ticket.action, &recorded);
                    let _ = self.shared.store.release(held).await;
                    self.tell(due_at(&record, until)).await;
                    return self.begun(&ticket, permission, until).await;
                }
                Committed::Stale => self.still_held(held).await?,
            }
        }
        Err(busy(&ticket))
    }

    async fn begun(
        &self,
        ticket: &Ticket,
        permission: factum_core::Permission,
        leased_until: Timestamp,
    ) -> Result<Begun, Problem> {
        let record = Box::new(self.load(ticket.action).await?);
        let broken = || nothing(&record, "its mark cannot be read back");
        let mark = record.known.marked_for(ticket.nonce).ok_or_else(broken)?;
        let (attempt, at) = (mark.attempt, mark.at);
        let kind = permission.kind().ok_or_else(broken)?;
        let (key, reference) = self.names(&record, permission.epoch()).await;
        Ok(Begun {
            attempt,
            permission: kind,
            at,
            valid_until: permission.valid_until(),
            limit: permission.write_limit(),
            leased_until,
            key,
            reference,
            record,
        })
    }

    /// Says that a worker is still at work: its claim, or the lease of what it began, ends later. The permission does not. Answers
    /// when word of it is waited for until.
    ///
    /// # Errors
    /// [`Code::ClaimOver`] where it has ended.
    pub async fn extend_work(&self, caller: &Caller, claim: &str) -> Result<Timestamp, Problem> {
        let ticket = self.ticket(claim)?;
        for _ in 0..DECIDED_MAX {
            let record = self.of_claim(caller, &ticket).await?;
            let lease = self
                .by_workers(&record)
                .map_or(Span::from_secs(60), |by| by.lease);
            let now = self.shared.store.now().await?;
            let Some(mark) = record.known.marked_for(ticket.nonce) else {
                let held = self.hold(&ticket, &record);
                let restore = self.shared.store.restore().await?;
                if !ticket.is_before(restore.as_ref())
                    && self.shared.store.renew(&held, lease).await?
                {
                    return Ok(now + lease);
                }
                return Err(over(&ticket));
            };
            let Some(until) = record.known.attempt_leased_until(mark.attempt) else {
                return Err(over(&ticket));
            };
            // A log that grows with every beat of a hasty worker helps nobody.
            if until > now + lease.fraction(1, 2) {
                return Ok(until);
            }
            let fact = Fact::LeaseExtended {
                request: factum_core::evidence::RequestRef::Attempt(mark.attempt),
                until: now + lease,
            };
            let (version, facts) = (Some(record.version), vec![fact]);
            if self
                .record_as(ticket.action, version, facts)
                .await?
                .is_some()
            {
                return Ok(now + lease);
            }
        }
        Err(busy(&ticket))
    }

    /// Records what a worker reports, however late. A report that is repeated joins: the second answer is true then.
    ///
    /// # Errors
    /// [`Code::UnknownClaim`]; [`Code::NotBegun`], [`Code::WrongType`] as [`work::facts`] says; or [`Problem`] if the store cannot be
    /// written, and then the report may be repeated.
    pub async fn report_work(
        &self,
        caller: &Caller,
        claim: &str,
        report: Report,
    ) -> Result<(Record, bool), Problem> {
        let ticket = self.ticket(claim)?;
        let record = self.of_claim(caller, &ticket).await?;
        let contract = self.shared.pinned_contract(&record).await;
        let restore = self.shared.store.restore().await?;
        let reading = Reading {
            by: &caller.principal,
            keys: &self.shared.keys,
            contract: contract.as_deref(),
            restore: restore.as_ref(),
            now: self.shared.now(),
        };
        let facts = work::facts(&ticket, &record, report, &reading)?;
        let evidence = self.shared.store.history(ticket.action).await?;
        if work::is_recorded(&evidence, &facts) {
            // The first may have been written down by a store whose answer was lost.
            if record.next.at.is_some() {
                self.look_at(&record, self.shared.now()).await;
            }
            return Ok((record, true));
        }
        self.record(ticket.action, facts).await?;
        reach(CrashPoint::C7);
        // Whoever held it holds it no longer; a claim that has ended is left alone.
        if !ticket.is_before(restore.as_ref()) {
            let _ = self.shared.store.release(self.hold(&ticket, &record)).await;
        }
        let record = self.load(ticket.action).await?;
        self.look_at(&record, self.shared.now()).await;
        Ok((record, false))
    }

    /// Gives a claim back under which nothing was begun: it is free for others at once.
    ///
    /// # Errors
    /// [`Code::AlreadyBegun`]: what was begun has to be reported.
    pub async fn return_work(&self, caller: &Caller, claim: &str) -> Result<(), Problem> {
        let ticket = self.ticket(claim)?;
        let record = self.of_claim(caller, &ticket).await?;
        if record.known.marked_for(ticket.nonce).is_some() {
            let rule = "an attempt was begun under this claim";
            let remedy = "report what became of it: `not_sent` if nothing was sent";
            return Err(Problem::new(Code::AlreadyBegun, "", rule, remedy).about(ticket.action));
        }
        if !ticket.is_before(self.shared.store.restore().await?.as_ref()) {
            let held = self.hold(&ticket, &record);
            self.shared.store.release(held).await?;
        }
        Ok(())
    }

    /// What a worker could do about an action now. Nothing while sends are held, and lookups go on.
    async fn doable(&self, record: &Record, by: ByWorkers) -> Result<Doable, Problem> {
        let directory = self.shared.directory();
        let scope = &record.action.scope;
        let destination = self.shared.destinations.get(&scope.destination);
        let operation = destination.and_then(|at| at.operation(&scope.operation));
        let contract = operation.and_then(|operation| operation.contract.as_ref());
        let place = destination.and_then(Destination::place);
        let rests = (
            contract.map_or([0; 32], |own| own.contract.digest()),
            place.as_deref(),
            destination.and_then(|at| at.account.as_deref()),
        );
        let conditions = self.conditions(record);
        let doable = work::doable(record, &conditions, Some(&directory), rests, by.look_ups);
        if !matches!(doable, Doable::Send(_)) {
            return Ok(doable);
        }
        // Asked of the store, since another worker may have been told.
        if self.is_stopping() || self.shared.store.setting(PAUSED).await?.is_some() {
            return Ok(Doable::Nothing("sends are held by an operator".to_owned()));
        }
        Ok(doable)
    }

    fn by_workers(&self, record: &Record) -> Option<ByWorkers> {
        let scope = &record.action.scope;
        let destination = self.shared.destinations.get(&scope.destination)?;
        destination.operation(&scope.operation)?.by_workers
    }

    /// The provider key and the reference, as the destination takes them.
    pub(super) async fn names(&self, record: &Record, epoch: Epoch) -> (String, String) {
        let (keys, identity) = (&self.shared.keys, record.action.identity_hash);
        let (key, reference) = (keys.provider_key(identity, epoch), keys.reference(identity));
        match self.shared.pinned_contract(record).await {
            Some(contract) => (
                contract.encode_key(&key),
                contract.encode_reference(&reference),
            ),
            None => (crate::carry::hex(&key), crate::carry::hex(&reference[..20])),
        }
    }

    fn ticket(&self, claim: &str) -> Result<Ticket, Problem> {
        Ticket::read(claim, &self.shared.keys)
    }

    /// The action of a claim, if it is of the caller's tenant: one of another tenant is answered like one that there is not (law 9).
    async fn of_claim(&self, caller: &Caller, ticket: &Ticket) -> Result<Record, Problem> {
        let found = self.shared.store.load(ticket.action).await?;
        let visible = |record: &Record| self.may_see(caller, record);
        found.filter(visible).ok_or_else(|| {
            let remedy = "send the claim from the answer to POST /v1/work/claim";
            Problem::new(Code::UnknownClaim, "", "no claim has this name", remedy)
        })
    }

    fn hold(&self, ticket: &Ticket, record: &Record) -> Claim {
        ticket.hold(record, self.shared.directory().edition())
    }

    /// A mark was refused: the claim is over, or something else was recorded, or somebody may do less than is known here.
    async fn still_held(&self, held: Claim) -> Result<(), Problem> {
        for event in authority::refreshed(&self.shared).await {
            self.tell(event).await;
        }
        // It is prolonged by nothing: this only asks.
        let holds = self.shared.store.renew(&held, Span::ZERO).await?;
        if holds {
            return Ok(());
        }
        let rule = "the claim ran out, or was never held here";
        let remedy = "send nothing under it, and claim again";
        Err(Problem::new(Code::ClaimOver, "", rule, remedy).about(held.action))
    }

    /// Nothing may be sent under a claim: it is given back, and the action decided anew.
    async fn refused_begin(&self, ticket: &Ticket, record: &Record, why: &str) -> Problem {
        let held = self.hold(ticket, record);
        self.not_for_workers(held, record).await;
        nothing(record, why)
    }

    async fn not_for_workers(&self, held: Claim, record: &Record) {
        // Its lease ends it where the store cannot be written.
        let _ = self.shared.store.release(held).await;
        self.look_at(record, self.shared.now()).await;
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(std::sync::atomic::Ordering::Relaxed)
    }
}

fn is_wished(caller: &Caller, wish: &Wish, record: &Record) -> bool {
    let scope = &record.action.scope;
    let kind = wish.kind.is_none_or(|kind| record.next.step == kind.name());
    let operation = wish.operations.is_empty() || wish.operations.contains(&scope.operation);
    scope.tenant == caller.tenant && kind && operation
}

fn nothing(record: &Record, why: &str) -> Problem {
    let rule = format!("nothing may be sent under this claim: {why}");
    let remedy = "send nothing, and claim again";
    Problem::new(Code::NothingToBegin, "", rule, remedy).about(record.id())
}

fn over(ticket: &Ticket) -> Problem {
    let rule = "the claim ran out, or what was begun under it ended, as far as is known here";
    let remedy = "begin nothing under it; what was begun may be reported at any time";
    Problem::new(Code::ClaimOver, "", rule, remedy).about(ticket.action)
}

fn busy(ticket: &Ticket) -> Problem {
    let rule = "the action changed each time that it was decided on";
    Problem::new(Code::StoreUnavailable, "", rule, "try again in a moment")
        .about(ticket.action)
        .after(Duration::from_secs(1))
}

/// By what a lookup asks, in a word.
#[must_use]
pub fn by_word(by: LookupBy) -> &'static str {
    match by {
        LookupBy::Reference => "reference",
        LookupBy::Key => "key",
    }
}
