//! Who carries it out: a sans-I/O [`driver`] (events in, commands out; time and randomness as data) and its thin tokio shell.
//!
//! The engine never decides what is known: that is the core's fold. It never decides what may be sent: that is the core's
//! permission. It claims, marks, sends once, records what came back, and looks after everything that is not settled.
//!
//! Read [`driver`] first, then `shell.rs`; [`Engine`] is what the library and the server hold.

mod accounts;
pub mod admission;
pub mod approval;
mod authority;
pub mod callbacks;
pub mod canonical;
mod carry;
pub mod clock;
pub mod cloud_event;
pub mod destination;
pub mod directory;
pub mod driver;
mod engine;
pub mod failpoint;
mod feeds;
pub mod key_template;
pub mod keys;
pub mod left_behind;
pub mod messages;
pub mod metrics;
pub mod neighbours;
pub mod ordered;
pub mod problem;
pub mod proposal;
pub mod reading;
mod recover;
pub mod retention;
pub mod review;
mod room;
pub mod rulings;
mod shell;
pub mod submission;
pub mod trail;
mod waiters;
pub mod work;

pub use destination::{
    ByWorkers, Carried, CarriedRequest, Carrier, Destination, Operation, OperationContract, Reach,
};
pub use directory::{Caller, Directory};
pub use engine::looking::Whereabouts;
pub use engine::proposals::{Ask, Decided, Decision, ProposalFilter, Proposed};
pub use engine::register::{Reason, token_of};
pub use engine::retention::{Erased, Swept, Whose};
pub use engine::review::{Incident, MANY_MAX, Person, ProposedVerdict, Ruled, ruling_word};
pub use engine::sessions::{Holder, Lasts, Session};
pub use engine::work::by_word;
pub use engine::{Cancelled, Engine, Options, Submitted, TransportMaker};
pub use key_template::KeyTemplate;
pub use keys::Keys;
pub use problem::{Code, Problem};
pub use shell::{About, Change};
pub use submission::Submission;
pub use waiters::Listener;
