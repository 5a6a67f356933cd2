//! Helpers: contracts by name, answers in one line, submissions in one line.

use std::sync::LazyLock;

use factum_contract::{
    BuildError, Catalogue, Contract, EffectInput, Finding, HttpAnswer, HttpRequest,
};
use serde_json::{Map, Value, json};

/// A contract of the catalogue.
pub(crate) fn builtin(provider: &str, operation: &str) -> &'static Contract {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::builtin);
    let contract = CATALOGUE.get(provider, operation);
    contract.expect("the contract is in the catalogue")
}

/// A testbed contract.
pub(crate) fn testbed(operation: &str) -> &'static Contract {
    builtin("testbed", operation)
}

/// A contract from its text, without a provider's file.
pub(crate) fn contract(text: &str) -> Contract {
    let parsed = Contract::parse("op.toml", None, text);
    parsed.unwrap_or_else(|findings| panic!("{}", shown(&findings)))
}

/// Findings as people see them.
pub(crate) fn shown(findings: &[Finding]) -> String {
    let texts: Vec<_> = findings.iter().map(Finding::to_string).collect();
    texts.join("\n\n")
}

/// An answer with a JSON body.
pub(crate) fn answer(status: u16, body: &Value) -> HttpAnswer {
    raw_answer(status, body.to_string().as_bytes())
}

/// An answer with any body.
pub(crate) fn raw_answer(status: u16, body: &[u8]) -> HttpAnswer {
    HttpAnswer {
        status,
        headers: Vec::new(),
        body: body.to_vec(),
        truncated: false,
    }
}

/// The answer with one more header.
pub(crate) fn with_header(mut answer: HttpAnswer, name: &str, value: &str) -> HttpAnswer {
    answer.headers.push((name.to_owned(), value.to_owned()));
    answer
}

/// The testbed's error form.
pub(crate) fn error(status: u16, code: &str) -> HttpAnswer {
    let body = json!({"error": {"code": code, "message": format!("about {code}")}});
    answer(status, &body)
}

/// Parameters from a JSON object.
pub(crate) fn params(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// The effect request of a submission with the key `K` and the reference `R`.
pub(crate) fn effect(
    contract: &Contract,
    given: Value,
    payload: &str,
) -> Result<HttpRequest, BuildError> {
    contract.effect_request(&EffectInput {
        params: &params(given),
        payload: payload.as_bytes(),
        key: Some("K"),
        reference: "R",
    })
}
