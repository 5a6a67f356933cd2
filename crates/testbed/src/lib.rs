//! A destination that loses answers on purpose, with a ledger of what really happened.
//!
//! [`Testbed::start`] opens a real HTTP/1.1 server on a loopback port. Five kinds of destination live on it, each
//! synchronous and queued, under `/{kind}/{mode}/…`:
//!
//! | kind | promises | a repeat under the same key or reference |
//! | --- | --- | --- |
//! | `key` | an idempotency key, honoured for `key_retention` | the first answer again |
//! | `cancel` | cancel by key; the key is a name only | a second effect, unless the key was cancelled |
//! | `lookup` | a complete search that sees queued work | a second effect |
//! | `lagging` | a search that lags and may be cut | a second effect |
//! | `neither` | nothing | a second effect |
//!
//! The requests and answers are described at [`routes`]. A [`FaultPlan`](factum_faults::FaultPlan) decides which
//! requests lose their answer; the [`LedgerView`] says what happened all the same. It is the oracle of every test: it
//! counts effects here, never in the tables of whoever sent them.
//!
//! Beside them a [`StandIn`] behaves as the contract of an operation of the catalogue says, or breaks one of its promises on
//! purpose ([`Lie`]). Whoever is named in [`Config::callbacks`] is told of effects.
//!
//! The testbed is no model of a good server. It knows nothing of the engine, retries nothing, follows nothing, and
//! refuses to listen on anything but loopback, since its administration is open to every caller.
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use factum_faults::FaultPlan;
//! use factum_testbed::{Config, Filter, Testbed};
//!
//! let config = Config { faults: FaultPlan::loss(7, 0.3), ..Config::default() };
//! let testbed = Testbed::start(config).await?;
//! assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 0);
//! testbed.shutdown().await;
//! # Ok::<(), factum_testbed::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admin;
mod answer;
mod callbacks;
mod config;
mod counts;
mod error;
mod handle;
mod ledger;
pub mod routes;
mod serve;
mod shared;
mod stand_in;
mod wire;
mod world;

pub use config::{CallbackTo, Config, Limits, Settings};
pub use counts::{Counts, Filter};
pub use error::Error;
pub use handle::{Handle, LedgerView, Testbed};
pub use ledger::{Event, Kind, Mode, Operation, Row, Sent};
pub use stand_in::{Lie, StandIn};
