//! Which programs may work on a store at the same time: upgrades with workers running, one version at a time.
//!
//! A program knows the schema up to a number. The store takes those that know its *floor* or more, and rows are written in a form that
//! all of these read, whoever writes them. A newer program that comes adds to the schema and leaves the floor alone; once no older one
//! has worked on the store for a day, or an operator says so, the floor rises to what all of them know, and the newer form begins.
//!
//! A worker says with each beat what it knows, and while its beat lasts the floor does not rise above that. One whose beat is over, because it stood
//! still, looks at the floor with every connection that it takes, before it asks and once more before it believes what it has read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use factum_core::Span;
use tokio_postgres::Client;

use super::clock::Local;
use super::fault;
use crate::encoding::Form;
use crate::{StoreError, StoreErrorKind};

/// The schema since which a store has a floor.
pub(super) const FIRST: i64 = 12;

/// Migrations, in order; the index plus one is the schema version. From [`FIRST`] on they only add, as long as [`BACK_TO`] stays.
const MIGRATIONS: [&str; 13] = [
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_subject.sql"),
    include_str!("migrations/0003_outbox.sql"),
    include_str!("migrations/0004_register.sql"),
    include_str!("migrations/0005_identity.sql"),
    include_str!("migrations/0006_notices.sql"),
    include_str!("migrations/0007_workers.sql"),
    include_str!("migrations/0008_room.sql"),
    include_str!("migrations/0009_twins.sql"),
    include_str!("migrations/0010_retention.sql"),
    include_str!("migrations/0011_seal.sql"),
    include_str!("migrations/0012_upgrade.sql"),
    include_str!("migrations/0013_forgotten.sql"),
];

/// The oldest schema whose programs may work beside this one. One that knows only the schema before would forget identities without
/// noting it, and a checkpoint would miss them.
const BACK_TO: i64 = 13;

/// Since which schema programs read which version of the encoding.
const ENCODINGS: [(i64, u32); 1] = [(FIRST, 2)];

/// What a program knows: this one, or for tests of upgrades one that would come after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Program {
    next: Option<&'static str>,
}

impl Program {
    /// One that would come after this one: with one more migration, and the next version of the encoding.
    #[must_use]
    pub const fn after_this(migration: &'static str) -> Self {
        Self {
            next: Some(migration),
        }
    }

    /// Its migrations, each with its number.
    pub(super) fn migrations(self) -> impl Iterator<Item = (i64, &'static str)> {
        (1..).zip(MIGRATIONS.into_iter().chain(self.next))
    }

    /// The newest schema that it knows.
    pub(super) fn knows(self) -> i64 {
        let count = MIGRATIONS.len() + usize::from(self.next.is_some());
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    /// The oldest schema whose programs may work beside it.
    pub(super) fn back_to(self) -> i64 {
        BACK_TO
    }

    fn encodings(self) -> impl Iterator<Item = (i64, u32)> {
        let newest = ENCODINGS[ENCODINGS.len() - 1].1;
        let next = self.next.map(|_| (self.knows(), newest + 1));
        ENCODINGS.into_iter().chain(next)
    }

    /// The newest version of the encoding that every program reads which knows this schema.
    fn writes(self, floor: i64) -> u32 {
        let read = self.encodings().filter(|(since, _)| *since <= floor);
        read.map(|(_, version)| version)
            .max()
            .unwrap_or(ENCODINGS[0].1)
    }

    /// In what form it reads and, until it knows the floor, writes.
    pub(super) fn form(self) -> Form {
        let newest = self.encodings().map(|(_, version)| version).max();
        let oldest = self.writes(self.back_to());
        Form::new(oldest, newest.unwrap_or(oldest))
    }
}

/// What a process knows of the store's floor.
pub(super) struct Floor {
    program: Program,
    form: Arc<Form>,
    found: Mutex<Option<Found>>,
}

#[derive(Clone, Copy)]
struct Found {
    floor: i64,
    /// Since when, and for how long, it certainly stays at what this program knows.
    held: Option<(Local, Duration)>,
}

const DOING: &str = "looking whether the store takes this program";

impl Floor {
    pub(super) fn new(program: Program, form: Arc<Form>) -> Arc<Self> {
        Arc::new(Self {
            program,
            form,
            found: Mutex::default(),
        })
    }

    /// The newest schema that this program knows.
    pub(super) fn known(&self) -> i64 {
        self.program.knows()
    }

    /// Whether programs older than this one may work on the store.
    pub(super) fn is_below_ours(&self) -> bool {
        let found = *self.found();
        found.is_some_and(|found| found.floor < self.known())
    }

    /// Looks for the first time: from now on nothing is asked without knowing.
    pub(super) async fn begin(&self, client: &Client) -> Result<(), StoreError> {
        self.look(client).await
    }

    /// Whether the floor certainly is what this program knows, or nobody has asked yet.
    pub(super) fn is_held(&self) -> bool {
        let found = *self.found();
        found.is_none_or(|found| {
            found
                .held
                .is_some_and(|(since, most)| since.elapsed() < most)
        })
    }

    /// Looks, unless that is certain.
    pub(super) async fn pass(&self, client: &Client) -> Result<(), StoreError> {
        if self.is_held() {
            return Ok(());
        }
        self.look(client).await
    }

    async fn look(&self, client: &Client) -> Result<(), StoreError> {
        let sql = include_str!("sql/floor_read.sql");
        let rows = client.query_typed(sql, &[]).await;
        let rows = rows.map_err(|error| fault::reading(DOING, &error))?;
        self.heard(DOING, rows.first().map(|row| row.get(0)))
    }

    /// What the store's floor is, as it was just read.
    ///
    /// # Errors
    /// `TooNew` if this program does not reach it.
    pub(super) fn heard(&self, doing: &'static str, floor: Option<i64>) -> Result<(), StoreError> {
        // Without a row the store has only just been made, by a program that knows as much as this one.
        let floor = floor.unwrap_or(self.known());
        let mut found = self.found();
        let held = found.and_then(|found| found.held);
        *found = Some(Found { floor, held });
        drop(found);
        self.form.write(self.program.writes(floor));
        let known = self.known();
        if floor > known {
            let kind = StoreErrorKind::TooNew {
                found: floor,
                known,
            };
            return Err(StoreError::new(doing, kind));
        }
        Ok(())
    }

    /// A beat that began at this time was written, for so long. A quarter of it is left for clocks that run apart.
    pub(super) fn hold(&self, since: Local, lease: Span) {
        let micros = u64::try_from(lease.as_micros()).unwrap_or_default();
        let most = Duration::from_micros(micros / 4 * 3);
        if let Some(found) = self.found().as_mut() {
            found.held = Some((since, most));
        }
    }

    fn found(&self) -> MutexGuard<'_, Option<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Program = Program::after_this("SELECT 1");

    fn floor(program: Program) -> (Arc<Form>, Arc<Floor>) {
        let form = Arc::new(program.form());
        (Arc::clone(&form), Floor::new(program, form))
    }

    #[test]
    fn a_newer_program_writes_what_the_older_one_reads_until_the_floor_rises() {
        let this = Program::default();
        assert_eq!(NEXT.knows(), this.knows() + 1);
        let (form, newer) = floor(NEXT);
        assert_eq!(form.writes(), this.form().reads(), "until it knows better");
        newer.heard(DOING, Some(this.knows())).unwrap();
        assert!(newer.is_below_ours());
        assert_eq!(form.writes(), this.form().reads());
        newer.heard(DOING, Some(NEXT.knows())).unwrap();
        assert!(!newer.is_below_ours());
        assert_eq!(form.writes(), this.form().reads() + 1);
    }

    #[test]
    fn whoever_works_beside_this_one_notes_what_it_forgets() {
        let notes = |text: &&str| text.contains("CREATE TABLE factum.forgotten");
        let before = MIGRATIONS.iter().take_while(|text| !notes(text)).count();
        assert!(before < MIGRATIONS.len(), "a migration brings the notes");
        let least = usize::try_from(Program::default().back_to()).unwrap();
        assert!(
            least > before,
            "{least} does not know migration {}",
            before + 1
        );
    }

    #[test]
    fn an_older_program_is_refused_above_what_it_knows() {
        let this = Program::default();
        let (_, older) = floor(this);
        older.heard(DOING, Some(this.knows())).unwrap();
        let error = older.heard(DOING, Some(NEXT.knows())).unwrap_err();
        assert!(
            matches!(error.kind, StoreErrorKind::TooNew { found, known } if found == known + 1),
            "{error}"
        );
    }

    #[test]
    fn nothing_is_certain_once_the_beat_is_over() {
        let (_, floor) = floor(Program::default());
        assert!(floor.is_held(), "nobody has looked yet");
        floor.heard(DOING, Some(FIRST)).unwrap();
        assert!(!floor.is_held(), "it was looked at, and not held");
        floor.hold(Local::take(), Span::from_secs(3_600));
        assert!(floor.is_held());
        floor.hold(Local::take(), Span::ZERO);
        assert!(!floor.is_held());
    }
}
