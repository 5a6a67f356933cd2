//! From the contract to what decisions rest on. A claim that is only second-hand is shown, and is no promise.

use factum_core::Span;
use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, KeyPromise, LookupPromise, ProcessingMax,
    Promises, Retention,
};

use crate::callback::Callback;
use crate::claims::Grade;
use crate::condition::Condition;
use crate::contract::Contract;
use crate::events::Events;
use crate::http::HttpRequest;
use crate::key::Key;
use crate::repeat::Concurrent;
use crate::rules::Rule;

impl Contract {
    /// Everything that decisions rest on, with the operator's assumptions in it.
    #[must_use]
    pub fn promises(&self) -> Promises {
        Promises {
            consequence: self.consequence,
            key: self.key_promise(),
            lookup: self.lookup_promise(),
            cancel: self.cancel_promise(),
            completion: self.completion_promise(),
            processing_max: self.processing_promise(),
            path_is_direct: self.effect.direct && self.claimed("/effect/direct"),
            condition_checked: self.condition_promise(),
        }
    }

    /// The same for this one effect request: an escape clause of the key's retention can apply to it, and a condition that
    /// not every submission gives may be in it (R4, R14).
    #[must_use]
    pub fn promises_for(&self, request: &HttpRequest) -> Promises {
        let mut promises = self.promises();
        let repeat = self.key.as_ref().and_then(|key| key.repeat.as_ref());
        if repeat.is_some_and(|repeat| repeat.escaped_by(request))
            && let Some(key) = &mut promises.key
        {
            key.retention = Retention::Unpublished;
        }
        let condition = self.effect.condition.as_ref();
        let stands = condition.is_some_and(|condition| condition.stands_in(request));
        promises.condition_checked |= stands && self.claims.relied_on("/effect/condition");
        promises
    }

    fn condition_promise(&self) -> bool {
        let checked = |path| self.claims.relied_on(path);
        let always = self
            .effect
            .condition
            .as_ref()
            .is_some_and(Condition::always);
        (self.effect.condition_checked && checked("/effect/condition_checked"))
            || (always && checked("/effect/condition"))
    }

    /// Whether only second-hand sources speak for this.
    fn is_hearsay(&self, path: &str) -> bool {
        self.claims.grade(path) == Some(Grade::SecondHand)
    }

    /// How the end of queued work becomes known. A report may come without any acceptance, after an answer that was lost.
    fn completion_promise(&self) -> Option<CompletionPromise> {
        let accepts = self.accepts();
        let callback = self.callback_promise();
        (accepts || callback).then(|| CompletionPromise {
            poll: accepts && self.poll.is_some() && !self.is_hearsay("/poll"),
            callback,
        })
    }

    /// A callback or an event may tell what became of a request, if somebody who may be relied on says that it does. One that
    /// only tells what was undone later is not waited for.
    fn callback_promise(&self) -> bool {
        self.told_by_callback() || self.told_by_events()
    }

    /// Deliveries to us tell what became of a request.
    #[must_use]
    pub fn told_by_callback(&self) -> bool {
        let callback = self.callback.as_ref().map(Callback::reports);
        callback.is_some_and(|reports| reports.tell_the_end() && self.claims.relied_on("/callback"))
    }

    /// Events that are fetched tell what became of a request.
    #[must_use]
    pub fn told_by_events(&self) -> bool {
        let events = self.events.as_ref().map(Events::reports);
        events.is_some_and(|reports| reports.tell_the_end() && self.claims.relied_on("/events"))
    }

    fn accepts(&self) -> bool {
        let mut rules = self.answers.iter().chain(&self.provider.answers);
        rules.any(Rule::accepts)
    }

    /// An operator who says so needs no source: the settings were accepted with a name and a reason.
    fn claimed(&self, path: &str) -> bool {
        self.operator.direct == Some(true) || self.claims.relied_on(path)
    }

    fn key_promise(&self) -> Option<KeyPromise> {
        let repeat = self.key.as_ref()?.repeat.as_ref()?;
        let stated = self.relied_retention()?;
        let assumed = self.operator.assume.key_floor.as_ref();
        let retention = match assumed.and_then(|assumption| assumption.accepted()) {
            Some(span) => Retention::AssumedFloor(span),
            None => graded(stated, self.claims.grade("/key/repeat/retention")),
        };
        let mut rules = self.answers.iter().chain(&self.provider.answers);
        let concurrent_repeat_stated =
            repeat.concurrent != Concurrent::Unstated || rules.any(Rule::is_in_progress);
        Some(KeyPromise {
            retention,
            concurrent_repeat_stated,
            stores_errors: repeat.errors_spend_it(),
            scope_includes_credential: repeat.scope_includes_credential(),
            scope_includes_place: repeat.scope_includes_place(),
            sets_again: self.key.as_ref().is_some_and(Key::sets_again),
            wait_min: repeat.wait_min.unwrap_or(Span::ZERO),
        })
    }

    fn lookup_promise(&self) -> Option<LookupPromise> {
        let lookup = self.lookup.as_ref()?;
        let authority = if self.claims.relied_on("/lookup") {
            lookup.authority
        } else {
            // A hit is recognised by our own mark, whoever described the question; absence is not.
            Authority::Partial
        };
        Some(LookupPromise {
            authority,
            lag: lookup.lag,
            by: lookup.by,
        })
    }

    fn cancel_promise(&self) -> Option<CancelPromise> {
        let cancel = self.cancel.as_ref()?;
        self.claims.relied_on("/cancel").then_some(CancelPromise {
            refuses_later_arrivals: cancel.refuses_later_arrivals,
            retention: cancel.retention,
        })
    }

    /// The bound that the contract states, by what may be relied on.
    pub(crate) fn stated_processing_max(&self) -> Option<Span> {
        let relied = self.claims.relied_on("/processing");
        self.processing_max.filter(|_| relied)
    }

    fn processing_promise(&self) -> ProcessingMax {
        let assumed = self.operator.assume.processing_max.as_ref();
        if let Some(span) = assumed.and_then(|assumption| assumption.accepted()) {
            return ProcessingMax::Assumed(span);
        }
        let assumed = self.claims.grade("/processing/max") == Some(Grade::Assumed);
        match self.stated_processing_max() {
            Some(span) if assumed => ProcessingMax::Assumed(span),
            Some(span) => ProcessingMax::Stated(span),
            None => ProcessingMax::Unpublished,
        }
    }
}

/// A floor is worth what its source is worth.
fn graded(retention: Retention, grade: Option<Grade>) -> Retention {
    match (retention, grade) {
        (Retention::Floor(span), Some(Grade::Assumed)) => Retention::AssumedFloor(span),
        (Retention::Floor(span), Some(Grade::SecondHand)) => Retention::Approximate(span),
        (Retention::Unbounded, Some(Grade::SecondHand)) => Retention::Unpublished,
        (retention, _) => retention,
    }
}
