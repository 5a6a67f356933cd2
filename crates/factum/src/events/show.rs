//! From a notice to an event: what it is about is read, as it stood then, and left out where the reader may not see it.

use std::collections::BTreeSet;

use factum_core::{ActionId, Known};
use factum_engine::destination::own_name;
use factum_engine::directory::Scope;
use factum_engine::{Caller, Engine, Problem};
use factum_store::{Filter, Notice, Record, Topic};

use super::{CorrectionEvent, Cursor, EventData, EventFilter, EventView, ReviewEvent, event_id};
use crate::conversations::{Conversations, Place};
use crate::statements::Reader;
use crate::teller::Teller;
use crate::view::rfc3339;

/// Actions in review that are counted.
const COUNTED: usize = 500;

/// Whether a caller may hear of such things at all.
pub(super) fn may_hear(caller: &Caller, topic: Topic) -> bool {
    let whole = caller.grant.is_none();
    match topic {
        Topic::Stands(_) | Topic::Updated => true,
        Topic::ReviewEntered | Topic::ReviewLeft => caller.may(Scope::Review),
        Topic::AnswerLate | Topic::ReviewDigest => whole && caller.may(Scope::Review),
        Topic::CorrectionDue | Topic::CorrectionOver => {
            whole && (caller.may(Scope::Submit) || caller.may(Scope::Review))
        }
    }
}

/// What events are made with.
pub(crate) struct Shower<'a> {
    engine: &'a Engine,
    teller: &'a Teller,
}

impl<'a> Shower<'a> {
    pub(crate) fn new(engine: &'a Engine, teller: &'a Teller) -> Self {
        Self { engine, teller }
    }

    /// The event of a notice, if the caller may see what it is about and the filter wants it.
    pub(crate) async fn show(
        &self,
        caller: &Caller,
        filter: &EventFilter,
        notice: &Notice,
        era: i64,
        reader: Reader,
    ) -> Result<Option<EventView>, Problem> {
        let id = notice.about.split(' ').next().unwrap_or_default();
        let mut data = EventData::default();
        match id.parse::<ActionId>() {
            Err(_) if notice.topic == Topic::ReviewDigest => {
                if filter.destination.is_some() || filter.conversation.is_some() {
                    return Ok(None);
                }
            }
            Err(_) => return Ok(None),
            Ok(id) => {
                let Some(record) = self.record(caller, id, notice).await? else {
                    return Ok(None);
                };
                if !wanted(filter, &record) {
                    return Ok(None);
                }
                data.correction = self.correction(notice, &record, reader).await?;
                data.action = Some(self.teller.view(self.engine, &record, false, reader));
            }
        }
        if matches!(notice.topic, Topic::ReviewEntered | Topic::ReviewDigest) {
            data.review = Some(self.review(&notice.tenant).await?);
        }
        Ok(Some(EventView {
            id: event_id(notice),
            cursor: Cursor { no: notice.no, era }.to_string(),
            topic: notice.topic.word(),
            timestamp: rfc3339(notice.at),
            tenant: notice.tenant.clone(),
            data,
        }))
    }

    /// The action, as it stood at the notice; none where it is gone, or for others.
    async fn record(
        &self,
        caller: &Caller,
        id: ActionId,
        notice: &Notice,
    ) -> Result<Option<Record>, Problem> {
        let Some(mut record) = self.engine.store().load(id).await? else {
            return Ok(None);
        };
        if record.action.scope.tenant != notice.tenant || !self.engine.may_see(caller, &record) {
            return Ok(None);
        }
        let known = u64::try_from(record.known.len()).unwrap_or(u64::MAX);
        if notice.topic.is_of_action() {
            if known != notice.records {
                let log = self.engine.store().history(id).await?;
                let records = usize::try_from(notice.records).unwrap_or(usize::MAX);
                record.known = Known::fold(&log[..records.min(log.len())]);
            }
            record.version = notice.version;
        }
        Ok(Some(record))
    }

    async fn correction(
        &self,
        notice: &Notice,
        record: &Record,
        reader: Reader,
    ) -> Result<Option<CorrectionEvent>, Problem> {
        let of_correction = matches!(notice.topic, Topic::CorrectionDue | Topic::CorrectionOver);
        let named = notice.about.split_once(' ').filter(|_| of_correction);
        let Some((_, conversation)) = named else {
            return Ok(None);
        };
        let place = Place {
            tenant: &notice.tenant,
            conversation,
            action: record.id(),
        };
        let due = Conversations::new(self.engine, self.teller)
            .due(place, record, reader.audience)
            .await?;
        Ok(Some(CorrectionEvent {
            conversation: conversation.to_owned(),
            version: notice.version,
            due: due.filter(|due| due.version == notice.version),
        }))
    }

    /// What of a tenant's waits for a person.
    pub(crate) async fn review(&self, tenant: &str) -> Result<ReviewEvent, Problem> {
        let filter = Filter {
            tenant: Some(tenant.to_owned()),
            next: Some("review".to_owned()),
            limit: COUNTED,
            ..Filter::default()
        };
        let waiting = self.engine.list(filter).await?;
        let asked = |record: &Record| {
            let conversation = record.action.content.conversation.as_ref();
            conversation.map(|conversation| conversation.id.clone())
        };
        let customers: BTreeSet<String> = waiting.iter().filter_map(asked).collect();
        Ok(ReviewEvent {
            waiting: waiting.len(),
            customers_waiting: customers.len(),
            more: waiting.len() == COUNTED,
        })
    }
}

fn wanted(filter: &EventFilter, record: &Record) -> bool {
    let action = &record.action;
    let place = own_name(&action.scope.tenant, &action.scope.destination);
    let conversation = action.content.conversation.as_ref();
    filter
        .destination
        .as_deref()
        .is_none_or(|wanted| wanted == place)
        && filter
            .conversation
            .as_deref()
            .is_none_or(|wanted| conversation.is_some_and(|talk| talk.id == wanted))
}
