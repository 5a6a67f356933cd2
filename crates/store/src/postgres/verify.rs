//! Looks at every action of a database, on a connection of its own: page by page, writing nothing, while workers go on.
//!
//! Rows carry no checksums here. What holds an action is its seals and its chain; what holds the actions together is a checkpoint that
//! was kept elsewhere.

use factum_core::ActionId;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::bound::{Value, typed};
use super::heads::census;
use super::program::Program;
use super::row::{self, action_id};
use super::session::Session;
use super::{Options, fault, key_check, tls};
use crate::chain::{Chains, RawRecord};
use crate::head::Head;
use crate::seal::Seals;
use crate::texts::opened_fact_text;
use crate::verify::{Broken, FINDINGS_MAX, Finding, Listed, Verified, follow, lost};
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "verifying the store";

/// Actions that are fetched at once.
const PAGE: usize = 200;

/// Reads and checks every action of a database, and that all is there that a checkpoint lists; writes nothing. Takes as long as the
/// database is large, and holds a page of it in memory.
///
/// # Errors
/// `Unsuitable` if there is no store, an older program wrote it, or the keys are not its own; `TooNew`; what the database says. What is
/// not as it was written is no error but a finding.
pub async fn verify(options: &Options, listed: Option<Listed>) -> Result<Verified, StoreError> {
    let mut look = Look::begin(options, listed).await?;
    let mut after = Uuid::nil();
    while let Some(last) = look.page(after).await? {
        after = last;
    }
    look.not_met(None).await?;
    look.census().await?;
    look.orphans().await?;
    Ok(look.verified)
}

/// A look at a database.
struct Look {
    client: Client,
    seals: Seals,
    chains: Chains,
    listed: Option<Listed>,
    verified: Verified,
}

impl Look {
    async fn begin(options: &Options, listed: Option<Listed>) -> Result<Self, StoreError> {
        let (config, tls) = tls::read(&options.url)?;
        let session = Session::meet(config, &tls, options.patience).await?;
        let (client, connection) = session.config.connect(tls).await.map_err(failed)?;
        tokio::spawn(connection);
        let look = Self {
            client,
            seals: options.seals.clone(),
            chains: Chains::new(&options.keys),
            listed,
            verified: Verified::default(),
        };
        look.is_ours(options).await?;
        Ok(look)
    }

    /// Refuses a database of another version, and one with other keys.
    async fn is_ours(&self, options: &Options) -> Result<(), StoreError> {
        let known = Program::default().knows();
        match self.number(include_str!("sql/version_read.sql")).await {
            Ok(found) if found < known => {
                let why = "an older program wrote it; run `factum migrate` first";
                return Err(unsuitable(why));
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind, StoreErrorKind::Database(_)) => {
                return Err(unsuitable("there is no store in it"));
            }
            Err(error) => return Err(error),
        }
        let found = self.number(include_str!("sql/floor_read.sql")).await?;
        if found > known {
            let kind = StoreErrorKind::TooNew { found, known };
            return Err(StoreError::new(DOING, kind));
        }
        let rows = self.rows(include_str!("sql/meta_read.sql"), &[]).await?;
        let ours = rows.first().is_some_and(|row| {
            let (store, check): (&[u8], &[u8]) = (row.get(0), row.get(1));
            check == key_check(&options.keys, store)
        });
        if ours {
            return Ok(());
        }
        Err(unsuitable(
            "it was made with other keys; bring back the folder `keys` that belongs to it",
        ))
    }

    async fn number(&self, sql: &str) -> Result<i64, StoreError> {
        let rows = self.rows(sql, &[]).await?;
        Ok(rows.first().map_or(0, |row| row.get(0)))
    }

    async fn rows(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let asked = self.client.query_typed(sql, &typed(values)).await;
        asked.map_err(failed)
    }

    /// The next actions; gives the last of them, or `None` behind the end.
    async fn page(&mut self, after: Uuid) -> Result<Option<Uuid>, StoreError> {
        let sql = include_str!("sql/verify_actions.sql");
        let rows = self.rows(sql, &[&after, &row::count(PAGE)]).await?;
        for found in &rows {
            self.verified.actions += 1;
            let id = action_id(found.get("id"));
            self.not_met(Some(id)).await?;
            let listed = self.listed.as_mut().and_then(|listed| listed.met(id));
            if let Err(broken) = self.one((id, listed), found) {
                self.verified.found(Finding::of_action(id, broken));
            }
        }
        Ok(rows.last().map(|row| row.get("id")))
    }

    fn one(&mut self, (id, listed): (ActionId, Option<Head>), found: &Row) -> Result<(), Broken> {
        if matches!(found.try_get::<_, Option<i64>>("version"), Ok(None)) {
            return Err(Broken::whole("the row of how it stands is missing"));
        }
        let log = log(id, &self.seals, found)?;
        let record = row::record(DOING, &self.seals, found).map_err(|error| match error.kind {
            StoreErrorKind::Corrupt { how, .. } => Broken::whole(how),
            other => Broken::whole(other.to_string()),
        })?;
        follow(&self.chains, &record, &log, listed.as_ref())?;
        self.verified.records += u64::try_from(log.len()).unwrap_or(u64::MAX);
        if record.status().state.name() != found.get::<_, &str>("state") {
            self.verified.outdated.push(id);
        }
        Ok(())
    }

    /// What a checkpoint lists before an action, or behind the last one, and the database does not hold: retention may have taken it.
    async fn not_met(&mut self, before: Option<ActionId>) -> Result<(), StoreError> {
        while let Some(next) = self
            .listed
            .as_mut()
            .and_then(|listed| listed.not_met(before))
        {
            let head = match next {
                Ok(head) => head,
                Err(how) => {
                    self.verified.found(("the checkpoint".to_owned(), how));
                    continue;
                }
            };
            let values: [Value<'_>; 2] = [&row::lane(head.action), &row::uuid(head.action)];
            let tombstone = include_str!("sql/tombstone_read.sql");
            let forgotten = include_str!("sql/forgotten_read.sql");
            if !self.rows(tombstone, &values).await?.is_empty() {
                self.verified.taken_away += 1;
            } else if !self.rows(forgotten, &values).await?.is_empty() {
                self.verified.forgotten += 1;
            } else {
                self.verified.found(lost(&head));
            }
        }
        Ok(())
    }

    async fn census(&mut self) -> Result<(), StoreError> {
        if let Some(listed) = &self.listed {
            let rows = self.rows(include_str!("sql/census.sql"), &[]).await?;
            let now = rows.first().and_then(census).unwrap_or_default();
            let differs = listed.differs(now);
            self.verified.found_all(differs);
        }
        Ok(())
    }

    async fn orphans(&mut self) -> Result<(), StoreError> {
        let sql = include_str!("sql/verify_orphans.sql");
        for found in self.rows(sql, &[&row::count(FINDINGS_MAX)]).await? {
            let broken = Broken::whole("rows of it are there, and its fixed row is missing");
            let id = action_id(found.get(0));
            self.verified.found(Finding::of_action(id, broken));
        }
        Ok(())
    }
}

/// The log in a row, opened and not understood yet.
fn log(id: ActionId, seals: &Seals, found: &Row) -> Result<Vec<RawRecord>, Broken> {
    let unreadable = |error: tokio_postgres::Error| {
        Broken::whole(format!("its evidence cannot be read: {error}"))
    };
    if found.try_get::<_, i64>("others").map_err(unreadable)? > 0 {
        let how = "the column `seal` of its evidence holds something, which no version writes";
        return Err(Broken::whole(how));
    }
    let nos: Option<Vec<i64>> = found.try_get("nos").map_err(unreadable)?;
    let ats: Option<Vec<i64>> = found.try_get("ats").map_err(unreadable)?;
    let kinds: Option<Vec<String>> = found.try_get("kinds").map_err(unreadable)?;
    let facts: Option<Vec<String>> = found.try_get("facts").map_err(unreadable)?;
    let links: Option<Vec<Option<&[u8]>>> = found.try_get("links").map_err(unreadable)?;
    let whats = kinds.into_iter().flatten().zip(facts.into_iter().flatten());
    let whens = nos.into_iter().flatten().zip(ats.into_iter().flatten());
    let rows = whens.zip(whats).zip(links.into_iter().flatten());
    rows.map(|(((no, at), (kind, fact)), link)| {
        let no = u64::try_from(no).map_err(|_| Broken::whole("a record has a negative number"))?;
        let link = link
            .map(|link| link.try_into())
            .transpose()
            .map_err(|_| Broken::at(no, "has a link that is not 32 bytes long"))?;
        let text = opened_fact_text(seals, id, fact).map_err(|how| Broken::at(no, &how))?;
        Ok(RawRecord {
            no,
            at,
            kind,
            text,
            link,
        })
    })
    .collect()
}

fn unsuitable(why: &str) -> StoreError {
    let (path, why) = ("the database".to_owned(), why.to_owned());
    StoreError::new(DOING, StoreErrorKind::Unsuitable { path, why })
}

fn failed(error: tokio_postgres::Error) -> StoreError {
    fault::reading(DOING, &error)
}
