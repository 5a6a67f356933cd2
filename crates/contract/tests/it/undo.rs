//! What the operation that undoes an effect is submitted with.

use factum_contract::{Catalogue, Contract, EffectInput, HttpRequest};
use serde_json::{Map, Value, json};

use crate::support::{builtin, params};

/// The request that undoes the effect of this submission.
fn undoing(
    contract: &Contract,
    by: &Contract,
    params: &Map<String, Value>,
    payload: &[u8],
) -> HttpRequest {
    let submission = contract
        .undo_submission(params, payload, "R-1", "e-1")
        .expect("the contract says what is submitted")
        .unwrap_or_else(|error| panic!("{}: {error}", contract.operation()));
    let request = by.effect_request(&EffectInput {
        params: &submission.params,
        payload: &submission.payload,
        key: by.sends_key().then_some("k"),
        reference: "R-2",
    });
    request.unwrap_or_else(|error| panic!("{}: {error}", contract.operation()))
}

#[test]
fn what_undoes_an_effect_of_the_catalogue_builds() {
    let catalogue = Catalogue::builtin();
    let mut seen = Vec::new();
    for provider in catalogue.providers() {
        for contract in catalogue.operations(provider) {
            let Some(by) = contract.undone_by() else {
                continue;
            };
            let content = contract.probe_content();
            let payload = content.payload.unwrap_or_else(|| b"{}".to_vec());
            let request = undoing(contract, builtin(provider, by), &content.params, &payload);
            let body = String::from_utf8_lossy(&request.body);
            let named = request.path_and_query.contains("e-1") || body.contains("e-1");
            assert!(named, "{provider}.{by} does not name the effect");
            seen.push(format!("{provider}.{}", contract.operation()));
        }
    }
    assert_eq!(
        seen,
        [
            "matrix.message.send",
            "stripe.payment_intent.create",
            "testbed.key_body.sync"
        ]
    );
}

#[test]
fn values_come_from_the_submission_with_their_types() {
    let file = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kitchen/sink");
        std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap()
    };
    let text = file("charge.create");
    let provider = file("provider");
    let contract = Contract::parse("c.toml", Some(("p.toml", &provider)), &text).unwrap();
    let given = params(json!({"shop": "s"}));
    let filled = |payload: &[u8]| contract.undo_submission(&given, payload, "R-1", "e-1");
    let submission = filled(br#"{"amount":500}"#).unwrap().unwrap();
    assert_eq!(submission.params, params(json!({"charge": "e-1"})));
    let payload: Value = serde_json::from_slice(&submission.payload).unwrap();
    assert_eq!(payload, json!({"amount": 500, "note": "undoes R-1"}));
    let error = filled(b"{}").unwrap().unwrap_err();
    assert_eq!(error.member, "/payload/amount");
    // Where the contract only names an operation, nothing is known of its submission.
    let charge = builtin("stripe", "charge.create");
    assert_eq!(charge.undone_by(), None);
    assert!(charge.undo_submission(&given, b"{}", "R", "e").is_none());
}
