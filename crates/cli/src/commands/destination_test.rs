//! `factum destination test`: whether a destination can be reached and who we are there. It asks, and never sends an effect.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use factum::setup;
use factum_contract::{Contract, HttpRequest};
use factum_core::evidence::Phase;
use factum_core::{Span, Timestamp};
use factum_engine::messages::http_date;
use factum_engine::{Destination, Reach};
use factum_transport::{Asked, Clock, HttpTransport, Target, Transport};
use serde_json::{Value, json};

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;
use crate::place::Place;

/// How long the question may take.
const LIMIT: Span = Span::from_secs(20);

/// What the question brought.
pub(crate) struct Found {
    /// For people.
    pub(crate) says: String,
    /// It can be used as far as that can be told without an effect.
    pub(crate) well: bool,
    /// What to do otherwise.
    pub(crate) remedy: &'static str,
    /// The destination's own time, where it answered with one.
    pub(crate) date: Option<Timestamp>,
}

/// The question needs no store's time: no permission rests on it. Signatures are dated, and tokens end, by this machine's.
struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        factum_store::system_clock()()
    }
}

pub(crate) async fn run(name: &str, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let place = Place::read(config)?;
    let destinations = setup::destinations(&place.config, &setup::catalogue(&place.config)?)?;
    let Some(destination) = destinations.get(name) else {
        let known: Vec<&str> = destinations.keys().map(String::as_str).collect();
        let rule = format!(
            "no destination {name:?} is configured in {}",
            place.file.display()
        );
        return Err(Failure::not_found(
            rule,
            &format!("use one of: {}; or add it", known.join(", ")),
        ));
    };
    let Reach::Http(target) = &destination.reach else {
        return Err(Failure::not_found(
            "an application carries it in its own code",
            "test it there",
        ));
    };
    let secret = secret(target).await;
    let asked = match &secret {
        Ok(_) => Some(ask(destination, target).await),
        Err(_) => None,
    };
    let well = asked.as_ref().is_some_and(|found| found.well);
    let (says, remedy) = match (&secret, &asked) {
        (Err(rule), _) => (
            rule.clone(),
            "make the secret available where its reference points",
        ),
        (Ok(_), Some(found)) => (found.says.clone(), found.remedy),
        (Ok(_), None) => (String::new(), ""),
    };
    if out.json {
        out.value(&report(name, target, &secret, asked.as_ref()));
    } else {
        out.line(format_args!("{name} at {}: {says}", target.base()));
        if !well {
            out.line(format_args!("  remedy: {remedy}"));
        }
    }
    Ok(exit::code(if well { exit::OK } else { exit::FINDINGS }))
}

fn report(
    name: &str,
    target: &Target,
    secret: &Result<bool, String>,
    asked: Option<&Found>,
) -> Value {
    json!({
        "destination": name,
        "base": target.base(),
        "secret": match secret {
            Ok(true) => "resolved".to_owned(),
            Ok(false) => "none is configured".to_owned(),
            Err(rule) => rule.clone(),
        },
        "answer": asked.map(|found| found.says.clone()),
        "well": asked.is_some_and(|found| found.well),
        "remedy": asked.filter(|found| !found.well).map(|found| found.remedy),
    })
}

/// Whether there is a secret and it can be read. Nothing of it is kept.
pub(crate) async fn secret(target: &Target) -> Result<bool, String> {
    match target.auth().credential(target.limits().secret).await {
        Ok(credential) => Ok(credential.is_some()),
        Err(error) => Err(error.to_string()),
    }
}

/// Asks who we are, where a contract says how; else reads the base address.
pub(crate) async fn ask(destination: &Destination, target: &Target) -> Found {
    let contracts = destination
        .operations
        .values()
        .filter_map(|operation| Some(operation.contract.as_ref()?.contract.as_ref()));
    let whoami = contracts
        .clone()
        .find_map(|contract| Some((contract, contract.whoami_request()?)));
    let transport = HttpTransport::new(Arc::new(WallClock));
    let base = || HttpRequest {
        method: "GET".to_owned(),
        path_and_query: "/".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let (contract, request) = whoami.map_or_else(
        || (None, base()),
        |(contract, request)| (Some(contract), request),
    );
    match transport.ask(target, request, LIMIT).await {
        Asked::Answered(answer) => Found {
            date: answer.header("date").and_then(http_date),
            ..read(destination, contract, &answer)
        },
        Asked::Failed {
            phase: Phase::Prepare,
            detail,
        } => Found {
            says: format!("cannot be asked: {detail}"),
            well: false,
            remedy: "check the secrets; for oauth2 the client, its secret and the token's address too",
            date: None,
        },
        Asked::Failed { detail, .. } => Found {
            says: format!("cannot be asked: {detail}"),
            well: false,
            remedy: "check the base address, the network and, for https, the certificate",
            date: None,
        },
    }
}

fn read(
    destination: &Destination,
    contract: Option<&Contract>,
    answer: &factum_contract::HttpAnswer,
) -> Found {
    let status = answer.status;
    let account = contract.and_then(|contract| contract.read_whoami(answer));
    match (account, &destination.account) {
        (Some(account), Some(pinned)) if account != *pinned => Found {
            says: format!("we are {account:?} there, and {pinned:?} is configured"),
            well: false,
            remedy: "correct the account, or the secret that belongs to another one",
            date: None,
        },
        (Some(account), _) => Found {
            says: format!("reached; we are {account:?} there"),
            well: true,
            remedy: "",
            date: None,
        },
        (None, _) if matches!(status, 401 | 403 | 407) => Found {
            says: format!("reached, and it answered {status}: the credential is refused"),
            well: false,
            remedy: "check the secret that the reference points to, and what it may do",
            date: None,
        },
        (None, _) if contract.is_some() => Found {
            says: format!("reached, and its answer ({status}) names no account"),
            well: false,
            remedy: "check the base address: is it this provider's API?",
            date: None,
        },
        (None, _) => Found {
            says: format!("reached; it answered {status}"),
            well: true,
            remedy: "",
            date: None,
        },
    }
}
