//! The paths, and what a request on each of them says.
//!
//! # Destinations
//! `{kind}` is `key`, `cancel`, `lookup`, `lagging` or `neither`; `{mode}` is `sync` or `queued`.
//!
//! | request | kinds | answer |
//! | --- | --- | --- |
//! | `POST /{kind}/{mode}/effects` | all | `sync`: 201 `{"ok":true,"id":"T-000123","reference":…}`; `queued`: 202 `{"ok":true,"job":"J-17","status":"queued"}` and `Location` |
//! | `PUT /key/{mode}/effects/{key}` | `key` | the same, the key is the last segment |
//! | `POST /key/{mode}/effects-body` | `key` | the same, the key is the member `idempotency_key` |
//! | `GET /{kind}/queued/jobs/{job}` | all | `{"job","status":"queued"\|"working"\|"completed"\|"failed","id","reason"}` |
//! | `GET /{kind}/queued/events?after=&limit=` | all | `{"events":[{"id","type","reference","job","effect","reason"}],"next"}`, `type` being `effect.completed` or `effect.failed`; 410 `cursor` where `after` is none of its cursors |
//! | `GET /{kind}/{mode}/effects?reference=&limit=&cursor=` | `lookup`, `lagging` | `{"items":[{"id","job","reference","business","state"}],"next","complete"}` |
//! | `POST /cancel/{mode}/cancel` with `{"key":"…"}` | `cancel` | 200 `{"cancelled":true,"ids":[…]}` |
//! | `POST /key/{mode}/undo` with `{"id":"T-…"}` | `key` | 200 `{"ok":true,"id":"T-…"}`, also where it was undone before; 404 `not_found` |
//! | `GET /whoami` | | `{"account":"testbed"}` |
//!
//! An effect's body is a JSON object. Read are `reference` (the caller's marker), `business` (what effects are counted
//! by; else the reference, else the key), `idempotency_key` where the path asks for it, and `behave`: `reject` (422, nothing done),
//! `decline` (402, recorded), `ok_false` (200 `{"ok":false}`, nothing done), `slow` (answers after `slow_ms`) and
//! `complete_then_fail` (`queued`: the job fails). Everything else is the caller's own.
//!
//! Under `key` and `cancel` the key comes as `Idempotency-Key`. `key` answers an equal request with the first answer and
//! `Idempotent-Replayed: true`, another body with 422 `key_reuse`, a repeat beside the first with 409
//! `key_in_progress`, a request without key with 400 `key_missing`. What never ran (busy, refused at the door, key
//! errors) is not stored; what ran is, a rejection and a decline included.
//! `cancel` makes a second effect of a repeat, and answers 409 `key_cancelled` after a cancel.
//!
//! # Stand-ins
//! A request whose method and path one of the [stand-ins](crate::StandIn) has is theirs, before anything above. Their paths
//! and answers are those of their contracts.
//!
//! # Administration
//! Open to every caller on loopback, never hit by a fault that is drawn for a request.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /ledger?business=&kind=&mode=` | `{"rows":[…]}` |
//! | `GET /ledger/counts?business=&kind=&mode=` | the numbers of [`Counts`](crate::Counts) |
//! | `GET /ledger/table` | plain text for people |
//! | `DELETE /ledger` | forgets everything |
//! | `GET /faults`, `PUT /faults?seed=` | the rules with their counts; a body of rule text replaces them |
//! | `PUT /clock?advance_ms=` | moves the testbed's clock ahead |
//! | `GET /healthz` | 200 |

use serde::Deserialize;

use crate::ledger::{Behave, Kind, Mode};

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Effect {
        kind: Kind,
        mode: Mode,
        key: KeyFrom,
    },
    Search {
        kind: Kind,
        mode: Mode,
    },
    Job {
        kind: Kind,
        mode: Mode,
        job: String,
    },
    Feed {
        kind: Kind,
    },
    Cancel {
        mode: Mode,
    },
    Undo {
        mode: Mode,
    },
    WhoAmI,
    Elsewhere,
    Admin(Admin),
    Unknown,
}

/// Where an effect request carries its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyFrom {
    Header,
    Path(String),
    Body,
    /// The kind has no use for a key.
    Nowhere,
}

/// The administration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admin {
    Rows,
    Counts,
    Table,
    Reset,
    Faults,
    SetFaults,
    Clock,
    Health,
}

impl Route {
    /// The route of a method and a target (path and query).
    pub(crate) fn of(method: &str, target: &str) -> Route {
        let path = target.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (method, parts.as_slice()) {
            (_, ["elsewhere", ..]) => Route::Elsewhere,
            ("GET", ["healthz"]) => Route::Admin(Admin::Health),
            ("GET", ["whoami"]) => Route::WhoAmI,
            ("GET", ["ledger"]) => Route::Admin(Admin::Rows),
            ("DELETE", ["ledger"]) => Route::Admin(Admin::Reset),
            ("GET", ["ledger", "counts"]) => Route::Admin(Admin::Counts),
            ("GET", ["ledger", "table"]) => Route::Admin(Admin::Table),
            ("GET", ["faults"]) => Route::Admin(Admin::Faults),
            ("PUT", ["faults"]) => Route::Admin(Admin::SetFaults),
            ("PUT", ["clock"]) => Route::Admin(Admin::Clock),
            (_, [kind, mode, rest @ ..]) => match (Kind::from_name(kind), Mode::from_name(mode)) {
                (Some(kind), Some(mode)) => at_destination(method, kind, mode, rest),
                (_, _) => Route::Unknown,
            },
            (_, _) => Route::Unknown,
        }
    }
}

fn at_destination(method: &str, kind: Kind, mode: Mode, rest: &[&str]) -> Route {
    let keyed = matches!(kind, Kind::Key | Kind::Cancel);
    let searched = matches!(kind, Kind::Lookup | Kind::Lagging);
    match (method, rest) {
        ("POST", ["effects"]) => {
            let key = if keyed {
                KeyFrom::Header
            } else {
                KeyFrom::Nowhere
            };
            Route::Effect { kind, mode, key }
        }
        ("POST", ["effects-body"]) if kind == Kind::Key => Route::Effect {
            kind,
            mode,
            key: KeyFrom::Body,
        },
        ("PUT", ["effects", key]) if kind == Kind::Key && !key.is_empty() => Route::Effect {
            kind,
            mode,
            key: KeyFrom::Path(decoded(key)),
        },
        ("GET", ["effects"]) if searched => Route::Search { kind, mode },
        ("GET", ["events"]) if mode == Mode::Queued => Route::Feed { kind },
        ("POST", ["cancel"]) if kind == Kind::Cancel => Route::Cancel { mode },
        ("POST", ["undo"]) if kind == Kind::Key => Route::Undo { mode },
        ("GET", ["jobs", job]) if mode == Mode::Queued => Route::Job {
            kind,
            mode,
            job: decoded(job),
        },
        (_, _) => Route::Unknown,
    }
}

/// What the testbed reads of an effect's body.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct EffectBody {
    pub(crate) reference: Option<String>,
    pub(crate) business: Option<String>,
    pub(crate) behave: Option<Behave>,
    pub(crate) slow_ms: Option<u64>,
    pub(crate) idempotency_key: Option<String>,
}

/// The body of a cancel.
#[derive(Debug, Deserialize)]
pub(crate) struct CancelBody {
    pub(crate) key: String,
}

/// The body of an undoing.
#[derive(Debug, Deserialize)]
pub(crate) struct UndoBody {
    pub(crate) id: String,
}

/// The value of a query's member, decoded; none where it is missing.
pub(crate) fn query(target: &str, name: &str) -> Option<String> {
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|pair| {
        let (given, value) = pair.split_once('=')?;
        (given == name).then(|| decoded(&value.replace('+', " ")))
    })
}

/// Percent-decoded text; what is no escape stands for itself.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = escaped {
            bytes.push(high * 16 + low);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_their_routes() {
        let (kind, mode) = (Kind::Key, Mode::Sync);
        let effect = |key| Route::Effect { kind, mode, key };
        let cases = [
            ("POST", "/key/sync/effects", effect(KeyFrom::Header)),
            ("POST", "/key/sync/effects-body", effect(KeyFrom::Body)),
            (
                "PUT",
                "/key/sync/effects/a%2Fb",
                effect(KeyFrom::Path("a/b".to_owned())),
            ),
            ("GET", "/key/sync/effects", Route::Unknown),
            ("GET", "/key/sync/jobs/J-1", Route::Unknown),
            ("GET", "/key/queued/events", Route::Feed { kind }),
            ("GET", "/key/sync/events", Route::Unknown),
            ("GET", "/neither/sync/effects", Route::Unknown),
            ("POST", "/key/sync/undo", Route::Undo { mode }),
            ("POST", "/neither/sync/undo", Route::Unknown),
            ("POST", "/neither/sync/cancel", Route::Unknown),
            ("POST", "/elsewhere", Route::Elsewhere),
            ("POST", "/elsewhere/sync/effects", Route::Elsewhere),
            (
                "GET",
                "/ledger/counts?kind=key",
                Route::Admin(Admin::Counts),
            ),
            ("POST", "/ledger", Route::Unknown),
            ("GET", "/", Route::Unknown),
        ];
        for (method, target, expected) in cases {
            assert_eq!(Route::of(method, target), expected, "{method} {target}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let target = "/lookup/sync/effects?reference=a%20b%2Bc+d&limit=2&bad=%zz";
        assert_eq!(query(target, "reference").as_deref(), Some("a b+c d"));
        assert_eq!(query(target, "limit").as_deref(), Some("2"));
        assert_eq!(query(target, "bad").as_deref(), Some("%zz"));
        assert_eq!(query(target, "cursor"), None);
    }
}
