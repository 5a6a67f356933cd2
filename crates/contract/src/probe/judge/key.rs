//! What became of the claims about a key: repeats, other content, pairs, stored refusals, scope, window.

use factum_core::evidence::AnswerClass;
use factum_core::promise::{Consequence, Retention};

use super::{Case, Judged, broken, held, untold};
use crate::lookup::word;
use crate::probe::Second;
use crate::probe::sight::{Answered, Names, Same, Sent};
use crate::probe::{Claim, Experiment, Verdict};
use crate::repeat::{After, Concurrent, OtherContent, Replays, Scope};

impl Case<'_> {
    pub(super) fn same_key_twice(&self) -> Vec<Claim> {
        let Some(repeat) = self.repeat() else {
            let says = "a repeat has no further effect";
            let about = if self.contract.consequence == Consequence::Harmless {
                "/consequence"
            } else {
                "/key"
            };
            return vec![self.claim(about, says, self.repeated())];
        };
        let says = "a repeat under the same key makes no second effect";
        let mut claims = vec![self.claim("/key/repeat", says, self.repeated())];
        if repeat.replayed.is_some() {
            let says = "a stored answer that is played again carries a mark";
            claims.push(self.claim("/key/repeat/replayed", says, self.replay_mark()));
        }
        let says = match repeat.replays {
            Replays::Original => "a repeat is answered with the first answer",
            Replays::Conflict => "a repeat is answered with a refusal that shows that it exists",
            Replays::CurrentState => "a repeat is answered with what the object has become",
            Replays::Unstated => return claims,
        };
        let judged = self.replays(repeat.replays);
        claims.push(self.claim("/key/repeat/replays", says, judged));
        claims
    }

    /// Whether the second of two equal requests made nothing.
    fn repeated(&self) -> Judged {
        if let Some(why) = self.doubled() {
            return broken(why);
        }
        let (first, second) = match self.two() {
            Ok(two) => two,
            Err(why) => return untold(why),
        };
        let both = format!("first {}; then {}", first.shown(), second.shown());
        match (second.class(), self.same_effect(second)) {
            (_, Same::Yes) => held(both),
            (_, Same::No) => broken(format!("a second effect: {both}")),
            (Some(AnswerClass::Done | AnswerClass::Accepted { .. }), Same::Unclear) => {
                let shown = self.looks().next();
                match shown {
                    Some(looked) if looked.receipts.len() == 1 && looked.inconclusive.is_none() => {
                        held(format!("{both}; the lookup shows one effect"))
                    }
                    Some(_) | None => untold(format!(
                        "{both}; nothing tells whether it is the same effect"
                    )),
                }
            }
            (_, Same::Unclear) => untold(both),
        }
    }

    fn replay_mark(&self) -> Judged {
        let (first, second) = match self.two() {
            Ok(two) => two,
            Err(why) => return untold(why),
        };
        let marked = |sent: &Sent| sent.answered().is_some_and(|a| a.reading.replayed);
        if marked(first) {
            return broken(format!("the first answer carries it: {}", first.shown()));
        }
        match (marked(second), self.same_effect(second)) {
            (true, _) => held(second.shown()),
            (false, Same::Yes) => broken(format!("the repeat does not: {}", second.shown())),
            (false, Same::No | Same::Unclear) => {
                untold(format!("nothing was played again: {}", second.shown()))
            }
        }
    }

    fn replays(&self, claimed: Replays) -> Judged {
        let (first, second) = match self.two() {
            Ok(two) => two,
            Err(why) => return untold(why),
        };
        let exists = matches!(second.class(), Some(AnswerClass::AlreadyExists { .. }));
        let same = self.same_effect(second) == Same::Yes;
        let both = format!("first {}; then {}", first.shown(), second.shown());
        let (Some(one), Some(other)) = (first.answered(), second.answered()) else {
            return untold(both);
        };
        match claimed {
            Replays::Original if exists => broken(both),
            Replays::Original if same && one.status == other.status && one.body == other.body => {
                held("status and body are the first answer's")
            }
            Replays::Original if same && one.status == other.status => {
                untold(format!("the same effect, and another body: {both}"))
            }
            Replays::Conflict if exists => held(both),
            Replays::Conflict if same => broken(both),
            Replays::CurrentState if same => held(both),
            Replays::CurrentState if exists => broken(both),
            Replays::Original | Replays::Conflict | Replays::CurrentState | Replays::Unstated => {
                untold(both)
            }
        }
    }

    pub(super) fn other_content(&self) -> Vec<Claim> {
        let claimed = self.repeat().map(|repeat| repeat.other_content);
        let says = match claimed {
            Some(OtherContent::Refused) => "other content under a key that is taken is refused",
            Some(OtherContent::FirstResult) => {
                "other content under a key that is taken gets the first one's answer"
            }
            Some(OtherContent::NewEffect) => {
                "other content under a key that is taken makes an effect of its own"
            }
            Some(OtherContent::Unstated) | None => "nothing about other content under a key",
        };
        let judged = match self.two() {
            Err(why) => untold(why),
            Ok((_, second)) => self.other_content_got(claimed, second),
        };
        vec![self.claim("/key/repeat/other_content", says, judged)]
    }

    fn other_content_got(&self, claimed: Option<OtherContent>, second: &Sent) -> Judged {
        let shown = second.shown();
        let (same, class) = (self.same_effect(second), second.class());
        let first_result = format!("it got the first one's answer: {shown}");
        let new_effect = format!("a second effect: {shown}");
        match (claimed, same, class) {
            (Some(OtherContent::Refused), _, Some(AnswerClass::Mismatch)) => held(shown),
            (
                Some(OtherContent::Refused),
                _,
                Some(AnswerClass::Rejected { .. } | AnswerClass::AlreadyExists { .. }),
            ) => untold(format!(
                "it was refused, and not as the contract knows a key of other content: {shown}"
            )),
            (Some(OtherContent::Refused), Same::Yes, _) => broken(first_result),
            (Some(OtherContent::FirstResult), Same::Yes, _) => held(first_result),
            (Some(OtherContent::FirstResult | OtherContent::Refused), Same::No, _) => {
                broken(new_effect)
            }
            (Some(OtherContent::NewEffect), Same::No, _) => held(new_effect),
            (Some(OtherContent::NewEffect), Same::Yes, _) => broken(first_result),
            (
                Some(OtherContent::FirstResult | OtherContent::NewEffect),
                _,
                Some(AnswerClass::Mismatch),
            ) => broken(format!("it was refused: {shown}")),
            (Some(OtherContent::Unstated) | None, ..) => {
                untold(format!("nothing is claimed; it got: {shown}"))
            }
            (Some(_), Same::Unclear, _) => untold(shown),
        }
    }

    pub(super) fn pairs(&self) -> Vec<Claim> {
        let claimed = self.repeat().map_or(Concurrent::Unstated, |r| r.concurrent);
        let pairs: Vec<(&Sent, &Sent)> = self
            .sents()
            .chunks(2)
            .filter_map(|pair| match pair {
                [one, other] => Some((*one, *other)),
                _ => None,
            })
            .collect();
        let says = "two requests at once under one key make one effect";
        let judged = if claimed == Concurrent::Unstated {
            untold(format!("nothing is claimed; {}", pairs_shown(&pairs)))
        } else {
            self.pairs_made_one(&pairs)
        };
        let mut claims = vec![self.claim("/key/repeat", says, judged)];
        let says = match claimed {
            Concurrent::InProgress => "while the first request runs, a repeat is told so",
            Concurrent::Waits => "while the first request runs, a repeat waits for its answer",
            Concurrent::Unstated => return claims,
        };
        let met = pairs.iter().any(|(one, other)| {
            let running = |sent: &Sent| sent.class() == Some(&AnswerClass::InProgress);
            running(one) || running(other)
        });
        let judged = match (claimed, met) {
            (Concurrent::InProgress, true) => held(pairs_shown(&pairs)),
            (Concurrent::Waits, true) => broken(pairs_shown(&pairs)),
            (Concurrent::InProgress, false) => untold(format!(
                "no two requests were seen to meet: {}",
                pairs_shown(&pairs)
            )),
            (Concurrent::Waits | Concurrent::Unstated, _) => match self.pairs_made_one(&pairs).0 {
                Verdict::Held => held(pairs_shown(&pairs)),
                Verdict::DidNotHold | Verdict::CouldNotBeTold => untold(pairs_shown(&pairs)),
            },
        };
        claims.push(self.claim("/key/repeat/concurrent", says, judged));
        claims
    }

    fn pairs_made_one(&self, pairs: &[(&Sent, &Sent)]) -> Judged {
        if let Some(why) = self.doubled() {
            return broken(why);
        }
        let shown = pairs_shown(pairs);
        let names = |sent: &Sent| sent.answered().map(Answered::names).unwrap_or_default();
        let mut unclear = pairs.is_empty();
        for (one, other) in pairs {
            let same = match (one.made(), other.made()) {
                (true, true) => Names::same(&names(one), &names(other)),
                (true, false) | (false, true) => refused_beside(one, other),
                (false, false) => Same::Unclear,
            };
            match same {
                Same::No => return broken(format!("two effects: {shown}")),
                Same::Unclear => unclear = true,
                Same::Yes => {}
            }
        }
        if unclear { untold(shown) } else { held(shown) }
    }

    /// What a refusal, or an error of its own, leaves under a key.
    pub(super) fn refusal(&self) -> Vec<Claim> {
        let own_error = self.experiment == Experiment::OwnError;
        let sents = self.sents();
        let keeps = self.claims_to_store(own_error, sents.first().copied());
        let what = if own_error {
            "an error of its own"
        } else {
            "a refusal"
        };
        let says = if keeps {
            format!("{what} stays under the key")
        } else {
            format!("{what} does not stay under the key")
        };
        let judged = match sents.as_slice() {
            [bad, again, fine, ..] => self.stored(keeps, bad, again, fine),
            [first, ..] => untold(format!(
                "the request that was to fail got: {}",
                first.shown()
            )),
            [] => untold("it was not tried"),
        };
        vec![self.claim("/key/repeat/stored", says, judged)]
    }

    fn claims_to_store(&self, own_error: bool, first: Option<&Sent>) -> bool {
        let stored = self.repeat().map(|repeat| repeat.stored);
        match first.and_then(Sent::class) {
            Some(AnswerClass::Rejected { stored, .. } | AnswerClass::Declined { stored, .. }) => {
                *stored
            }
            Some(_) | None if own_error => stored.is_some_and(|stored| stored.errors),
            Some(_) | None => stored.is_some_and(|stored| stored.refusals),
        }
    }

    fn stored(&self, keeps: bool, bad: &Sent, again: &Sent, fine: &Sent) -> Judged {
        let shown = format!(
            "first {}; repeated {}; then with content that is fine {}",
            bad.shown(),
            again.shown(),
            fine.shown()
        );
        let status = |sent: &Sent| sent.answered().map(|answered| answered.status);
        let replayed = again.answered().is_some_and(|a| a.reading.replayed);
        let repeated = !fine.made() && status(fine) == status(bad);
        let bound = fine.class() == Some(&AnswerClass::Mismatch);
        let run_again = fine.made() || again.made();
        match keeps {
            // It was carried out under the key of the failure, which nothing stored would let happen.
            true if run_again => broken(shown),
            true if replayed || repeated || bound => held(shown),
            false if replayed || repeated => broken(shown),
            false if run_again => held(shown),
            false if bound => untold(format!(
                "the key is bound to the content that failed, whatever is stored: {shown}"
            )),
            true | false => untold(shown),
        }
    }

    pub(super) fn second_credential(&self) -> Vec<Claim> {
        let scope = self.repeat().map_or(&[][..], |repeat| &repeat.scope);
        let second = self.setup.second;
        let shared = shared_by(scope, second);
        let words: Vec<&str> = scope.iter().copied().map(word).collect();
        let words = words.join(", ");
        let says = match shared {
            Some(true) => format!("the key is known to both credentials (scope: {words})"),
            Some(false) => {
                format!("the key is another one by the other credential (scope: {words})")
            }
            None if words.is_empty() => "nothing about what the key is known within".to_owned(),
            None => format!("what the key is known within: {words}"),
        };
        let judged = match (self.two(), shared) {
            (Err(why), _) => untold(why),
            (Ok((_, second)), None) => untold(format!(
                "the scope does not say whether these two credentials share it; the second got: {}",
                second.shown()
            )),
            (Ok((_, second)), Some(shared)) => {
                let knows = match (self.same_effect(second), second.class()) {
                    (Same::Yes, _)
                    | (_, Some(AnswerClass::AlreadyExists { .. } | AnswerClass::Mismatch)) => {
                        Some(true)
                    }
                    (Same::No, _) => Some(false),
                    (Same::Unclear, _) => None,
                };
                let shown = second.shown();
                match knows {
                    None => untold(format!("the second credential got: {shown}")),
                    Some(knows) if knows == shared => held(shown),
                    Some(true) => broken(format!("the key is known wider than that: {shown}")),
                    Some(false) => {
                        broken(format!("the key is known less widely than that: {shown}"))
                    }
                }
            }
        };
        vec![self.claim("/key/repeat/scope", says, judged)]
    }

    pub(super) fn inside_window(&self) -> Vec<Claim> {
        let retention = self.repeat().map(|repeat| repeat.retention);
        let says = match retention {
            Some(Retention::Floor(span) | Retention::AssumedFloor(span)) => {
                format!("the key is recognised for at least {span}")
            }
            Some(Retention::Unbounded) => "the key is recognised for ever".to_owned(),
            Some(Retention::Approximate(span)) => {
                format!("the key is recognised for about {span}")
            }
            Some(Retention::Unpublished) | None => {
                "the key is recognised for a time that is not stated".to_owned()
            }
        };
        let waited = self.waited();
        let inside = match retention {
            Some(
                Retention::Floor(span)
                | Retention::AssumedFloor(span)
                | Retention::Approximate(span),
            ) => Some(waited < span),
            Some(Retention::Unbounded) => Some(true),
            Some(Retention::Unpublished) | None => None,
        };
        let judged = match self.two() {
            Err(why) => untold(why),
            Ok((_, second)) => {
                let shown = format!("after {waited}: {}", second.shown());
                match (self.same_effect(second), inside) {
                    (Same::Yes, _) => held(shown),
                    (Same::No, Some(true)) => broken(format!("a second effect, {shown}")),
                    (Same::No, Some(false) | None) => {
                        untold(format!("that is outside of what is stated: {shown}"))
                    }
                    (Same::Unclear, _) => untold(shown),
                }
            }
        };
        vec![self.claim("/key/repeat/retention", says, judged)]
    }

    pub(super) fn after_window(&self) -> Vec<Claim> {
        let after = self.repeat().map_or(After::Unstated, |repeat| repeat.after);
        let says = match after {
            After::RunsAsNew => "after its window a key makes a new effect",
            After::Refused => "after its window a key is refused",
            After::Unstated => "nothing about a key after its window",
        };
        let waited = self.waited();
        let judged = match self.two() {
            Err(why) => untold(why),
            Ok((_, second)) => {
                let shown = format!("after {waited}: {}", second.shown());
                match (after, self.same_effect(second)) {
                    (After::RunsAsNew, Same::No) => held(shown),
                    (After::Refused, Same::No) => broken(shown),
                    // The window is a floor: who remembers longer breaks no promise.
                    (_, Same::Yes) => untold(format!("it was still recognised {shown}")),
                    (After::Refused, Same::Unclear) if refused(second) => held(shown),
                    (After::RunsAsNew, Same::Unclear) if refused(second) => broken(shown),
                    (_, _) => untold(shown),
                }
            }
        };
        vec![self.claim("/key/repeat/after", says, judged)]
    }
}

fn refused(sent: &Sent) -> bool {
    matches!(
        sent.class(),
        Some(AnswerClass::Rejected { .. } | AnswerClass::Declined { .. } | AnswerClass::Mismatch)
    )
}

/// One of two made something: whether the other was told not to, or nobody knows.
fn refused_beside(one: &Sent, other: &Sent) -> Same {
    let beside = if one.made() { other } else { one };
    match beside.class() {
        Some(
            AnswerClass::InProgress | AnswerClass::AlreadyExists { .. } | AnswerClass::Mismatch,
        ) => Same::Yes,
        Some(_) | None => Same::Unclear,
    }
}

fn pairs_shown(pairs: &[(&Sent, &Sent)]) -> String {
    let mut shown: Vec<String> = pairs
        .iter()
        .map(|(one, other)| format!("{} and {}", one.shown(), other.shown()))
        .collect();
    shown.dedup();
    match shown.as_slice() {
        [] => "no pair was sent".to_owned(),
        some => some.join("; "),
    }
}

/// Whether two credentials share a key, by what the contract says it is known within.
fn shared_by(scope: &[Scope], second: Option<Second>) -> Option<bool> {
    let per_credential = |scope: &Scope| [Scope::Credential, Scope::Device].contains(scope);
    // Whose user or application a credential belongs to is not known here.
    let unclear = |scope: &Scope| {
        let words = [Scope::User, Scope::App, Scope::UserApp, Scope::Author];
        words.contains(scope)
    };
    let per_account =
        |scope: &Scope| [Scope::Account, Scope::CompanyAccount, Scope::Environment].contains(scope);
    if scope.is_empty() {
        None
    } else if scope.iter().any(per_credential) {
        Some(false)
    } else if scope.iter().any(unclear) {
        None
    } else {
        match second? {
            Second::SameAccount => Some(true),
            Second::OtherAccount if scope.iter().any(per_account) => Some(false),
            Second::OtherAccount => None,
        }
    }
}
