//! What a contract does for each attempt: build the request, read the answer.

use std::error::Error;
use std::hint::black_box;

use factum_contract::{Contract, EffectInput, HttpAnswer};

use crate::Work;

const PAYLOAD: &[u8] =
    br#"{"ticket":{"subject":"Printer offline","comment":{"body":"Restarting does not help."}}}"#;

fn zendesk() -> Result<Contract, Box<dyn Error>> {
    let provider = include_str!("../../../contracts/zendesk/provider.toml");
    let ticket = include_str!("../../../contracts/zendesk/ticket.create.toml");
    let parsed = Contract::parse(
        "ticket.create.toml",
        Some(("provider.toml", provider)),
        ticket,
    );
    parsed.map_err(|findings| format!("{findings:?}").into())
}

/// A ticket of a few hundred bytes with our reference set into it.
pub(crate) fn build_request() -> Result<Work, Box<dyn Error>> {
    let contract = zendesk()?;
    let params = Default::default();
    let build = move || {
        contract.effect_request(&EffectInput {
            params: &params,
            payload: black_box(PAYLOAD),
            key: Some("5f0a1e6c-9f7b-4c55-8a55-0e2b8c7a9b11"),
            reference: "factum-01m8q3a5hjef1a1wrxsbjcp58r",
        })
    };
    build().map_err(|error| error.to_string())?;
    Ok(Box::new(move || {
        // It was built a moment ago.
        let _ = black_box(build());
    }))
}

/// The ticket's answer, matched with the contract's rules.
pub(crate) fn read_answer() -> Result<Work, Box<dyn Error>> {
    let contract = zendesk()?;
    let answer = HttpAnswer {
        status: 201,
        headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("x-idempotency-lookup".to_owned(), "miss".to_owned()),
        ],
        body: br#"{"ticket":{"id":35436,"subject":"Printer offline","external_id":"factum-01m8q3a5"}}"#.to_vec(),
        truncated: false,
    };
    Ok(Box::new(move || {
        black_box(contract.read_answer(black_box(&answer)));
    }))
}
