//! What people do while they review: take an item, note something, rule with a second person, have many asked again, match an export,
//! and settle one incident at once.

use factum_core::evidence::{Ruling, Verdict};
use factum_core::{ActionId, Fact, Span, Timestamp};
use factum_store::{Change, Entry, EntryKey, Filter, Kind, Record, Registered};
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::directory::Caller;
use crate::problem::{Code, Problem};
use crate::review::export::Row;
use crate::review::matching::{Matched, Open, matched};
use crate::review::strong::Bare;
use crate::rulings::verdict_applies;

/// Who says something, as it is recorded, and by what they are known.
#[derive(Clone, Copy, Debug)]
pub struct Person<'a> {
    /// As it is recorded.
    pub by: &'a str,
    /// Who it is: two sayings of one person are one person's.
    pub who: &'a str,
}

impl<'a> Person<'a> {
    /// Somebody who is known by their name alone.
    #[must_use]
    pub fn named(by: &'a str) -> Self {
        Self { by, who: by }
    }
}

/// What became of a verdict.
#[derive(Debug)]
pub enum Ruled {
    /// It counts.
    Recorded(Box<Record>),
    /// The operation wants a second person, who has to say the same.
    Proposed(Box<Record>, ProposedVerdict),
}

impl Ruled {
    /// The action then, by itself.
    #[must_use]
    pub fn into_record(self) -> Record {
        match self {
            Self::Recorded(record) | Self::Proposed(record, _) => *record,
        }
    }

    /// The action then.
    #[must_use]
    pub fn record(&self) -> &Record {
        match self {
            Self::Recorded(record) | Self::Proposed(record, _) => record,
        }
    }
}

/// A verdict that waits for a second person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedVerdict {
    v: u32,
    /// The verdict's word.
    pub verdict: String,
    /// The receipt that it names.
    pub receipt: Option<String>,
    /// Who says so.
    pub by: String,
    /// What it rests on.
    pub why: String,
    /// When, in microseconds since 1970.
    pub at: i64,
    who: String,
    /// It was confirmed, or replaced by what somebody else said.
    done: bool,
}

/// The words for rulings.
#[must_use]
pub fn ruling_word(ruling: &Ruling) -> &'static str {
    match ruling {
        Ruling::Happened { .. } => "happened",
        Ruling::DidNotHappen => "did_not_happen",
        Ruling::SendAgain => "send_again",
        Ruling::CannotBeKnown => "cannot_be_known",
    }
}

/// Actions of one incident: one destination, and requests that were marked between two instants.
#[derive(Clone, Debug, Default)]
pub struct Incident {
    /// The destination, by the tenant's own name; of all where there is none.
    pub destination: Option<String>,
    /// Only this operation.
    pub operation: Option<String>,
    /// A request of it was marked from then on.
    pub from: Option<Timestamp>,
    /// And before then.
    pub until: Option<Timestamp>,
}

/// Actions that one call is about at the most.
pub const MANY_MAX: usize = 5_000;

/// How often something is decided anew that others change meanwhile.
const DECIDED_MAX: usize = 16;

impl Engine {
    /// Takes an item: nobody else touches it, the machine included, until it is given back or ruled on (R6). Taking again what one has
    /// changes nothing.
    ///
    /// # Errors
    /// [`Code::TakenByOther`]; [`Code::DoesNotApply`] where there is nothing to decide.
    pub async fn take_item(&self, id: ActionId, person: Person<'_>) -> Result<Record, Problem> {
        self.judge(id, |record, _| {
            if let Some((_, by)) = record.known.taken_by() {
                return if by == person.by {
                    Ok(None)
                } else {
                    Err(taken(record, by))
                };
            }
            let status = record.status();
            let disputed = status.contradicted || status.duplicate_suspected();
            if (status.state.is_final() && !disputed) || status.closed.is_some() {
                let rule = format!(
                    "the state is {}, and nothing waits for a person",
                    status.state.name()
                );
                return Err(
                    Problem::new(Code::DoesNotApply, "", rule, "read its evidence").about(id),
                );
            }
            Ok(Some(Fact::Taken {
                by: person.by.to_owned(),
            }))
        })
        .await
    }

    /// Gives an item back. Somebody else's too: people fall ill; who did it is noted.
    ///
    /// # Errors
    /// [`Code::DoesNotApply`] where nobody has it.
    pub async fn release_item(&self, id: ActionId, person: Person<'_>) -> Result<Record, Problem> {
        for _ in 0..DECIDED_MAX {
            let record = self.load(id).await?;
            let Some((supersedes, by)) = record.known.taken_by() else {
                let rule = "nobody has taken it";
                return Err(Problem::new(Code::DoesNotApply, "", rule, "take it first").about(id));
            };
            let mut facts = vec![Fact::Released { supersedes }];
            if by != person.by {
                let text = format!("{} gave back what {by} had taken", person.by);
                facts.push(Fact::Noted { text });
            }
            if self
                .record_as(id, Some(record.version), facts)
                .await?
                .is_some()
            {
                return self.load(id).await;
            }
        }
        Err(changes(id))
    }

    /// Keeps a note with an action. It changes nothing.
    ///
    /// # Errors
    /// [`Problem`] if there is no such action, or the store cannot be written.
    pub async fn note_item(&self, id: ActionId, by: &str, text: &str) -> Result<Record, Problem> {
        let text = format!("{by}: {text}");
        self.record(id, vec![Fact::Noted { text }]).await?;
        self.load(id).await
    }

    /// Records a person's ruling, or, where the operation wants two, proposes it until a second person says the same.
    ///
    /// # Errors
    /// [`Code::TakenByOther`], [`Code::AgainstEvidence`] with the evidence in its rule, [`Code::DoesNotApply`] where nothing could follow,
    /// [`Code::SecondPerson`] where the same person says it twice.
    pub async fn rule_by(
        &self,
        id: ActionId,
        ruling: Ruling,
        person: Person<'_>,
        why: &str,
    ) -> Result<Ruled, Problem> {
        self.rule_on(id, None, ruling, person, why).await
    }

    /// The same, only on what the person has seen: the action as it stood at this version.
    ///
    /// # Errors
    /// As [`Engine::rule_by`], and [`Code::ActionChanged`] where something has come to it since; nothing was recorded then.
    pub async fn rule_on_seen(
        &self,
        id: ActionId,
        seen: u64,
        ruling: Ruling,
        person: Person<'_>,
        why: &str,
    ) -> Result<Ruled, Problem> {
        self.rule_on(id, Some(seen), ruling, person, why).await
    }

    async fn rule_on(
        &self,
        id: ActionId,
        seen: Option<u64>,
        ruling: Ruling,
        person: Person<'_>,
        why: &str,
    ) -> Result<Ruled, Problem> {
        let record = self.load(id).await?;
        was_seen(&record, seen)?;
        self.may_rule(&record, &ruling, person).await?;
        if !self.wants_two(&record) {
            let record = self.rule_at_once(id, seen, ruling, person.by, why).await?;
            return Ok(Ruled::Recorded(Box::new(record)));
        }
        for _ in 0..DECIDED_MAX {
            let (key, entry) = self.proposed_entry(&record).await?;
            let standing = entry
                .as_ref()
                .map(read)
                .transpose()?
                .filter(|one| !one.done);
            let version = entry.as_ref().map_or(0, |entry| entry.version);
            let own = proposed(&ruling, person, why, self.now());
            match standing {
                Some(first) if first.says(&own) && first.who == person.who => {
                    let rule = format!(
                        "{} has said so already, and the operation wants two people",
                        first.by
                    );
                    let remedy = "have somebody else give the same verdict";
                    return Err(Problem::new(Code::SecondPerson, "", rule, remedy).about(id));
                }
                Some(first) if first.says(&own) => {
                    let by = format!("{} and {}", first.by, person.by);
                    let why = format!("{}; {why}", first.why);
                    let record = self.rule_at_once(id, seen, ruling, &by, &why).await?;
                    // What is recorded counts; that it is still shown as proposed would only be repeated.
                    let done = ProposedVerdict {
                        done: true,
                        ..first
                    };
                    let _ = self.write_proposed(key, version, &done, person.by).await?;
                    return Ok(Ruled::Recorded(Box::new(record)));
                }
                Some(_) | None => {
                    if self.write_proposed(key, version, &own, person.by).await?
                        == Registered::Stale
                    {
                        continue;
                    }
                    let text = format!("{} proposes the verdict {}: {why}", person.by, own.words());
                    self.record(id, vec![Fact::Noted { text }]).await?;
                    return Ok(Ruled::Proposed(Box::new(self.load(id).await?), own));
                }
            }
        }
        Err(changes(id))
    }

    /// The verdict that waits for a second person, if one does.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn proposed_verdict(
        &self,
        record: &Record,
    ) -> Result<Option<ProposedVerdict>, Problem> {
        if !self.wants_two(record) {
            return Ok(None);
        }
        let (_, entry) = self.proposed_entry(record).await?;
        Ok(entry
            .as_ref()
            .map(read)
            .transpose()?
            .filter(|one| !one.done))
    }

    async fn may_rule(
        &self,
        record: &Record,
        ruling: &Ruling,
        person: Person<'_>,
    ) -> Result<(), Problem> {
        if let Some((_, by)) = record.known.taken_by()
            && by != person.by
        {
            return Err(taken(record, by));
        }
        let bare = self.bare(record).await?;
        let now = self.shared.store.now().await?;
        verdict_applies(record, &record.status(), ruling, now, Some(&bare))
    }

    /// How an action stands without people's verdicts.
    async fn bare(&self, record: &Record) -> Result<Bare, Problem> {
        let evidence = self.shared.store.history(record.id()).await?;
        Ok(Bare::of(&record.action.intent, &evidence))
    }

    pub(super) async fn rule_at_once(
        &self,
        id: ActionId,
        seen: Option<u64>,
        ruling: Ruling,
        by: &str,
        why: &str,
    ) -> Result<Record, Problem> {
        self.judge_on(id, true, |record, evidence, at| {
            was_seen(record, seen)?;
            let bare = Bare::of(&record.action.intent, evidence);
            let (status, _) = self.assess(record);
            verdict_applies(record, &status, &ruling, at, Some(&bare))?;
            Ok(Some(Fact::Verdict(Verdict {
                ruling: ruling.clone(),
                by: by.to_owned(),
                why: why.to_owned(),
                at,
                supersedes: record.known.answered_by_a_verdict(),
            })))
        })
        .await
    }

    fn wants_two(&self, record: &Record) -> bool {
        let scope = &record.action.scope;
        let destination = self.shared.destinations.get(&scope.destination);
        let operation = destination.and_then(|at| at.operation(&scope.operation));
        operation.is_some_and(|operation| operation.two_persons)
    }

    async fn proposed_entry(&self, record: &Record) -> Result<(EntryKey, Option<Entry>), Problem> {
        let tenant = record.action.scope.tenant.as_str();
        let key = EntryKey::new(Kind::Verdict, tenant, record.id().to_string());
        let entry = self.shared.store.entry(key.clone()).await?;
        Ok((key, entry))
    }

    async fn write_proposed(
        &self,
        key: EntryKey,
        expected: u64,
        proposed: &ProposedVerdict,
        by: &str,
    ) -> Result<Registered, Problem> {
        let body = serde_json::to_string(proposed).map_err(|error| damaged(&error))?;
        let change = Change {
            key,
            expected,
            body,
            label: None,
            due: None,
            by: by.to_owned(),
            why: proposed.why.clone(),
        };
        Ok(self.shared.store.change(vec![change]).await?)
    }

    /// What of an incident waits for a person, oldest first.
    ///
    /// # Errors
    /// [`Code::BadQuery`] where it is more than one call is about; [`Problem`] if the store cannot be read.
    pub async fn waiting_for_people(
        &self,
        caller: &Caller,
        incident: &Incident,
    ) -> Result<Vec<Record>, Problem> {
        let (found, more) = self.newest_waiting(caller, incident).await?;
        if more {
            let rule = format!("more than {MANY_MAX} actions wait there");
            let remedy = "name a destination, an operation, or a shorter time";
            return Err(Problem::new(Code::BadQuery, "", rule, remedy));
        }
        Ok(found)
    }

    /// The same of the newest [`MANY_MAX`] that wait, and whether more do.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn newest_waiting(
        &self,
        caller: &Caller,
        incident: &Incident,
    ) -> Result<(Vec<Record>, bool), Problem> {
        let mut found = Vec::new();
        let mut before = None;
        while found.len() <= MANY_MAX {
            let filter = Filter {
                next: Some("review".to_owned()),
                destination: incident.destination.clone(),
                before,
                limit: MANY_MAX + 1,
                ..Filter::default()
            };
            let page = self.list_for(caller, filter).await?;
            let last = page.len() <= MANY_MAX;
            before = page.last().map(Record::id);
            found.extend(page.into_iter().filter(|record| incident.holds(record)));
            if last {
                break;
            }
        }
        let more = found.len() > MANY_MAX;
        found.truncate(MANY_MAX);
        found.reverse();
        Ok((found, more))
    }

    /// Which row of an export belongs to which action that waits for a person.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn match_export(
        &self,
        caller: &Caller,
        incident: &Incident,
        rows: &[Row],
        within: Span,
    ) -> Result<Matched, Problem> {
        let waiting = self.waiting_for_people(caller, incident).await?;
        let mut open = Vec::with_capacity(waiting.len());
        for record in &waiting {
            open.push(self.open_item(record).await?);
        }
        Ok(matched(&open, rows, within))
    }

    /// By what an action can be known at its destination.
    async fn open_item(&self, record: &Record) -> Result<Open, Problem> {
        let action = &record.action;
        let mut marks = Vec::new();
        for epoch in record.known.epochs() {
            let (key, reference) = self.names(record, epoch).await;
            marks.extend([key, reference]);
        }
        marks.sort_unstable();
        marks.dedup();
        let evidence = self.shared.store.history(record.id()).await?;
        let mut names = vec![factum_store::record::identity_text(&action.identity)];
        names.extend(evidence.iter().flat_map(|one| seen_names(&one.fact)));
        let content = &action.content;
        let subjects = [content.subject.clone(), content.summary.clone()];
        Ok(Open {
            action: record.id(),
            marks,
            names,
            subjects: subjects.into_iter().flatten().collect(),
            from: record
                .known
                .first_mark()
                .unwrap_or(action.intent.submitted_at),
            until: record.known.last_at().unwrap_or(Timestamp::NEVER),
        })
    }

    /// What names this very list of actions under this verdict: whoever confirms it has seen it.
    #[must_use]
    pub fn list_digest(&self, verdict: &str, ids: &[ActionId]) -> String {
        let mut said = verdict.as_bytes().to_vec();
        said.extend(ids.iter().flat_map(|id| id.to_bytes()));
        crate::carry::hex(&self.shared.keys.list(&said))
    }

    /// Until when an unknown outcome can still be settled by sending under the same key; none where that is not promised, or nothing was
    /// sent.
    #[must_use]
    pub fn window_ends(&self, record: &Record) -> Option<Timestamp> {
        let intent = &record.action.intent;
        let floor = intent.promises.key?.retention.floor()?;
        if floor == Span::FOREVER {
            return None;
        }
        let first = record.known.first_mark()?;
        Some(first + floor - intent.limits.bound.margin_inside(floor))
    }
}

impl Incident {
    fn holds(&self, record: &Record) -> bool {
        let operation = self.operation.as_ref();
        if operation.is_some_and(|operation| *operation != record.action.scope.operation) {
            return false;
        }
        if self.from.is_none() && self.until.is_none() {
            return true;
        }
        let (from, until) = (self.from, self.until);
        let then = |at: Timestamp| {
            from.is_none_or(|from| at >= from) && until.is_none_or(|until| at < until)
        };
        record.known.marked_at().any(then)
    }
}

impl ProposedVerdict {
    fn says(&self, other: &Self) -> bool {
        (&self.verdict, &self.receipt) == (&other.verdict, &other.receipt)
    }

    fn words(&self) -> String {
        match &self.receipt {
            Some(receipt) => format!("{} ({receipt})", self.verdict),
            None => self.verdict.clone(),
        }
    }
}

fn proposed(ruling: &Ruling, person: Person<'_>, why: &str, at: Timestamp) -> ProposedVerdict {
    let receipt = match ruling {
        Ruling::Happened { receipt } => receipt.as_ref().map(|receipt| receipt.reference.clone()),
        Ruling::DidNotHappen | Ruling::SendAgain | Ruling::CannotBeKnown => None,
    };
    ProposedVerdict {
        v: 1,
        verdict: ruling_word(ruling).to_owned(),
        receipt,
        by: person.by.to_owned(),
        why: why.to_owned(),
        at: at.as_micros(),
        who: person.who.to_owned(),
        done: false,
    }
}

fn read(entry: &Entry) -> Result<ProposedVerdict, Problem> {
    serde_json::from_str(&entry.body).map_err(|error| damaged(&error))
}

fn damaged(error: &serde_json::Error) -> Problem {
    let rule = format!("the proposed verdict cannot be read: {error}");
    Problem::new(Code::StoreDamaged, "", rule, "run `factum doctor`")
}

/// The names that evidence shows for the effect.
fn seen_names(fact: &Fact) -> Vec<String> {
    use factum_core::evidence::{AnswerClass, Callback, LookupAnswer, Receipt};
    let all = |receipt: &Receipt| {
        let own = std::iter::once(receipt.reference.clone());
        own.chain(receipt.aliases.iter().cloned()).collect()
    };
    match fact {
        Fact::Answered(answer) => {
            let mut names: Vec<String> = answer.receipt.as_ref().map(all).unwrap_or_default();
            if let AnswerClass::Accepted {
                object: Some(object),
            } = &answer.class
            {
                names.push(object.clone());
            }
            names
        }
        Fact::LookedUp(lookup) => match &lookup.answer {
            LookupAnswer::Found(receipts) => receipts.iter().flat_map(all).collect(),
            LookupAnswer::Queued { object } => object.iter().cloned().collect(),
            LookupAnswer::Absent | LookupAnswer::Inconclusive { .. } => Vec::new(),
        },
        Fact::CalledBack(Callback::Positive(receipt)) => all(receipt),
        Fact::CalledBack(Callback::Negative { object, .. }) => vec![object.clone()],
        _ => Vec::new(),
    }
}

fn taken(record: &Record, by: &str) -> Problem {
    let rule = format!("{by} works on it");
    let remedy = "leave it to them, or give it back in their place: release";
    Problem::new(Code::TakenByOther, "", rule, remedy).about(record.id())
}

/// Whoever decides on what they were shown decides on nothing else.
fn was_seen(record: &Record, seen: Option<u64>) -> Result<(), Problem> {
    let Some(seen) = seen.filter(|seen| *seen != record.version) else {
        return Ok(());
    };
    let rule = format!(
        "the action is at version {}, and version {seen} was shown",
        record.version
    );
    let remedy = "look at it as it stands now, and decide then";
    Err(Problem::new(Code::ActionChanged, "", rule, remedy).about(record.id()))
}

fn changes(id: ActionId) -> Problem {
    let rule = "the action changed each time that it was judged";
    Problem::new(Code::StoreUnavailable, "", rule, "try again in a moment")
        .about(id)
        .after(std::time::Duration::from_secs(1))
}
