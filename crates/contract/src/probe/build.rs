//! What a probe sends, and the marks that it sends under: built from the contract, the same bytes for the same mark.

use factum_core::{Span, Timestamp};

use super::plan::{Content, Step, Try, UNIQUE, Wanted};
use super::run::Run;
use super::sight::Names;
use super::{EffectTry, Experiment, Setup};
use crate::BuildError;
use crate::contract::Contract;
use crate::effect::EffectInput;
use crate::http::HttpRequest;

/// A key and a reference, and what is known of what was made under them.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) key: String,
    pub(super) reference: String,
    pub(super) unique: String,
    /// When the first request under it was built.
    pub(super) begun: Option<Timestamp>,
    /// When what was made was answered as done.
    pub(super) landed: Option<Timestamp>,
    pub(super) names: Names,
    /// The content that was made of it, the last one where there were several.
    pub(super) made_of: Content,
    /// Something was made, or may have been.
    pub(super) may_exist: bool,
    /// An answer said that it was made.
    pub(super) exists: bool,
    pub(super) withdrawn: bool,
}

impl Run<'_> {
    pub(super) fn build(
        &self,
        mark: usize,
        content: Content,
        at: Timestamp,
    ) -> Result<HttpRequest, BuildError> {
        let payload = self.payload(mark, content);
        let mark = &self.marks[mark];
        let input = EffectInput {
            params: &self.setup.params,
            payload: &payload,
            key: self.contract.sends_key().then_some(mark.key.as_str()),
            reference: &mark.reference,
        };
        let begun = mark.begun.unwrap_or(at);
        self.contract.effect_request_recorded_at(&input, begun)
    }

    /// The content as it goes out under this mark.
    pub(super) fn payload(&self, mark: usize, content: Content) -> Vec<u8> {
        let payload = self.setup.content(content).unwrap_or_default();
        placed(payload, &self.marks[mark].unique)
    }

    pub(super) fn effect(
        &mut self,
        one: &Try,
        experiment: Experiment,
        now: Timestamp,
    ) -> Result<EffectTry, BuildError> {
        let request = self.build(one.mark, one.content, now)?;
        let mark = &mut self.marks[one.mark];
        mark.begun.get_or_insert(now);
        Ok(EffectTry {
            request,
            second: one.second,
            cancels: false,
            undoes: false,
            experiment: Some(experiment),
            why: one.why.to_owned(),
            key: self.contract.sends_key().then(|| mark.key.clone()),
            reference: mark.reference.clone(),
        })
    }

    pub(super) fn cancel(
        &self,
        mark: usize,
        experiment: Option<Experiment>,
        why: &str,
    ) -> Option<Vec<EffectTry>> {
        let mark = &self.marks[mark];
        let request = self
            .contract
            .cancel_request(&self.setup.params, &mark.key)
            .ok()?;
        Some(vec![EffectTry {
            request,
            second: false,
            cancels: true,
            undoes: false,
            experiment,
            why: why.to_owned(),
            key: Some(mark.key.clone()),
            reference: mark.reference.clone(),
        }])
    }

    /// Every effect that was made is looked for once, and something that never was.
    pub(super) fn completeness(&self) -> Vec<Step> {
        let made = self.marks.iter().enumerate();
        let made = made.filter(|(_, mark)| mark.exists && !mark.withdrawn);
        let look = |mark| Step::Look {
            mark,
            wanted: Wanted::Anything,
        };
        let mut steps: Vec<_> = made.map(|(mark, _)| look(mark)).collect();
        steps.push(look(self.unused()));
        let lag = self.contract.lookup.as_ref().map_or(Span::ZERO, |l| l.lag);
        if lag > Span::ZERO && (self.setup.moves_clock || lag <= self.setup.patience) {
            steps.insert(0, Step::Wait(lag));
        }
        steps
    }
}

/// The payload with the word that differs from key to key.
fn placed(payload: &[u8], unique: &str) -> Vec<u8> {
    match std::str::from_utf8(payload) {
        Ok(text) => text.replace(UNIQUE, unique).into_bytes(),
        Err(_) => payload.to_vec(),
    }
}

impl Mark {
    /// How many effects were made under it, by their names; one where nobody named any.
    pub(super) fn effects(&self) -> u32 {
        let named = self.names.receipts.len().max(self.names.objects.len());
        u32::try_from(named.max(1)).unwrap_or(u32::MAX)
    }

    /// Whether everything that is known to exist under it was undone.
    pub(super) fn is_undone<'a>(&self, undone: impl Iterator<Item = &'a str>) -> bool {
        let undone = undone.count();
        undone > 0 && undone >= self.names.receipts.len().max(self.names.objects.len())
    }

    pub(super) fn new(contract: &Contract, seed: &[u8; 32], number: usize) -> Self {
        let bytes = |what: &str| {
            let mut hash = blake3::Hasher::new_keyed(seed);
            hash.update(what.as_bytes());
            hash.update(&u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes());
            *hash.finalize().as_bytes()
        };
        let unique = bytes("unique");
        Self {
            key: contract.encode_key(&bytes("key")),
            reference: contract.encode_reference(&bytes("reference")),
            unique: unique[..6].iter().map(|b| format!("{b:02x}")).collect(),
            begun: None,
            landed: None,
            names: Names::default(),
            made_of: Content::Usual,
            may_exist: false,
            exists: false,
            withdrawn: false,
        }
    }
}

impl Setup {
    pub(super) fn content(&self, content: Content) -> Option<&[u8]> {
        match content {
            Content::Usual => Some(&self.payload),
            Content::Other => self.other.as_deref(),
            Content::Refused => self.refused.as_deref(),
            Content::Failing => self.failing.as_deref(),
        }
    }
}
