//! The requests that a contract's own examples make, for whoever tries a destination.

use factum_core::Timestamp;
use serde_json::{Map, Value};

use super::FarSide;
use crate::body::Body;
use crate::effect::EffectInput;
use crate::http::HttpRequest;

/// An effect request that an example makes.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleRequest {
    /// The request, without authentication.
    pub request: HttpRequest,
    /// The parameters of the submission.
    pub params: Map<String, Value>,
    /// The key in it, where the operation sends one.
    pub key: Option<String>,
    /// The reference that it was made with, whether or not the contract writes it into the request.
    pub reference: String,
}

/// When every such action was recorded: 2026-01-02T03:04:05Z.
const INSTANT: Timestamp = Timestamp::from_micros(1_767_323_045_000_000);

impl FarSide<'_> {
    /// The effect requests of the contract's examples, with the marks that these bytes give. Examples that only show an
    /// answer, or a submission that is refused, make none; a contract without any takes an empty object.
    #[must_use]
    pub fn example_requests(&self, bytes: &[u8; 32]) -> Vec<ExampleRequest> {
        let contract = self.contract;
        let key = contract.encode_key(bytes);
        let reference = contract.encode_reference(bytes);
        // Whoever shows none takes any object, or nothing at all.
        let none = Map::new();
        let plain = [(&none, "{}"), (&none, "")];
        let shown = contract.examples.submissions().chain(plain);
        let made = shown.filter_map(|(params, payload)| {
            let mut payload = payload
                .replace("{key}", &key)
                .replace("{reference}", &reference);
            if matches!(contract.effect.body, Body::Text(_)) && !payload.is_empty() {
                // A submission carries it as a JSON string.
                payload = Value::String(payload).to_string();
            }
            let input = EffectInput {
                params,
                payload: payload.as_bytes(),
                key: contract.sends_key().then_some(key.as_str()),
                reference: &reference,
            };
            let request = contract.effect_request_recorded_at(&input, INSTANT).ok()?;
            Some(ExampleRequest {
                request,
                params: params.clone(),
                key: contract.sends_key().then(|| key.clone()),
                reference: reference.clone(),
            })
        });
        made.collect()
    }

    /// An instant before everything: for lookups that have to be told since when.
    #[must_use]
    pub fn since_ever(&self) -> Option<Timestamp> {
        self.contract
            .lookup_needs_since()
            .then_some(Timestamp::from_micros(0))
    }
}
