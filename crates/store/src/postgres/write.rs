//! What writes: a submission, evidence, a decision, a claim. Each is one statement on one lane.
//!
//! An answer that is lost is resolved by repeating the statement and reading back, never assumed (R32). The one exception is a
//! mark: a process that does not know that its mark is durable writes no byte, so its doubt is handed up as it is (R12).

use factum_core::{ActionId, Evidence, Fact, Timestamp};

use uuid::Uuid;

use super::Inner;
use super::append::{Append, Written, marks};
use super::bound::Value;
use super::pool::{Does, Unanswered};
use super::register::Wishes;
use super::reports::hashes_of;
use super::row::{action_id, count, damaged, lane, signed, uuid};
use super::twins::{Look, TwinRow};
use crate::effect::effect_check;
use crate::purge::{intent_time, is_forgotten, scope_digest};
use crate::record::{
    Action, Admission, Admitted, Claim, Committed, NextRow, Record, Recorded, identity_text,
};
use crate::register::Change;
use crate::report::{Name, names_in};
use crate::shared::{Fence, Overtaker};
use crate::texts::{ActionTexts, Penned, penned_log};
use crate::{StoreError, StoreErrorKind, identity_digest, matching, shared};

pub(super) const ADMITTING: &str = "recording an action";
const RECORDING: &str = "recording evidence";
const COMMITTING: &str = "committing a decision";

/// The token of a claim that is taken in the submission's own statement.
const FIRST_TOKEN: u64 = 1;

/// Rounds of read, fold and write before an action counts as too busy. Each lost round was another worker's success.
const ROUNDS: usize = 64;

/// How an action stands, as columns.
struct Standing {
    records: i64,
    state: &'static str,
    closed: bool,
}

impl Standing {
    fn of(record: &Record) -> Self {
        let status = record.status();
        Self {
            records: count(record.known.len()),
            state: status.state.name(),
            closed: status.closed.is_some(),
        }
    }
}

/// Which action an identity names; none where the register refused before that was asked.
struct Named {
    action: Option<ActionId>,
    /// The scope has forgotten identities of its time, and it may be one of them.
    forgotten: bool,
    /// By this very statement.
    recorded: bool,
}

/// A new action as it is written: its texts, and its first evidence as columns of a batch.
struct Fresh {
    texts: ActionTexts,
    check: Option<Vec<u8>>,
    nos: Vec<i64>,
    kinds: Vec<&'static str>,
    facts: Vec<String>,
    links: Vec<Option<Vec<u8>>>,
}

impl Fresh {
    /// Seals it, and begins its chain.
    fn of(inner: &Inner, record: &mut Record, evidence: &[Evidence]) -> Self {
        let (seals, chains) = (&inner.seals, &inner.chains);
        let log = penned_log(seals, record.id(), evidence);
        record.chain = Some(chains.begin(&record.action));
        let links = chains.lengthen(record, evidence, &log.hashes);
        Self {
            texts: ActionTexts::of(seals, &record.action),
            check: seals
                .is_sealing()
                .then(|| effect_check(&record.action))
                .flatten(),
            nos: evidence.iter().map(|one| signed(one.id.0)).collect(),
            kinds: evidence.iter().map(|one| one.fact.kind()).collect(),
            facts: log.texts,
            links: links.into_iter().map(|link| link.map(Vec::from)).collect(),
        }
    }
}

/// What a submission rests on beside its identity, and changes with itself.
struct Register {
    under: Option<u64>,
    entries: Vec<Change>,
    twin: Option<TwinRow>,
}

impl Register {
    /// Whether this may be why nothing was written.
    fn may_refuse(&self) -> bool {
        self.under.is_some() || !self.entries.is_empty() || self.twin.is_some()
    }
}

impl Inner {
    /// Records a new action, or joins the one that its identity names.
    pub(super) async fn admit(&self, admission: Admission) -> Result<Admitted, StoreError> {
        shared::sound(&admission)?;
        let now = self.now(ADMITTING).await?;
        if is_forgotten(None, admission.oldest, &admission.action).is_some() {
            return self.forgotten(&admission.action, admission.oldest).await;
        }
        let twin = match self.look_for_twins(&admission, now).await? {
            Look::Answered(answered) => return Ok(answered),
            Look::Free(twin) => twin,
        };
        let (submitted, oldest) = (admission.action.clone(), admission.oldest);
        let wish = admission
            .claim_for
            .map(|(worker, lease)| (worker, now + lease));
        let mut names = admission.names.clone();
        names.extend(matching::names_of(&admission.facts));
        let register = Register {
            under: admission.under,
            entries: admission.entries.clone(),
            twin,
        };
        let (mut record, evidence, news) = shared::admitted(admission, now);
        record.overtaken = self.overtaken(ADMITTING, &record.action).await?;
        let claim = wish.map(|(_, until)| Claim {
            action: record.id(),
            token: FIRST_TOKEN,
            version: record.version,
            overtaken: record.overtaken,
            until,
            under: None,
        });
        let by = wish.map(|(worker, until)| (worker.0.cast_signed(), until));
        let news: Vec<&str> = news.iter().map(|topic| topic.word()).collect();
        let fresh = Fresh::of(self, &mut record, &evidence);
        let written = (&record, &fresh, names.as_slice(), &news);
        let mut created = self.insert(written, &register, by, now).await;
        let repeated = created.as_ref().is_err_and(Unanswered::in_doubt);
        if repeated {
            // It waits for what the first one may still be writing, and then finds it.
            created = self.insert(written, &register, by, now).await;
        }
        let refusable = register.may_refuse();
        let admitted = match created {
            Ok(Named { recorded: true, .. }) => self.named(record, names, claim).await,
            Ok(Named {
                forgotten: true, ..
            }) => self.forgotten(&submitted, oldest).await,
            Ok(Named { action, .. }) => {
                self.joined(&submitted, action, names, claim, (repeated, refusable))
                    .await
            }
            // A first try that arrives beside its repeat takes the id before the identity is looked at; one of two changes of an
            // entry at once is refused by the other.
            Err(unanswered)
                if unanswered.is_unique && (repeated || !register.entries.is_empty()) =>
            {
                self.joined(&submitted, None, names, claim, (repeated, refusable))
                    .await
            }
            Err(unanswered) if unanswered.is_unique => Err(shared::id_taken()),
            Err(unanswered) => Err(unanswered.error),
        };
        admitted.map_err(|error| {
            if repeated {
                still_in_doubt(error)
            } else {
                error
            }
        })
    }

    /// A new action, and what had waited for one of its names: then it stands otherwise than the claim says, which is given back.
    async fn named(
        &self,
        record: Record,
        names: Vec<Name>,
        claim: Option<Claim>,
    ) -> Result<Admitted, StoreError> {
        let (id, place) = (record.id(), matching::place(&record));
        if names.is_empty() || !self.look_for_reports(id, place, names).await? {
            self.keep(record.clone());
            return Ok(Admitted::Created(Box::new(record), claim));
        }
        if let Some(claim) = claim {
            self.release(Fence::of(&claim)).await?;
        }
        let record = self.read(ADMITTING, id).await?.unwrap_or(record);
        Ok(Admitted::Created(Box::new(record), None))
    }

    /// The identity is known, or the register refused; `named` is the action that the identity names, unless the register refused.
    /// `repeated` says that the answer to a first try was lost: then a row under our own id is ours.
    async fn joined(
        &self,
        submitted: &Action,
        named: Option<ActionId>,
        names: Vec<Name>,
        claim: Option<Claim>,
        (repeated, refusable): (bool, bool),
    ) -> Result<Admitted, StoreError> {
        let Some(first) = self
            .read_by_identity(ADMITTING, submitted.identity_hash)
            .await?
        else {
            if let Some(first) = named.filter(|first| *first != submitted.intent.action) {
                return self.gone_or_reserved(ADMITTING, submitted, first).await;
            }
            if refusable {
                return Ok(Admitted::Stale);
            }
            let how = "its identity is known, and its rows are gone".to_owned();
            return Err(damaged(ADMITTING, submitted.intent.action, how));
        };
        if repeated && first.id() == submitted.intent.action {
            return self.named(first, names, claim).await;
        }
        Ok(shared::join(first, submitted))
    }

    /// Whoever repeats an identity that is kept joins, however old it is.
    async fn forgotten(
        &self,
        submitted: &Action,
        oldest: Option<Timestamp>,
    ) -> Result<Admitted, StoreError> {
        let kept = self
            .read_by_identity(ADMITTING, submitted.identity_hash)
            .await?;
        if let Some(first) = kept {
            return Ok(shared::join(first, submitted));
        }
        if let Some(named) = self.named_by_identity(submitted).await? {
            return self.gone_or_reserved(ADMITTING, submitted, named).await;
        }
        let scopes = self.scopes().await?;
        let row = scopes.iter().find(|row| row.scope == submitted.scope);
        Ok(is_forgotten(row, oldest, submitted).map_or(Admitted::Stale, Admitted::Forgotten))
    }

    async fn insert(
        &self,
        (record, fresh, names, news): (&Record, &Fresh, &[Name], &Vec<&'static str>),
        register: &Register,
        claim: Option<(i64, Timestamp)>,
        now: Timestamp,
    ) -> Result<Named, Unanswered> {
        let action = &record.action;
        let digest = identity_digest(&action.scope, &action.identity);
        let (id, standing, texts) = (record.id(), Standing::of(record), &fresh.texts);
        let content = &action.content;
        let talk = content.conversation.as_ref().map(|talk| talk.id.as_str());
        let (by, until) = claim.unzip();
        let entries = self.sealed(&register.entries);
        let wishes = Wishes::of(&entries);
        let twin = register.twin.as_ref();
        let scope = scope_digest(&action.scope);
        let intent_at = intent_time(&action.identity, action.intent.intent_at);
        let intent_at = intent_at.map(Timestamp::as_micros);
        let values: [Value<'_>; 49] = [
            &lane(id),
            &uuid(id),
            &action.identity_hash.0.as_slice(),
            &action.fingerprint.0.as_slice(),
            &content.contract.as_slice(),
            &action.scope.tenant,
            &identity_text(&action.identity),
            &talk,
            &texts.params,
            &texts.payload,
            &texts.head,
            &standing.records,
            &standing.state,
            &standing.closed,
            &record.next.step,
            &record.next.at.map(Timestamp::as_micros),
            &record.next.why,
            &action.scope.destination,
            &by,
            &until.map(Timestamp::as_micros),
            &now.as_micros(),
            &fresh.nos,
            &fresh.kinds,
            &fresh.facts,
            &hashes_of(record, names),
            &content.subject,
            &register.under.map(signed),
            &i16::from(digest[0]),
            &digest.as_slice(),
            &id.to_string(),
            news,
            &scope.as_slice(),
            &intent_at,
            &fresh.check,
            &fresh.links,
            &record.chain.map(Vec::from),
            &wishes.kinds,
            &wishes.tenants,
            &wishes.ids,
            &wishes.versions,
            &wishes.bodies,
            &wishes.labels,
            &wishes.dues,
            &wishes.whos,
            &wishes.whys,
            &twin.map(|row| row.lane),
            &twin.map(|row| row.digest.as_slice()),
            &twin.map(|row| row.before),
            &twin.map(|row| row.actions.clone()).unwrap_or_default(),
        ];
        self.identified(&values, register.entries.is_empty() && twin.is_none())
            .await
    }

    /// Runs the statement of a submission, with `values` as its longer form has them. `alone`: nothing is changed with it.
    async fn identified(&self, values: &[Value<'_>], alone: bool) -> Result<Named, Unanswered> {
        let (sql, used) = if alone {
            (include_str!("sql/action_admit.sql"), 36)
        } else {
            (include_str!("sql/action_admit_with_entries.sql"), 49)
        };
        let rows = self
            .connections
            .rows(ADMITTING, Does::Writes, sql, &values[..used])
            .await?;
        let row = rows.first();
        let named = row.map(|row| row.get::<_, Option<Uuid>>(0).map(action_id));
        Ok(Named {
            action: named.flatten(),
            forgotten: named == Some(None),
            recorded: row.is_some_and(|row| row.get::<_, Option<Uuid>>(1).is_some()),
        })
    }

    /// Adds facts, whoever holds the action. Never refused as stale: what was written meanwhile is read, and added to.
    pub(super) async fn record(
        &self,
        id: ActionId,
        facts: Vec<Fact>,
    ) -> Result<Option<Recorded>, StoreError> {
        if facts.is_empty() {
            let now = self.now(RECORDING).await?;
            let record = self.read(RECORDING, id).await?;
            return Ok(record.map(|record| shared::nothing_recorded(&record, now)));
        }
        let recorded = self
            .add(RECORDING, id, |_, now| {
                Some((facts.clone(), shared::decide_anew(now)))
            })
            .await?;
        if recorded.is_none() {
            self.late(id, &facts).await?;
        }
        Ok(recorded)
    }

    /// Adds facts, if the action is still at the version that they were concluded from.
    pub(super) async fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Result<Option<Committed>, StoreError> {
        let Some(record) = self.read(RECORDING, id).await? else {
            return Ok(None);
        };
        if record.version != version {
            return Ok(Some(Committed::Stale));
        }
        let now = self.now(RECORDING).await?;
        let next = shared::decide_anew(now);
        let appended = self
            .append(RECORDING, record, now, facts, next, None)
            .await?;
        Ok(Some(appended.map_or(Committed::Stale, Committed::Durable)))
    }

    /// Adds what `wish` gives on top of the action as it stands, again and again until nobody else wrote in between. `None` if
    /// there is no such action, or nothing to add.
    pub(super) async fn add(
        &self,
        doing: &'static str,
        id: ActionId,
        wish: impl Fn(&Record, Timestamp) -> Option<(Vec<Fact>, NextRow)>,
    ) -> Result<Option<Recorded>, StoreError> {
        for _ in 0..ROUNDS {
            let Some(record) = self.read(doing, id).await? else {
                return Ok(None);
            };
            let now = self.now(doing).await?;
            let Some((facts, next)) = wish(&record, now) else {
                return Ok(None);
            };
            let appended = self.append(doing, record, now, facts, next, None).await?;
            if appended.is_some() {
                return Ok(appended);
            }
        }
        let text = "others write to this action all the time".to_owned();
        Err(StoreError::new(doing, StoreErrorKind::Unavailable(text)))
    }

    /// Writes a decision, if the claim still holds and nothing was recorded meanwhile.
    pub(super) async fn commit(
        &self,
        fence: Fence,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Result<Committed, StoreError> {
        let id = fence.action;
        let known = self
            .kept(id)
            .filter(|record| record.version == fence.version);
        let record = match known {
            Some(record) => record,
            None => match self.read(COMMITTING, id).await? {
                Some(record) if record.version == fence.version => record,
                Some(_) | None => return self.stale(fence).await,
            },
        };
        let now = self.now(COMMITTING).await?;
        let appended = self
            .append(COMMITTING, record, now, facts, next, Some(fence))
            .await?;
        match appended {
            Some(recorded) => Ok(Committed::Durable(recorded)),
            None => self.stale(fence).await,
        }
    }

    /// Nothing was written. The action is further than the claim, or the claim is over; or commits were lost, and it is not
    /// where it was any more (R18).
    async fn stale(&self, fence: Fence) -> Result<Committed, StoreError> {
        self.continuity.saw(fence.action, fence.version);
        self.look(COMMITTING).await?;
        Ok(Committed::Stale)
    }

    /// Whether effect requests are held after a restore. The database refuses their marks, so that no worker sends before it has
    /// heard of it.
    async fn refuse_if_held(&self, evidence: &[Evidence]) -> Result<(), StoreError> {
        if !marks(evidence) {
            return Ok(());
        }
        match self.restore().await? {
            Some(restore) if restore.released.is_none() => {
                let text = "a restore is not released: no effect request may be marked".to_owned();
                Err(StoreError::new(
                    COMMITTING,
                    StoreErrorKind::Unavailable(text),
                ))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Facts and a next step on top of a record; `None` if the action is not at its version any more.
    async fn append(
        &self,
        doing: &'static str,
        mut record: Record,
        now: Timestamp,
        facts: Vec<Fact>,
        next: NextRow,
        fence: Option<Fence>,
    ) -> Result<Option<Recorded>, StoreError> {
        let before = record.version;
        let subject = fence.filter(|_| shared::rests_on_subject(&facts));
        let penned = Penned::of(&self.seals, record.id(), facts);
        let (mut recorded, evidence, news) = shared::append(&mut record, now, penned.facts, next);
        let written = Written {
            links: self.chains.lengthen(&mut record, &evidence, &penned.hashes),
            texts: penned.texts,
            evidence,
            news,
        };
        let evidence = written.evidence.as_slice();
        let update = self.update(doing, &record, (before, subject), &written, now, fence);
        let appended = match update.await {
            Err(unanswered) if unanswered.in_doubt() && !marks(evidence) => {
                let read = self.read_back(doing, &record, evidence).await;
                read.map_err(still_in_doubt)?
            }
            answered => answered?,
        };
        if !appended {
            self.refuse_if_held(evidence).await?;
            return Ok(None);
        }
        let (id, place, names) = (record.id(), matching::place(&record), names_of(evidence));
        self.keep(record);
        // A report that is found brings facts of its own, and may be followed by others.
        if !names.is_empty() && Box::pin(self.look_for_reports(id, place, names)).await? {
            recorded.behind = self.read(doing, id).await?.map(Box::new);
        }
        Ok(Some(recorded))
    }

    async fn update(
        &self,
        doing: &'static str,
        record: &Record,
        (before, subject): (u64, Option<Fence>),
        written: &Written,
        now: Timestamp,
        fence: Option<Fence>,
    ) -> Result<bool, Unanswered> {
        let names = hashes_of(record, &names_of(&written.evidence));
        let row = Append::of(record, before, written, names, now, fence);
        // Where the decision rests on how the action stands with its subject, that has to be as it was.
        let Some((wanted, fence)) = Overtaker::of(&record.action).zip(subject) else {
            return self.flusher.append(doing, row).await;
        };
        let on_subject: [Value<'_>; 6] = [
            &wanted.tenant,
            &wanted.destination,
            &wanted.subject,
            &uuid(wanted.from),
            &uuid(wanted.but),
            &fence.overtaken,
        ];
        // Such a mark looks beyond its own lane, and goes alone.
        let values = [row.values().as_slice(), &on_subject].concat();
        let sql = include_str!("sql/standing_append_on_subject.sql");
        let rows = self
            .connections
            .rows(doing, Does::Writes, sql, &values)
            .await?;
        Ok(!rows.is_empty())
    }

    /// Whether what was written with a lost answer stands. Waits for whoever is writing the row first.
    async fn read_back(
        &self,
        doing: &'static str,
        wanted: &Record,
        evidence: &[Evidence],
    ) -> Result<bool, StoreError> {
        let id = wanted.id();
        let values: [Value<'_>; 2] = [&lane(id), &uuid(id)];
        let sql = include_str!("sql/standing_lock.sql");
        self.connections
            .rows(doing, Does::Reads, sql, &values)
            .await?;
        let Some(found) = self.read(doing, id).await? else {
            return Ok(false);
        };
        // Without facts of its own a decision cannot be told from another worker's: it is made anew.
        if evidence.is_empty() || found.version < wanted.version {
            return Ok(false);
        }
        let log = self.history(id).await?;
        Ok(evidence.iter().all(|one| log.contains(one)))
    }
}

/// What went wrong while a doubt was being resolved: then the doubt stands, and nobody may say that nothing was written.
fn still_in_doubt(error: StoreError) -> StoreError {
    match error.kind {
        StoreErrorKind::Unavailable(why) => {
            StoreError::new(error.doing, StoreErrorKind::InDoubt(why))
        }
        _ => error,
    }
}

/// The names that evidence brings.
fn names_of(evidence: &[Evidence]) -> Vec<Name> {
    evidence
        .iter()
        .flat_map(|one| names_in(&one.fact))
        .collect()
}
