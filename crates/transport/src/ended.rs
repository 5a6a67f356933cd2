//! How a request ended, and the trait of everything that can carry one. States facts only; concludes nothing.

use std::future::Future;
use std::pin::Pin;

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::evidence::Phase;
use factum_core::{Permission, Span, Timestamp};

use crate::target::Target;

/// A boxed future, so that [`Transport`] can be used as a trait object.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How an effect request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ended {
    /// Proof from our side of the socket that no byte of the request left: counted after the connection had ended.
    NotSent {
        /// How far it came.
        phase: Phase,
        /// What went wrong, for people; no secret, no payload.
        detail: String,
    },
    /// At least one byte may have left, and no whole answer was read. It may have taken effect.
    Lost {
        /// How far it came: [`Phase::Write`], [`Phase::Head`] or [`Phase::Body`].
        phase: Phase,
        /// Bytes of the request that left our hands, at least 1.
        wrote: u64,
        /// Bytes of an answer that were read.
        read: u64,
        /// When the socket was known to be closed, by the [`Clock`](crate::Clock); `None` if that cannot be told.
        closed_at: Option<Timestamp>,
        /// The status code, where the head of an answer was read whole and its body was not.
        status: Option<u16>,
        /// What went wrong, for people; no secret, no payload.
        detail: String,
    },
    /// A whole answer was read: its head, and its body to its end or to the bound (then it is marked as truncated).
    Answered {
        /// The answer, whatever its status: a redirect or an error is an answer too.
        answer: HttpAnswer,
        /// When it had been read whole, by the [`Clock`](crate::Clock).
        read_at: Timestamp,
        /// Bytes of the request that left our hands.
        wrote: u64,
    },
}

/// How a question (a lookup, a poll, a who-am-I) ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Asked {
    /// A whole answer was read, as in [`Ended::Answered`].
    Answered(HttpAnswer),
    /// No whole answer was read. It says nothing about what was asked.
    Failed {
        /// How far it came.
        phase: Phase,
        /// What went wrong, for people; no secret, no payload.
        detail: String,
    },
}

/// Something that carries requests to a destination.
pub trait Transport: Send + Sync {
    /// Sends one effect request, once, under a permission that it uses up (law 6).
    ///
    /// At most one connection carries bytes of the request. `reuse` allows an idle connection to be used; what the core's
    /// `may_reuse_connection` says belongs there. Dropping the future closes the connection abortively; what was written by
    /// then is *maybe sent*.
    fn send<'a>(
        &'a self,
        permission: Permission,
        target: &'a Target,
        request: HttpRequest,
        reuse: bool,
    ) -> Boxed<'a, Ended>;

    /// Asks a question that has no effect at the destination, within `limit` in all. Never for an effect request.
    fn ask<'a>(&'a self, target: &'a Target, request: HttpRequest, limit: Span)
    -> Boxed<'a, Asked>;
}
