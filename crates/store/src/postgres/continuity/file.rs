//! The file in which a worker remembers what it was told is durable.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use factum_core::ActionId;

use crate::encoding::{hex, unhex};

const HEADING: &str = "factum durable writes 1";

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Which store.
    pub(super) store: [u8; 16],
    /// The last writes: each action, and the version that it had from then on.
    pub(super) writes: Vec<(ActionId, u64)>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No such file.
    Nothing,
    /// A file that is not what was written, or not with these keys.
    Garbled,
    /// This.
    Seen(Seen),
}

/// Reads the file.
pub(super) fn find(path: &Path, keys: &[u8; 32]) -> std::io::Result<Found> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| parse(text, keys))
            .map_or(Found::Garbled, Found::Seen)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

/// Writes the file whole: a reader sees an old one or this one. Workers that share a folder each write their own, and the last
/// one stands.
pub(super) fn put(path: &Path, seen: &Seen, keys: &[u8; 32]) -> std::io::Result<()> {
    let body = body(seen);
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = File::create(&beside)?;
    file.write_all(format!("{body}check {}\n", check(&body, keys)).as_bytes())?;
    file.sync_data()?;
    std::fs::rename(&beside, path)
}

fn body(seen: &Seen) -> String {
    let mut body = format!("{HEADING}\nstore {}\n", hex(&seen.store));
    for (id, version) in &seen.writes {
        body.push_str(&format!("wrote {} {version}\n", hex(&id.to_bytes())));
    }
    body
}

fn check(body: &str, keys: &[u8; 32]) -> String {
    let key = blake3::derive_key("factum store 2026 postgres durable writes v1", keys);
    hex(&blake3::keyed_hash(&key, body.as_bytes()).as_bytes()[..16])
}

fn parse(text: &str, keys: &[u8; 32]) -> Option<Seen> {
    let (body_text, sum) = text.split_once("check ")?;
    let mut lines = body_text.lines();
    if lines.next()? != HEADING || sum.trim_end() != check(body_text, keys) {
        return None;
    }
    let bytes = |text: &str| unhex(text).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let store = bytes(lines.next()?.strip_prefix("store ")?)?;
    let writes = lines.map(|line| {
        let (id, version) = line.strip_prefix("wrote ")?.split_once(' ')?;
        Some((ActionId::from_bytes(bytes(id)?), version.parse().ok()?))
    });
    let writes = writes.collect::<Option<Vec<_>>>()?;
    Some(Seen { store, writes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_reads_back_and_no_changed_byte_passes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let keys = [7; 32];
        assert_eq!(find(&path, &keys).unwrap(), Found::Nothing);
        let seen = Seen {
            store: [1; 16],
            writes: vec![(ActionId::from_bytes([2; 16]), 3)],
        };
        put(&path, &seen, &keys).unwrap();
        assert_eq!(find(&path, &keys).unwrap(), Found::Seen(seen));
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() - 1 {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert_eq!(find(&path, &keys).unwrap(), Found::Garbled, "byte {at}");
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(find(&path, &[8; 32]).unwrap(), Found::Garbled);
    }
}
