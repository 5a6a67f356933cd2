//! Conversations: what was asked in each, what may be said now, what was said, and what has to be put right.
//!
//! A statement that was handed out for a conversation counts as told until it is denied. What was told is kept with the version of
//! the status that was read, so that evidence which came in between is seen (R22). A correction is due from the moment at which
//! the evidence no longer supports what was told, until somebody acknowledges that it was passed on.

mod calls;
mod keep;
mod late;
mod told;
mod view;
pub(crate) mod watch;

use factum_core::ActionId;
use factum_core::statement::StatementKey;
use factum_engine::proposal::ProposalState;
use factum_engine::{Caller, Code, Engine, Problem, ProposalFilter};
use factum_store::{EntryFilter, Filter, Kind, Record};

pub use self::view::{ConversationView, CorrectionView, InConversation, ToldAnswer, ToldView};

use self::keep::{DUE, Kept, named};
use self::told::{How, Log, Now, Told};
use crate::proposals::ProposalView;
use crate::statements::claims::Claims;
use crate::statements::{Audience, Locale, Reader, Words};
use crate::teller::Teller;
use crate::view::StatusView;

/// Actions of one conversation that are shown at the most.
const ACTIONS_MAX: usize = 200;
/// Conversations of one action that are looked through at once: there is one, nearly always.
const TOLD_OF_PAGE: usize = 4;

/// What conversations were told, over a store.
#[derive(Clone, Copy)]
pub struct Conversations<'a> {
    engine: &'a Engine,
    teller: &'a Teller,
}

/// One action in one conversation of a tenant.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Whose.
    pub tenant: &'a str,
    /// Its name at the caller.
    pub conversation: &'a str,
    /// Which action was asked for, or asked about, in it.
    pub action: ActionId,
}

/// What somebody says was passed on.
#[derive(Clone, Debug, Default)]
pub struct Telling {
    /// The version of the status that was read.
    pub version: u64,
    /// The key of the statement; may be left out if that version was handed out, or is the present one.
    pub statement: Option<StatementKey>,
    /// The words that were used, if they were others.
    pub said: Option<String>,
    /// In which language.
    pub locale: Option<Locale>,
    /// It was handed out and not passed on.
    pub denied: bool,
    /// Who says so.
    pub by: String,
}

/// Which corrections to list.
#[derive(Clone, Debug, Default)]
pub struct CorrectionFilter {
    /// In this conversation.
    pub conversation: Option<String>,
    /// Behind this one: continues a listing.
    pub after: Option<String>,
    /// At most this many.
    pub limit: usize,
}

impl<'a> Conversations<'a> {
    /// Of an engine, in these words.
    #[must_use]
    pub fn new(engine: &'a Engine, teller: &'a Teller) -> Self {
        Self { engine, teller }
    }

    /// What was asked and what may be said. What a customer or an agent is shown here counts as told.
    ///
    /// # Errors
    /// [`Code::UnknownConversation`], or [`Problem`] of the store: what cannot be kept is not handed out.
    pub async fn show(
        &self,
        tenant: &str,
        id: &str,
        reader: Reader,
    ) -> Result<ConversationView, Problem> {
        let (records, complete) = self.records(tenant, id).await?;
        let proposals = self.proposals(tenant, id, reader).await?;
        if records.is_empty() && proposals.is_empty() {
            let rule = format!("nothing was asked for in a conversation {id:?}, and nothing told");
            let remedy = "send its name as the submissions have it in `conversation.id`";
            return Err(Problem::new(Code::UnknownConversation, "", rule, remedy));
        }
        let mut actions = Vec::with_capacity(records.len());
        for record in records {
            let place = Place {
                tenant,
                conversation: id,
                action: record.id(),
            };
            // Shown as it stood when it was handed out: what came later is for the next look.
            let status = self.teller.view(self.engine, &record, false, reader);
            let kept = if reader.audience == Audience::Operator {
                self.kept(place, &record).await?
            } else {
                self.hand_out(place, &status).await?
            };
            let asked = record.action.content.conversation.as_ref();
            actions.push(InConversation {
                turn: asked.and_then(|asked| asked.turn),
                asked: asked.and_then(|asked| asked.asked.clone()),
                told: kept.log.told.iter().map(ToldView::of).collect(),
                correction: self.correction(place, &record, &kept, reader.audience),
                status,
            });
        }
        Ok(ConversationView {
            id: id.to_owned(),
            corrections_due: actions
                .iter()
                .filter(|one| one.correction.is_some())
                .count(),
            actions,
            proposals,
            complete,
        })
    }

    /// What was proposed in a conversation and is no action.
    async fn proposals(
        &self,
        tenant: &str,
        id: &str,
        reader: Reader,
    ) -> Result<Vec<ProposalView>, Problem> {
        let whole = Caller::trusted(tenant, "the engine");
        let filter = ProposalFilter {
            conversation: Some(id.to_owned()),
            limit: ACTIONS_MAX,
            ..ProposalFilter::default()
        };
        let mut found = self.engine.proposals(&whole, filter).await?;
        found.retain(|one| match one.state {
            ProposalState::Pending | ProposalState::Declined | ProposalState::Expired => true,
            // The one that took its place is here, or its action is.
            ProposalState::Superseded | ProposalState::Approved => false,
        });
        found.sort_by_key(|one| one.id);
        let views = found.iter();
        Ok(views
            .map(|one| ProposalView::of(self.engine, self.teller, one, reader))
            .collect())
    }

    /// The actions that were asked for in a conversation, and those that it was told of: oldest first.
    async fn records(&self, tenant: &str, id: &str) -> Result<(Vec<Record>, bool), Problem> {
        let filter = Filter {
            tenant: Some(tenant.to_owned()),
            conversation: Some(id.to_owned()),
            limit: ACTIONS_MAX + 1,
            ..Filter::default()
        };
        let mut records = self.engine.list(filter).await?;
        let told_of = EntryFilter {
            tenant: Some(tenant.to_owned()),
            label: Some(id.to_owned()),
            limit: ACTIONS_MAX,
            ..EntryFilter::of(Kind::Told)
        };
        for entry in self.engine.store().entries(told_of).await? {
            let (action, _) = named(&entry.key.id)?;
            if records.iter().all(|record| record.id() != action) {
                records.push(self.engine.load(action).await?);
            }
        }
        records.sort_by_key(Record::id);
        let complete = records.len() <= ACTIONS_MAX;
        let surplus = records.len().saturating_sub(ACTIONS_MAX);
        Ok((records.split_off(surplus), complete))
    }

    /// Keeps that a statement was handed out for a conversation: it counts as told until somebody denies it.
    ///
    /// # Errors
    /// [`Problem`] of the store; then it is not to be handed out.
    pub(crate) async fn hand_out(
        &self,
        place: Place<'_>,
        status: &StatusView,
    ) -> Result<Kept, Problem> {
        let told = Told {
            version: status.version,
            statement: StatementKey::from_name(status.statement.key)
                .unwrap_or(StatementKey::Recorded),
            counts_as: None,
            reference: status
                .receipt
                .as_ref()
                .map(|receipt| receipt.reference.clone()),
            locale: status.statement.locale.to_owned(),
            say: status.statement.say.clone(),
            how: How::HandedOut,
            at: self.engine.now(),
            by: "the engine".to_owned(),
            settled: false,
        };
        let kept = self
            .change(place, "handed out", |log, _, _| {
                Ok(log.hand_out(told.clone()))
            })
            .await?;
        Ok(kept.1)
    }

    /// Keeps what was passed on, or denies that something handed out was.
    ///
    /// # Errors
    /// [`Code::UnknownAction`]; [`Code::DoesNotApply`] for a version that there is not yet, or a denial of what was not handed
    /// out; [`Code::WrongType`] where it cannot be told which statement is meant.
    pub async fn told(
        &self,
        place: Place<'_>,
        telling: Telling,
        reader: Reader,
    ) -> Result<ToldAnswer, Problem> {
        let why = if telling.denied { "denied" } else { "told" };
        let (record, kept) = self
            .change(place, why, |log, record, now| {
                if telling.version > record.version {
                    let rule = format!(
                        "the status has version {}, and no {} yet",
                        record.version, telling.version
                    );
                    let remedy = "send the `version` of the status that was read";
                    return Err(Problem::new(Code::DoesNotApply, "/version", rule, remedy));
                }
                if telling.denied {
                    return log.deny(telling.version, telling.statement);
                }
                let told = self.as_told(&telling, log, record, now, reader)?;
                Ok(log.tell(told, now))
            })
            .await?;
        let told = kept
            .log
            .told
            .iter()
            .rev()
            .find(|told| told.version == telling.version);
        Ok(ToldAnswer {
            told: told.map(ToldView::of),
            correction: self.correction(place, &record, &kept, reader.audience),
        })
    }

    /// What was told, from what somebody says of it and what is known.
    fn as_told(
        &self,
        telling: &Telling,
        log: &Log,
        record: &Record,
        now: &Now,
        reader: Reader,
    ) -> Result<Told, Problem> {
        let handed_out = log.handed_out(telling.version, telling.statement);
        let present = (telling.version == record.version).then_some(now.statement);
        let statement = telling
            .statement
            .or(handed_out.map(|told| told.statement))
            .or(present);
        let Some(statement) = statement else {
            let rule = format!(
                "version {} was not handed out for this conversation, and is not the present one",
                telling.version
            );
            let remedy = "send the `key` of the statement that was passed on as `statement`";
            return Err(Problem::new(Code::WrongType, "/statement", rule, remedy));
        };
        let words = self.words(record, reader, telling.locale);
        let locale = telling
            .locale
            .or(handed_out.and_then(|told| Locale::of(&told.locale)));
        let locale = locale.unwrap_or(words.locale());
        let handed_words = handed_out.filter(|told| told.locale == locale.tag());
        let say = telling
            .said
            .clone()
            .or(handed_words.map(|told| told.say.clone()));
        let status = record.status();
        let reference = match handed_out {
            Some(told) => told.reference.clone(),
            None => now.reference.clone(),
        };
        Ok(Told {
            version: telling.version,
            statement,
            counts_as: telling
                .said
                .as_deref()
                .and_then(|said| claimed(said, locale, statement)),
            reference,
            locale: locale.tag().to_owned(),
            say: say.unwrap_or_else(|| words.statement(statement, &status).say),
            how: How::Told,
            at: self.engine.now(),
            by: telling.by.clone(),
            settled: false,
        })
    }

    /// Corrections that are due. Those of one conversation are found by looking at what it was told; those of all, where they
    /// are kept as due.
    ///
    /// # Errors
    /// [`Problem`] of the store.
    pub async fn corrections(
        &self,
        tenant: &str,
        filter: CorrectionFilter,
        audience: Audience,
    ) -> Result<Vec<CorrectionView>, Problem> {
        let (kind, label) = match &filter.conversation {
            Some(conversation) => (Kind::Told, conversation.as_str()),
            None => (Kind::Correction, DUE),
        };
        let mut found = Vec::new();
        let mut after = filter.after.map(|id| (tenant.to_owned(), id));
        loop {
            let page = EntryFilter {
                tenant: Some(tenant.to_owned()),
                label: Some(label.to_owned()),
                after,
                limit: ACTIONS_MAX,
                ..EntryFilter::of(kind)
            };
            let entries = self.engine.store().entries(page).await?;
            for entry in &entries {
                let (action, conversation) = named(&entry.key.id)?;
                let place = Place {
                    tenant,
                    conversation,
                    action,
                };
                let (record, kept) = self.change(place, "looked at", |_, _, _| Ok(false)).await?;
                found.extend(self.correction(place, &record, &kept, audience));
                if found.len() == filter.limit {
                    return Ok(found);
                }
            }
            match entries.last().filter(|_| entries.len() == ACTIONS_MAX) {
                Some(last) => after = Some((tenant.to_owned(), last.key.id.clone())),
                None => return Ok(found),
            }
        }
    }

    /// The correction that is due about an action in a conversation, as it is kept.
    pub(crate) async fn due(
        &self,
        place: Place<'_>,
        record: &Record,
        audience: Audience,
    ) -> Result<Option<CorrectionView>, Problem> {
        let kept = self.kept(place, record).await?;
        Ok(self.correction(place, record, &kept, audience))
    }

    /// Keeps that a correction was passed on. `version` is the one of the correction that was read: if it says something else
    /// by now, it is still due.
    ///
    /// # Errors
    /// [`Code::DoesNotApply`] where no correction of this version is due.
    pub async fn acknowledge(
        &self,
        place: Place<'_>,
        version: u64,
        by: &str,
        reader: Reader,
    ) -> Result<CorrectionView, Problem> {
        let mut acknowledged = None;
        self.change(place, "acknowledged", |log, record, now| {
            let kept = Kept {
                log: log.clone(),
                correction: now.correction,
            };
            let view = self.correction(place, record, &kept, reader.audience);
            let Some(view) = view.filter(|view| view.version == version) else {
                let rule = match now.correction {
                    Some(current) => format!("the correction has version {current} by now"),
                    None => "no correction is due".to_owned(),
                };
                let remedy = "read it again: what was passed on may not be what has to be said now";
                return Err(
                    Problem::new(Code::DoesNotApply, "/version", rule, remedy).about(place.action)
                );
            };
            let told = Told {
                version: record.version,
                statement: now.statement,
                counts_as: None,
                reference: now.reference.clone(),
                locale: view.statement.locale.to_owned(),
                say: view.say.clone(),
                how: How::Told,
                at: self.engine.now(),
                by: by.to_owned(),
                settled: false,
            };
            acknowledged = Some(view);
            log.put_right(told, now);
            Ok(true)
        })
        .await?;
        let view = acknowledged.ok_or_else(|| Problem::unknown_action(place.action))?;
        Ok(CorrectionView { due: false, ..view })
    }

    /// Looks whether evidence contradicts what conversations were told about an action.
    ///
    /// # Errors
    /// [`Problem`] of the store.
    pub(crate) async fn notice(&self, action: ActionId) -> Result<(), Problem> {
        let record = self.engine.load(action).await?;
        let tenant = record.action.scope.tenant.as_str();
        let mut after = format!("{action} ");
        loop {
            let told_of = EntryFilter {
                tenant: Some(tenant.to_owned()),
                after: Some((tenant.to_owned(), after)),
                limit: TOLD_OF_PAGE,
                ..EntryFilter::of(Kind::Told)
            };
            let entries = self.engine.store().entries(told_of).await?;
            for entry in &entries {
                let (of, conversation) = named(&entry.key.id)?;
                if of != action {
                    return Ok(());
                }
                let place = Place {
                    tenant,
                    conversation,
                    action,
                };
                self.change(place, "evidence", |_, _, _| Ok(false)).await?;
            }
            match entries.last().filter(|_| entries.len() == TOLD_OF_PAGE) {
                Some(last) => after = last.key.id.clone(),
                None => return Ok(()),
            }
        }
    }

    fn words(&self, record: &Record, reader: Reader, locale: Option<Locale>) -> Words<'_> {
        let reader = Reader {
            locale: locale.or(reader.locale),
            ..reader
        };
        let submitted = record.action.content.locale.as_deref();
        let tenant = &record.action.scope.tenant;
        self.teller.statements.words(tenant, reader, submitted)
    }

    /// What has to be put right now, in the language that it was told in.
    fn correction(
        &self,
        place: Place<'_>,
        record: &Record,
        kept: &Kept,
        audience: Audience,
    ) -> Option<CorrectionView> {
        let (status, next) = self.engine.assess(record);
        let key = StatementKey::of(&status, &next);
        let now = Now::of(key, &status, kept.correction);
        let due = kept.log.due(&now)?;
        let words = self.words(record, audience.into(), Locale::of(&due.told.locale));
        let statement = words.statement(key, &status);
        let summary = record.action.content.summary.as_deref();
        Some(CorrectionView {
            conversation: place.conversation.to_owned(),
            action: place.action.to_string(),
            kind: due.kind.name(),
            version: kept.correction.unwrap_or(0),
            told: ToldView::of(due.told),
            say: words.correction(due.kind, summary, &due.told.say, &statement.say),
            statement,
            status_version: record.version,
            due: true,
        })
    }
}

/// What words of one's own claim beyond the statement that they were to pass on.
fn claimed(said: &str, locale: Locale, statement: StatementKey) -> Option<StatementKey> {
    let claimed = Claims::of(locale).made_by(said);
    if claimed.done.is_some() && !statement.claims_done() {
        Some(StatementKey::Done)
    } else if claimed.not_done.is_some() && !statement.claims_not_done() {
        Some(StatementKey::NotDone)
    } else {
        None
    }
}
