//! What is left of actions that were taken away, on its way out of a database and into one.

use factum_core::Timestamp;
use tokio_postgres::Transaction;

use super::{EXPORTING, Values, read, write};
use crate::StoreError;
use crate::postgres::purge::{scope_row, stone};
use crate::postgres::row::{lane, one_evidence, signed, uuid};
use crate::purge::{Remains, ScopeRow, scope_digest};
use crate::seal::Seals;
use crate::texts::sealed_facts;
use crate::transfer::{Line, ScopeLine, TombstoneLine, Writer};

/// Scopes first, because tombstones lie in them.
pub(super) async fn export(
    seals: &Seals,
    transaction: &Transaction<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), StoreError> {
    let sql = include_str!("../sql/scope_list.sql");
    for row in transaction.query(sql, &[]).await.map_err(read)? {
        writer.line(&Line::Scope(ScopeLine::of(&scope_row(&row))))?;
    }
    let sql = include_str!("../sql/export_tombstones.sql");
    for row in transaction.query(sql, &[]).await.map_err(read)? {
        let tombstone = stone(EXPORTING, &row)?;
        let id = tombstone.action;
        let sql = include_str!("../sql/late_read.sql");
        let values: Values<'_> = &[&lane(id), &uuid(id)];
        let rows = transaction.query(sql, values).await.map_err(read)?;
        let late = rows
            .iter()
            .map(|row| one_evidence(EXPORTING, id, seals, row));
        let left = Remains {
            tombstone,
            late: late.collect::<Result<_, _>>()?,
        };
        writer.line(&Line::Tombstone(Box::new(TombstoneLine::of(&left))))?;
    }
    Ok(())
}

pub(super) async fn import_scope(
    transaction: &Transaction<'_>,
    row: &ScopeRow,
) -> Result<(), StoreError> {
    let (scope, digest) = (&row.scope, scope_digest(&row.scope));
    let values: Values<'_> = &[
        &i16::from(digest[0]),
        &digest.as_slice(),
        &scope.tenant,
        &scope.principal,
        &scope.destination,
        &scope.operation,
        &row.forgotten_before.map(Timestamp::as_micros),
    ];
    let sql = include_str!("../sql/import_scope.sql");
    transaction.execute(sql, values).await.map_err(write)?;
    Ok(())
}

pub(super) async fn import(
    seals: &Seals,
    transaction: &Transaction<'_>,
    left: &Remains,
) -> Result<(), StoreError> {
    let stone = &left.tombstone;
    let scope = scope_digest(&stone.scope);
    let values: Values<'_> = &[
        &i16::from(stone.identity.lane().0),
        &stone.identity.0.as_slice(),
        &uuid(stone.action),
        &stone.fingerprint.0.as_slice(),
        &stone.digest.as_slice(),
        &scope.as_slice(),
        &stone.state.name(),
        &stone.intent_at.map(Timestamp::as_micros),
        &stone.settled_at.as_micros(),
        &stone.purged_at.as_micros(),
    ];
    let sql = include_str!("../sql/import_tombstone.sql");
    transaction.execute(sql, values).await.map_err(write)?;
    let texts = sealed_facts(seals, stone.action, &left.late);
    for (one, text) in left.late.iter().zip(&texts) {
        let values: Values<'_> = &[
            &lane(stone.action),
            &uuid(stone.action),
            &signed(one.id.0),
            &one.at.as_micros(),
            &one.fact.kind(),
            text,
        ];
        let sql = include_str!("../sql/import_late.sql");
        transaction.execute(sql, values).await.map_err(write)?;
    }
    Ok(())
}
