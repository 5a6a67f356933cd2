//! Keyed checksums over rows: 16 bytes of BLAKE3 over the table's name and every other column. They tell a row that is not what
//! was written; they do not tell a row that was taken out whole, which the counts beside them do.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::chain::Chains;
use crate::keys::StoreKeys;
use crate::seal::Seals;

/// Makes and checks row checksums; seals and chains go with them, because whoever reads or writes a row needs all three.
#[derive(Clone)]
pub(super) struct Sums {
    key: [u8; 32],
    /// Seals and opens what is confidential in a row.
    pub(super) seals: Seals,
    /// Links each record of evidence to the one before.
    pub(super) chains: Chains,
}

/// A checksum as stored.
pub(super) type Sum = [u8; 16];

impl Sums {
    pub(super) fn new(keys: &StoreKeys, seals: &Seals) -> Self {
        Self {
            seals: seals.clone(),
            chains: Chains::new(keys),
            key: blake3::derive_key("factum store 2026 row checksums v1", &keys.0),
        }
    }

    /// The checksum of a row of `table` with these columns, in the order of its reading statement.
    pub(super) fn of<'a>(&self, table: &str, cells: impl IntoIterator<Item = ValueRef<'a>>) -> Sum {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        feed(&mut hasher, b'n', table.as_bytes());
        for cell in cells {
            match cell {
                ValueRef::Null => feed(&mut hasher, b'0', &[]),
                ValueRef::Integer(value) => feed(&mut hasher, b'i', &value.to_be_bytes()),
                ValueRef::Real(value) => feed(&mut hasher, b'r', &value.to_be_bytes()),
                ValueRef::Text(bytes) => feed(&mut hasher, b't', bytes),
                ValueRef::Blob(bytes) => feed(&mut hasher, b'b', bytes),
            }
        }
        let mut sum = [0; 16];
        sum.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        sum
    }

    /// Whether a read row is what was written. Its last column is the checksum.
    pub(super) fn holds(&self, table: &str, row: &Row, columns: usize) -> rusqlite::Result<bool> {
        let sum = self.of_row(table, row, columns)?;
        Ok(row.get_ref(columns - 1)? == ValueRef::Blob(&sum))
    }

    /// The checksum that a read row has to have in its last column.
    pub(super) fn of_row(&self, table: &str, row: &Row, columns: usize) -> rusqlite::Result<Sum> {
        let cells: Vec<ValueRef> = (0..columns - 1)
            .map(|index| row.get_ref(index))
            .collect::<Result<_, _>>()?;
        Ok(self.of(table, cells))
    }

    /// The checksum of a read row with other values in some of its columns.
    pub(super) fn of_row_with(
        &self,
        table: &str,
        row: &Row,
        columns: usize,
        others: &[(usize, ValueRef<'_>)],
    ) -> rusqlite::Result<Sum> {
        let cell = |index| {
            let other = others.iter().find(|(at, _)| *at == index);
            other.map_or_else(|| row.get_ref(index), |(_, value)| Ok(*value))
        };
        let cells: Vec<ValueRef> = (0..columns - 1).map(cell).collect::<Result<_, _>>()?;
        Ok(self.of(table, cells))
    }

    /// What a store remembers of its keys, to tell at the next opening that they are the same.
    pub(super) fn key_check(&self, store: &[u8; 16]) -> Sum {
        self.of("key check", [ValueRef::Blob(store)])
    }
}

/// Type and length go with every column, so that no two rows feed the same bytes.
fn feed(hasher: &mut blake3::Hasher, kind: u8, bytes: &[u8]) {
    let mut prefix = [kind, 0, 0, 0, 0, 0, 0, 0, 0];
    prefix[1..].copy_from_slice(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
    hasher.update(&prefix);
    hasher.update(bytes);
}
