//! What an error of the database means, by its SQLSTATE and by where it happened. Details are never shown: they print rows.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::tls::Refused;
use crate::{StoreError, StoreErrorKind};

/// What to do about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing happened, and the same statement may be repeated at once.
    Again,
    /// Nothing happened; the database has no room for it now.
    Later,
    /// Nothing happened: refused.
    Refused,
    /// The statement may have taken effect, if it was a write.
    Unknown,
}

/// What an error after sending a statement means. A statement that stands alone is its own transaction: an answer other than
/// those below is no proof that it was rolled back.
pub(super) fn meaning(error: &Error) -> Meaning {
    let Some(state) = error.code() else {
        return Meaning::Unknown;
    };
    if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
    ]
    .contains(state)
    {
        return Meaning::Again;
    }
    if *state == SqlState::QUERY_CANCELED {
        return Meaning::Later;
    }
    match &state.code()[..2] {
        "53" => Meaning::Later,
        // Read-only: a standby, or a primary that was demoted under this connection. Nothing is written there.
        "25" => Meaning::Later,
        "0A" | "22" | "23" | "42" | "28" | "3D" | "3F" => Meaning::Refused,
        _ => Meaning::Unknown,
    }
}

/// The error of a statement that wrote nothing, or of one that was refused.
pub(super) fn reading(doing: &'static str, error: &Error) -> StoreError {
    let kind = match meaning(error) {
        Meaning::Unknown if is_untrusted(error) => StoreErrorKind::Database(words(error)),
        Meaning::Refused => StoreErrorKind::Database(words(error)),
        Meaning::Again | Meaning::Later | Meaning::Unknown => {
            StoreErrorKind::Unavailable(words(error))
        }
    };
    StoreError::new(doing, kind)
}

/// Whether the server showed a certificate that is not accepted.
fn is_untrusted(error: &Error) -> bool {
    let refused = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    refused.is_some_and(|refused: &Refused| refused.for_good)
}

/// Whether a row with this key is there already. By SQLSTATE: a distributed database leaves the constraint's name out.
pub(super) fn is_unique(error: &Error) -> bool {
    error.code() == Some(&SqlState::UNIQUE_VIOLATION)
}

/// Whether the database does not offer what was asked for, or not to this role, or not while it follows another one.
pub(super) fn is_not_offered(error: &Error) -> bool {
    [
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::FEATURE_NOT_SUPPORTED,
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
    ]
    .iter()
    .any(|state| error.code() == Some(state))
}

/// Whether another session was just making the same schema or table.
pub(super) fn is_made_twice(error: &Error) -> bool {
    [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_OBJECT,
    ]
    .iter()
    .any(|state| error.code() == Some(state))
}

/// The database's message, without its detail.
pub(super) fn words(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => {
            let cause = std::error::Error::source(error);
            cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
        }
    }
}
