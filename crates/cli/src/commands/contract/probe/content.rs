//! What is sent in a probe, and by whose credentials: from the arguments, and from the contract's examples.

use factum_contract::Contract;
use factum_contract::probe::{ProbeContent, Second, Setup, changed};
use factum_engine::clock;
use factum_transport::{SecretRef, Target};
use serde_json::{Map, Value};

use super::Args;
use crate::commands::submit;
use crate::failure::Failure;

/// Whose the second credential is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Whose {
    /// Another credential of the same account
    SameAccount,
    /// A credential of another account
    OtherAccount,
}

/// The second credential: requests that carry it go to the same place.
pub(super) struct SecondCredential {
    pub(super) target: Target,
    pub(super) whose: Second,
}

pub(super) fn second(args: &Args, target: &Target) -> Result<Option<SecondCredential>, Failure> {
    let Some(reference) = &args.second_credential else {
        return Ok(None);
    };
    let wrong = |error: &factum_transport::Malformed| {
        let rule = format!("--second-credential: {}", error.rule);
        Failure::usage(rule, &error.remedy.to_string())
    };
    let reference = SecretRef::parse(reference).map_err(|error| wrong(&error))?;
    let Some(auth) = target.auth().with_reference(reference) else {
        return Err(Failure::usage(
            "the destination's way of authenticating does not consist of one secret, so that another one cannot stand for it",
            "leave --second-credential out; the scope of keys is then reported as not told",
        ));
    };
    let target = target.clone().with_auth(auth);
    let target = target.map_err(|error| wrong(&error))?;
    let whose = match args.second_is {
        Whose::SameAccount => Second::SameAccount,
        Whose::OtherAccount => Second::OtherAccount,
    };
    Ok(Some(SecondCredential { target, whose }))
}

pub(super) fn setup(
    args: &Args,
    contract: &Contract,
    second: Option<Second>,
) -> Result<Setup, Failure> {
    let shown = contract.probe_content();
    let given = content(args)?;
    // Content that was given stands alone: what the examples show belongs to the examples' own.
    let own = given.payload.is_some();
    let Some(payload) = given.payload.or(shown.payload) else {
        return Err(Failure::usage(
            "the contract's examples show nothing that could be sent",
            "give --payload, and --param where the operation has parameters",
        ));
    };
    let shown = if own {
        ProbeContent {
            other: changed(&payload),
            ..ProbeContent::default()
        }
    } else {
        ProbeContent {
            payload: None,
            ..shown
        }
    };
    let params = if args.params.is_empty() && !own {
        shown.params
    } else {
        given.params
    };
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| Failure::other(format!("there is no randomness: {error}"), "try again"))?;
    Ok(Setup {
        seed,
        params,
        payload,
        other: given.other.or(shown.other),
        refused: given.refused.or(shown.refused),
        failing: bytes(args.failing_payload.as_deref())?,
        wait: args.wait.map(clock::span),
        moves_clock: args.advance_url.is_some(),
        second,
        samples: args.samples.clamp(1, 100),
        pairs: args.pairs.min(50),
        read_every: clock::span(args.read_every),
        patience: clock::span(args.patience),
    })
}

/// What the arguments give.
fn content(args: &Args) -> Result<ProbeContent, Failure> {
    Ok(ProbeContent {
        params: params(&args.params)?,
        payload: bytes(args.payload.as_deref())?,
        other: bytes(args.other_payload.as_deref())?,
        refused: bytes(args.refused_payload.as_deref())?,
    })
}

fn bytes(given: Option<&str>) -> Result<Option<Vec<u8>>, Failure> {
    let payload = given.map(submit::payload).transpose()?;
    Ok(payload.map(String::into_bytes))
}

fn params(given: &[String]) -> Result<Map<String, Value>, Failure> {
    let text = submit::params(given)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(
            format!("the parameters are no JSON: {error}"),
            "write --param NAME=VALUE",
        )
    })
}
