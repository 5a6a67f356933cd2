//! Cleaning up: at the end what was made is withdrawn by its key where that can be done; what then is still there is undone by
//! the operation that the contract names, where it says what that is submitted with.

use std::collections::VecDeque;

use factum_core::evidence::AnswerClass;
use factum_core::{Span, Timestamp};

use super::build::Mark;
use super::run::{REPEATS_MAX, Run, pause_after};
use super::sight::Sent;
use super::{Came, Do, EffectTry, Pause};
use crate::BuildError;
use crate::answers::Ours;
use crate::contract::Contract;
use crate::effect::EffectInput;
use crate::http::HttpRequest;

/// What is still to be cleaned up.
#[derive(Debug)]
pub(super) struct Cleaning {
    /// Marks that are still to be withdrawn by key.
    withdraw: VecDeque<usize>,
    /// Effects that are still to be undone; none before the withdrawals are over.
    undo: Option<VecDeque<Undoing>>,
    /// Before the next undoing is sent once more.
    pause: Option<Span>,
}

/// One effect that is to be undone, and the mark of the request that does it.
#[derive(Clone, Debug)]
struct Undoing {
    of: usize,
    receipt: String,
    mark: Mark,
    sent: u32,
}

/// How the undoing of one effect ended.
#[derive(Clone, Debug)]
pub(super) struct Undid {
    pub(super) of: usize,
    pub(super) receipt: String,
    pub(super) reference: String,
    pub(super) key: Option<String>,
    /// None where it was undone.
    pub(super) why_not: Option<String>,
}

impl Run<'_> {
    pub(super) fn begin_cleaning(&mut self) {
        let marks = self.marks.iter().enumerate();
        let left = marks.filter(|(_, mark)| mark.may_exist && !mark.withdrawn);
        let withdraw = match self.contract.cancel {
            Some(_) => left.map(|(mark, _)| mark).collect(),
            None => VecDeque::new(),
        };
        self.cleaning = Some(Cleaning {
            withdraw,
            undo: None,
            pause: None,
        });
    }

    pub(super) fn next_of_cleaning(&mut self, now: Timestamp) -> Do {
        loop {
            let Some(cleaning) = &self.cleaning else {
                return Do::Nothing;
            };
            if let Some(mark) = cleaning.withdraw.front() {
                return match self.cancel(*mark, None, "withdraws what the probe made") {
                    Some(requests) => Do::Send(requests),
                    None => Do::Nothing,
                };
            }
            if let Some(span) = cleaning.pause {
                return Do::Wait(Pause {
                    span,
                    by_clock: false,
                    why: "the destination is busy".to_owned(),
                });
            }
            let Some(undo) = &cleaning.undo else {
                let undo = self.undoable();
                if let Some(cleaning) = &mut self.cleaning {
                    cleaning.undo = Some(undo);
                }
                continue;
            };
            let (Some(undoing), Some(contract)) = (undo.front(), self.undo) else {
                return Do::Nothing;
            };
            match self.undo_request(contract, undoing, now) {
                Ok(request) => return self.undo_try(contract, request, now),
                Err(error) => self.undone(Some(format!("its undoing does not build: {error}"))),
            }
        }
    }

    /// The effects that are known by their receipts and are still there.
    fn undoable(&self) -> VecDeque<Undoing> {
        let Some(contract) = self.undo else {
            return VecDeque::new();
        };
        let marks = self.marks.iter().enumerate();
        let left = marks.filter(|(_, mark)| mark.exists && !mark.withdrawn);
        let receipts = left.flat_map(|(of, mark)| mark.names.receipts.iter().map(move |r| (of, r)));
        let undoing = receipts.enumerate().map(|(n, (of, receipt))| Undoing {
            of,
            receipt: receipt.clone(),
            // Behind the marks of the experiments: another key than any of theirs.
            mark: Mark::new(contract, &self.setup.seed, self.marks.len() + n),
            sent: 0,
        });
        undoing.collect()
    }

    fn undo_request(
        &self,
        contract: &Contract,
        undoing: &Undoing,
        now: Timestamp,
    ) -> Result<HttpRequest, BuildError> {
        let made = &self.marks[undoing.of];
        let payload = self.payload(undoing.of, made.made_of);
        let Some(submission) = self.contract.undo_submission(
            &self.setup.params,
            &payload,
            &made.reference,
            &undoing.receipt,
        ) else {
            return Err(crate::request::not_in_contract("/undo"));
        };
        let submission = submission?;
        let input = EffectInput {
            params: &submission.params,
            payload: &submission.payload,
            key: contract.sends_key().then_some(undoing.mark.key.as_str()),
            reference: &undoing.mark.reference,
        };
        let begun = undoing.mark.begun.unwrap_or(now);
        contract.effect_request_recorded_at(&input, begun)
    }

    fn undo_try(&mut self, contract: &Contract, request: HttpRequest, now: Timestamp) -> Do {
        let undo = self.cleaning.as_mut().and_then(|c| c.undo.as_mut());
        let Some(undoing) = undo.and_then(VecDeque::front_mut) else {
            return Do::Nothing;
        };
        undoing.mark.begun.get_or_insert(now);
        Do::Send(vec![EffectTry {
            request,
            second: false,
            cancels: false,
            undoes: true,
            experiment: None,
            why: format!("undoes {} by {}", undoing.receipt, contract.operation()),
            key: contract.sends_key().then(|| undoing.mark.key.clone()),
            reference: undoing.mark.reference.clone(),
        }])
    }

    pub(super) fn cleaned(&mut self, came: Vec<Came>) {
        let Some(cleaning) = &mut self.cleaning else {
            return;
        };
        if let Some(mark) = cleaning.withdraw.pop_front() {
            for came in came {
                self.requests += 1;
                let answer = self.read_cancel(came);
                self.note_cancel(mark, &answer);
            }
            return;
        }
        for came in came {
            self.requests += 1;
            self.undo_came(came);
        }
    }

    fn undo_came(&mut self, came: Came) {
        let undo = self.cleaning.as_ref().and_then(|c| c.undo.as_ref());
        let (Some(undoing), Some(contract)) = (undo.and_then(VecDeque::front), self.undo) else {
            return;
        };
        let outcome = self.read_undo(contract, undoing, came);
        let again = pause_after(&outcome).filter(|_| undoing.sent < REPEATS_MAX);
        if again.is_some() {
            if let Some(cleaning) = &mut self.cleaning {
                cleaning.pause = again;
                let undoing = cleaning.undo.as_mut().and_then(VecDeque::front_mut);
                undoing.into_iter().for_each(|undoing| undoing.sent += 1);
            }
            return;
        }
        let done = outcome.class() == Some(&AnswerClass::Done);
        let by = contract.operation();
        self.undone((!done).then(|| format!("{by} ended otherwise: {}", outcome.shown())));
    }

    fn read_undo(&self, contract: &Contract, undoing: &Undoing, came: Came) -> Sent {
        let ours = Ours {
            reference: Some(&undoing.mark.reference),
            key: contract.sends_key().then_some(undoing.mark.key.as_str()),
        };
        match came {
            Came::Answer(answer, at) => {
                let reading = match self.undo_request(contract, undoing, at) {
                    Ok(request) => contract.read_answer_of(&answer, &ours, &request),
                    Err(_) => contract.read_answer_to(&answer, &ours),
                };
                Sent::of(&answer, reading)
            }
            Came::Lost(why) => Sent::Lost(why),
            Came::NotSent(why) => Sent::Unsent(why),
        }
    }

    /// The undoing that was due has ended.
    fn undone(&mut self, why_not: Option<String>) {
        let undo = self.cleaning.as_mut().and_then(|c| c.undo.as_mut());
        let (Some(undoing), Some(contract)) = (undo.and_then(VecDeque::pop_front), self.undo)
        else {
            return;
        };
        self.undid.push(Undid {
            of: undoing.of,
            receipt: undoing.receipt,
            reference: undoing.mark.reference,
            key: contract.sends_key().then_some(undoing.mark.key),
            why_not,
        });
    }

    /// A withdrawal that was not wanted ends the withdrawals; of effects to undo each is asked for.
    pub(super) fn cleaning_declined(&mut self) {
        let Some(cleaning) = &mut self.cleaning else {
            return;
        };
        if cleaning.withdraw.is_empty() {
            self.undone(Some("its undoing was not wanted".to_owned()));
        } else {
            cleaning.withdraw.clear();
        }
    }

    pub(super) fn cleaning_waited(&mut self) {
        if let Some(cleaning) = &mut self.cleaning {
            cleaning.pause = None;
        }
    }

    /// The receipts of a mark that were undone.
    pub(super) fn undone_of(&self, mark: usize) -> impl Iterator<Item = &str> {
        let undid = self.undid.iter();
        let undone = undid.filter(move |undid| undid.of == mark && undid.why_not.is_none());
        undone.map(|undid| undid.receipt.as_str())
    }

    /// Why what was made under a mark is still there.
    pub(super) fn why_left(&self, mark: usize) -> String {
        let mut undid = self.undid.iter().filter(|undid| undid.of == mark);
        if let Some(why) = undid.find_map(|undid| undid.why_not.clone()) {
            return why;
        }
        match (self.contract.undone_by(), self.undo) {
            (None, _) => "the contract names no submission that undoes it".to_owned(),
            (Some(by), None) => format!("there is no contract for {by}"),
            (Some(_), Some(_)) if self.marks[mark].names.receipts.is_empty() => {
                "its receipt is not known".to_owned()
            }
            (Some(by), Some(_)) => format!("{by} was not sent"),
        }
    }
}
