//! What a destination promises about an operation: parse, lint, build requests, read answers. Pure: no I/O, no clock.
//!
//! A contract is TOML: one file per operation, and one for what a provider's operations share. [`Contract::parse`] reads
//! both, or says everything that is wrong with them and where ([`Finding`]). What a contract does not state is not
//! promised. [`Contract::promises`] is what decisions rest on; [`Contract::effect_request`] and its siblings build the
//! requests; [`Contract::read_answer_to`] and its siblings read what came back. [`Catalogue`] holds the contracts that come
//! with the program, and what an operator puts over them.
//!
//! Nothing here sends, waits, retries or decides: it gives the core its promises and its evidence in the core's words.

mod about;
mod advice;
mod answers;
mod auth;
pub mod base64;
mod body;
mod build_error;
mod callback;
mod captured;
mod catalogue;
mod claims;
mod compare;
mod condition;
mod conditions;
mod consistency;
mod contract;
mod date;
mod digest;
mod document;
#[cfg(test)]
mod documented;
mod duration;
mod effect;
mod events;
mod examples;
pub mod far_side;
mod finding;
mod form;
pub mod http;
mod kept;
mod key;
mod key_place;
mod lookup;
mod operator;
mod parts;
mod pointer;
pub mod probe;
mod product;
mod promises;
mod provider;
mod questions;
mod read;
mod rehearsal;
mod repeat;
mod request;
mod rules;
mod schema;
mod shape;
mod signature;
mod signing;
mod sigv4;
mod source;
mod splice;
mod strength;
mod support;
mod template;
mod terms;
mod text;
mod undo;
mod when;
mod when_shown;

pub use answers::{Ours, Reading};
pub use build_error::{BuildError, BuildErrorKind};
pub use callback::{CallbackMatch, CallbackReading};
pub use catalogue::Catalogue;
pub use claims::{Grade, Origin, Source};
pub use contract::Contract;
pub use effect::EffectInput;
pub use events::{EventReading, EventsPage, Feed};
pub use finding::{Finding, Severity};
pub use http::{HttpAnswer, HttpRequest};
pub use kept::{KeptError, parse_span};
pub use lookup::{LookupAsk, LookupReading};
pub use operator::{
    AmountSettings, ApprovalSettings, Assumption, Assumptions, ExemptSettings, OperatorSettings,
    SettingsError,
};
pub use product::AmountFound;
pub use provider::{AuthKind, AuthRules, Oauth2, Provider, ProviderLimits, SigV4};
pub use rehearsal::{Decision, Meanwhile, Outcome, Rehearsed, Script, Shown};
pub use signature::{CallbackRefused, VerifiedCallback};
pub use signing::{HmacSigning, Signable, SigningError};
pub use sigv4::{SigV4Credentials, SigV4Scope, sign_v4};
pub use strength::Strength;
pub use terms::{AnswerRule, ExampleAnswer, KeyTerms, RepeatTerms};
pub use undo::{UndoSubmission, UndoWay};
