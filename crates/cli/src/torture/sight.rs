//! A plain look at the store's file, past the engine: what stands in it, so that it is known what a damage changed. It reads copies
//! and changes single bytes; it decides nothing about actions.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::Context;
use factum::core::ActionId;
use factum_faults::Chance;
use rusqlite::Connection;
use rusqlite::types::Value;

/// The shortest text that is looked for in the file: shorter ones stand in too many places.
const TEXT_LEAST: usize = 24;
/// Columns of rows that are changed.
const TEXTS: [&str; 5] = [
    "SELECT text FROM contract",
    "SELECT payload FROM action",
    "SELECT head FROM action",
    "SELECT fact FROM evidence",
    "SELECT next_why FROM standing",
];

/// What stands in the file.
pub(super) struct Sight {
    /// The actions, by id.
    pub(super) actions: BTreeSet<String>,
    /// Commits that it counts.
    pub(super) commits: u64,
    /// A digest of every table.
    pub(super) rows: BTreeMap<String, u64>,
    /// SQLite finds nothing wrong with its pages and indexes.
    pub(super) whole: bool,
    copy: PathBuf,
}

impl Sight {
    /// Looks at a copy, so that nothing about the file itself changes.
    pub(super) fn of(store: &Path, to: &Path) -> anyhow::Result<Self> {
        if to.exists() {
            std::fs::remove_dir_all(to)?;
        }
        std::fs::create_dir_all(to)?;
        let copy = to.join("factum.db");
        std::fs::copy(store, &copy)?;
        let (mut log, mut copied) = (store.as_os_str().to_owned(), copy.as_os_str().to_owned());
        log.push("-wal");
        copied.push("-wal");
        if Path::new(&log).exists() {
            std::fs::copy(log, copied)?;
        }
        let conn = Connection::open(&copy)?;
        let ids: Vec<[u8; 16]> = conn
            .prepare("SELECT id FROM action")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let commits: i64 = conn.query_row("SELECT commits FROM meta", [], |row| row.get(0))?;
        let verdict: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        Ok(Self {
            actions: ids
                .into_iter()
                .map(|id| ActionId::from_bytes(id).to_string())
                .collect(),
            commits: u64::try_from(commits)?,
            rows: digests(&conn)?,
            whole: verdict == "ok",
            copy,
        })
    }

    /// A text that stands in a row, drawn.
    fn text(&self, chance: &mut Chance) -> anyhow::Result<Option<String>> {
        let conn = Connection::open(&self.copy)?;
        let at = usize::try_from(chance.below(TEXTS.len() as u64))?;
        let statement = TEXTS.get(at).context("no statement")?;
        let texts: Vec<String> = conn
            .prepare(statement)?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let mut long = texts.into_iter().filter(|text| text.len() >= TEXT_LEAST);
        let count = long.clone().count() as u64;
        Ok(long.nth(usize::try_from(chance.below(count))?))
    }
}

fn digests(conn: &Connection) -> anyhow::Result<BTreeMap<String, u64>> {
    let tables: Vec<String> = conn
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut digests = BTreeMap::new();
    for table in tables {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{table}\" NOT INDEXED"))?;
        let columns = statement.column_count();
        let mut hasher = DefaultHasher::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                format!("{:?}", row.get::<_, Value>(column)?).hash(&mut hasher);
            }
        }
        digests.insert(table, hasher.finish());
    }
    Ok(digests)
}

/// The commits that the counter beside the file has counted.
pub(super) fn counted(counter: &Path) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(counter)?;
    let line = text.lines().find_map(|line| line.strip_prefix("commits "));
    Ok(line.context("the counter has no count")?.parse()?)
}

/// Changes a byte of a text in a row, wherever in the file it stands. Says what it did; nothing where there is no such text.
pub(super) fn spoil_row(
    store: &Path,
    sight: &Sight,
    chance: &mut Chance,
) -> anyhow::Result<Option<String>> {
    let Some(text) = sight.text(chance)? else {
        return Ok(None);
    };
    let mut bytes = std::fs::read(store)?;
    let needle = &text.as_bytes()[..TEXT_LEAST];
    let windows = bytes.windows(needle.len()).enumerate();
    let places: Vec<usize> = windows
        .filter_map(|(at, window)| (window == needle).then_some(at))
        .collect();
    let drawn = usize::try_from(chance.below(places.len() as u64))?;
    let Some(at) = places.get(drawn) else {
        return Ok(None);
    };
    let at = at + usize::try_from(chance.below(TEXT_LEAST as u64))?;
    bytes[at] ^= 0x01;
    std::fs::write(store, bytes)?;
    Ok(Some(format!(
        "byte {at}, in a row with {text:?}, was changed"
    )))
}

/// Overwrites a page behind the first.
pub(super) fn spoil_page(store: &Path, chance: &mut Chance) -> anyhow::Result<Option<String>> {
    let mut bytes = std::fs::read(store)?;
    let header = bytes.get(16..18).context("the file has no header")?;
    let size = usize::from(u16::from_be_bytes([header[0], header[1]])).max(512);
    let pages = (bytes.len() / size) as u64;
    if pages < 2 {
        return Ok(None);
    }
    let page = usize::try_from(1 + chance.below(pages - 1))?;
    for byte in &mut bytes[page * size..(page + 1) * size] {
        *byte = u8::try_from(chance.below(256))?;
    }
    std::fs::write(store, bytes)?;
    Ok(Some(format!("page {} was overwritten", page + 1)))
}
