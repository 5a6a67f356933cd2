//! Values that statements are given, each with its type in the database. The types are said and not asked for, so that a statement
//! needs no name, and one round trip.

use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// A value of a known type.
pub(super) trait Bound: ToSql + Sync {
    /// Its type in the database.
    fn sql_type(&self) -> Type;
}

/// A bound value.
pub(super) type Value<'a> = &'a dyn Bound;

/// Values with their types, as the driver takes them.
pub(super) fn typed<'a>(values: &[Value<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let typed = |value: &Value<'a>| (*value as &'a (dyn ToSql + Sync), value.sql_type());
    values.iter().map(typed).collect()
}

macro_rules! bound {
    ($($one:ident, $many:ident: $($rust:ty),+;)+) => {$($(
        impl Bound for $rust {
            fn sql_type(&self) -> Type { Type::$one }
        }
        impl Bound for Option<$rust> {
            fn sql_type(&self) -> Type { Type::$one }
        }
        impl Bound for Vec<$rust> {
            fn sql_type(&self) -> Type { Type::$many }
        }
        impl Bound for Vec<Option<$rust>> {
            fn sql_type(&self) -> Type { Type::$many }
        }
    )+)+};
}

bound! {
    BOOL, BOOL_ARRAY: bool;
    INT2, INT2_ARRAY: i16;
    INT8, INT8_ARRAY: i64;
    UUID, UUID_ARRAY: Uuid;
    TEXT, TEXT_ARRAY: &str, String;
    BYTEA, BYTEA_ARRAY: &[u8], Vec<u8>;
}
