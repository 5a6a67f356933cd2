//! Approvals (R23): some actions were approved as they would be sent then, and an operator corrects a contract before they are. A
//! process takes a corrected contract up when it starts.

use std::collections::BTreeMap;

use factum_core::{Lane, ProposalDigest, ProposalId, Timestamp};
use factum_engine::driver::DestinationPolicy;
use factum_engine::proposal::approval_digest;
use factum_store::{Action, Approved};

use super::world::{BEGIN, World};

impl World {
    /// An action that somebody approved, under the contract that it is recorded with.
    pub(super) fn approve(&self, n: usize, action: &mut Action) {
        if !self.intents[n].approved {
            return;
        }
        let number = u64::try_from(n).unwrap_or_default();
        action.content.approved = Some(Approved {
            proposal: ProposalId::new(Timestamp::from_micros(BEGIN), Lane(7), number),
            digest: ProposalDigest([0; 32]),
            as_of: Timestamp::from_micros(BEGIN),
            account: None,
            by: vec!["ana".to_owned()],
        });
        let contract = self.contract(self.intents[n].op);
        let digest = approval_digest(&self.keys, action, &contract, None);
        if let (Some(approved), Some(digest)) = (&mut action.content.approved, digest) {
            approved.digest = digest;
        }
    }

    /// What a process that starts now takes each destination's contract to be.
    pub(super) fn contracts(&self) -> BTreeMap<String, [u8; 32]> {
        let digest =
            |policy: &DestinationPolicy| policy.contracts.get("do").copied().unwrap_or_default();
        let all = self.policies.iter();
        all.map(|(name, policy)| (name.clone(), digest(policy)))
            .collect()
    }

    /// An operator corrects a contract: its promises stay, and its digest does not.
    pub(super) fn correct_a_contract(&mut self) {
        let op = self.dice.approvals.index(self.lines.len());
        let destination = self.lines[op].destination.clone();
        let version = u8::try_from(self.dice.approvals.below(200)).unwrap_or_default();
        self.note(|_| format!("the contract of {destination} is corrected"));
        if let Some(policy) = self.policies.get_mut(&destination) {
            policy.contracts.insert("do".to_owned(), [version; 32]);
        }
    }

    /// An attempt is marked by this process: what was approved under another contract than the process has must not be.
    pub(super) fn marked_under(&mut self, p: usize, action: &Action) {
        let content = &action.content;
        if content.approved.is_none() {
            return;
        }
        let destination = &action.scope.destination;
        let contract = self.processes[p].contracts.get(destination);
        let (same, id) = (contract == Some(&content.contract), action.intent.action);
        self.sometimes("what was approved is marked");
        if !same {
            self.breaks(6, || {
                format!("{id} is sent under another contract than it was approved under (R23)")
            });
        }
    }
}
