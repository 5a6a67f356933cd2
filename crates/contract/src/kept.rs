//! A contract's text as it is kept beside the actions that are pinned to it, for as long as they are.

use factum_core::Span;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::contract::Contract;
use crate::duration;

/// The texts of one contract.
#[derive(Serialize, Deserialize)]
struct Kept {
    v: u32,
    provider: Option<String>,
    operation: String,
}

/// The form that this version writes and reads.
const VERSION: u32 = 1;

/// Why a kept text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// It is not what [`Catalogue::kept_text`] writes, or of a later form.
    #[error("the kept contract is not in a form that this version reads")]
    Form,
    /// The contract in it is not accepted any more.
    #[error("the kept contract has {0} findings, the first: {1}")]
    Findings(usize, String),
}

impl Catalogue {
    /// The text to keep beside actions that are pinned to this contract.
    #[must_use]
    pub fn kept_text(&self, provider: &str, operation: &str) -> Option<String> {
        let (provider, operation) = self.texts_of(provider, operation)?;
        serde_json::to_string(&Kept {
            v: VERSION,
            provider,
            operation,
        })
        .ok()
    }
}

impl Contract {
    /// A contract from its kept text. What an operator laid over it is not part of it: that is pinned in the action.
    ///
    /// # Errors
    /// [`KeptError`] if the text is of another form, or the contract has become unreadable.
    pub fn from_kept(text: &str) -> Result<Self, KeptError> {
        let kept: Kept = serde_json::from_str(text).map_err(|_| KeptError::Form)?;
        if kept.v != VERSION {
            return Err(KeptError::Form);
        }
        let provider = kept.provider.as_deref().map(|text| ("provider.toml", text));
        Self::parse("operation.toml", provider, &kept.operation).map_err(|findings| {
            KeptError::Findings(
                findings.len(),
                findings
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            )
        })
    }
}

/// A length of time as contracts and configurations write it: a whole number and one of `ms`, `s`, `min`, `h`, `d`.
///
/// # Errors
/// The rule and the remedy, as one line.
pub fn parse_span(text: &str) -> Result<Span, String> {
    duration::parse(text)
        .map_err(|complaint| format!("{}; {}", complaint.message, complaint.remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_contract_reads_back_from_its_kept_text() {
        let catalogue = Catalogue::builtin();
        let mut read = 0;
        for provider in catalogue.providers() {
            for contract in catalogue.operations(provider) {
                let text = catalogue.kept_text(provider, contract.operation()).unwrap();
                let kept = Contract::from_kept(&text).unwrap();
                assert_eq!(
                    kept.digest(),
                    contract.digest(),
                    "{provider} {}",
                    contract.operation()
                );
                read += 1;
            }
        }
        assert!(read > 10);
        assert_eq!(
            Contract::from_kept("{\"v\":2,\"provider\":null,\"operation\":\"\"}"),
            Err(KeptError::Form)
        );
        assert_eq!(catalogue.kept_text("testbed", "none.such"), None);
    }

    #[test]
    fn a_wrong_length_says_what_to_write() {
        assert_eq!(parse_span("30 s"), Ok(Span::from_secs(30)));
        let refused = parse_span("30").unwrap_err();
        assert!(refused.contains("ms, s, min, h, d"), "{refused}");
    }
}
