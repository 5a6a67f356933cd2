//! What a destination delivers to us: whether it is the destination's, and what it says. Pure: the store's time and the secrets
//! are handed in, and nothing is recorded here.

use factum_contract::{CallbackMatch, CallbackReading, CallbackRefused, Contract};
use factum_core::Timestamp;
use factum_core::evidence::Callback;
use factum_store::{Name, Reading, Report, ReportId, Site};

use crate::destination::Destination;

/// How much of a delivery's body is kept for people.
const EXCERPT_MAX: usize = 4_096;

/// A delivery as it came in.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The public address that the destination was told to deliver to, where it is known: some schemes sign it.
    pub url: Option<&'a str>,
    /// Its headers, names in any case.
    pub headers: &'a [(String, String)],
    /// Its body, byte for byte.
    pub body: &'a [u8],
}

/// An operation whose contract says that the delivery is the destination's.
struct Genuine<'a> {
    operation: &'a str,
    contract: &'a Contract,
    /// The delivery's own name, where it was signed.
    id: Option<String>,
}

/// The reports in a delivery. One that no contract reads is a report that says nothing, to be kept and shown.
///
/// # Errors
/// [`CallbackRefused`]: by no contract and no secret is it the destination's, and nothing of it may be believed.
pub fn reports(
    destination: &Destination,
    tenant: &str,
    delivery: Delivery<'_>,
    secrets: &[&[u8]],
    now: Timestamp,
) -> Result<Vec<Report>, CallbackRefused> {
    let genuine = genuine(destination, delivery, secrets, now)?;
    // The same report as the contracts of several operations read it: by its own name, else by its place.
    let mut said: Vec<(Known, Vec<Reading>)> = Vec::new();
    for one in &genuine {
        let readings = one.contract.read_callbacks(delivery.body);
        for (place, reading) in readings.into_iter().enumerate() {
            let known = reading.id.clone().map_or(Known::At(place), Known::Named);
            let reading = as_reading(one.operation, reading);
            let of_others = |readings: &[Reading]| {
                let mut all = readings.iter();
                all.all(|other| other.operation != reading.operation)
            };
            let mut earlier = said.iter_mut();
            match earlier.find(|(other, readings)| *other == known && of_others(readings)) {
                Some((_, readings)) => readings.push(reading),
                None => said.push((known, vec![reading])),
            }
        }
    }
    if said.is_empty() {
        said.push((Known::At(0), Vec::new()));
    }
    let site = Site {
        tenant: tenant.to_owned(),
        destination: destination.name.clone(),
    };
    let signed_id = genuine.iter().find_map(|one| one.id.as_deref());
    let excerpt = &delivery.body[..delivery.body.len().min(EXCERPT_MAX)];
    let reports = said.into_iter().map(|(known, readings)| Report {
        id: report_id(&site, &known, signed_id, delivery.body, &readings),
        site: site.clone(),
        readings,
        body: excerpt.to_vec(),
    });
    Ok(reports.collect())
}

/// By what repetitions of a report are known.
#[derive(PartialEq, Eq)]
enum Known {
    /// Its own name.
    Named(String),
    /// Its place in the delivery.
    At(usize),
}

/// Operations by whose contract, under any of the secrets, the delivery is the destination's.
fn genuine<'a>(
    destination: &'a Destination,
    delivery: Delivery<'_>,
    secrets: &[&[u8]],
    now: Timestamp,
) -> Result<Vec<Genuine<'a>>, CallbackRefused> {
    let mut refused = CallbackRefused::NoSignature;
    let mut genuine = Vec::new();
    for (operation, own) in &destination.operations {
        let Some(contract) = own.contract.as_ref().map(|own| own.contract.as_ref()) else {
            continue;
        };
        if contract.callback_scheme().is_none() {
            continue;
        }
        for secret in secrets {
            match contract.verify_callback_at(
                delivery.url,
                delivery.headers,
                delivery.body,
                secret,
                now,
            ) {
                Ok(verified) => {
                    let id = verified.id.filter(|_| verified.id_is_signed);
                    genuine.push(Genuine {
                        operation,
                        contract,
                        id,
                    });
                    break;
                }
                Err(why) => refused = why,
            }
        }
    }
    if genuine.is_empty() {
        return Err(refused);
    }
    Ok(genuine)
}

fn as_reading(operation: &str, reading: CallbackReading) -> Reading {
    let names = reading.matches.into_iter().map(|mark| match mark {
        CallbackMatch::Reference(text) => Name::Reference(text),
        CallbackMatch::Key(text) => Name::Key(text),
        CallbackMatch::Object(text) => Name::Object(text),
        CallbackMatch::Receipt(text) => Name::Receipt(text),
    });
    Reading {
        operation: operation.to_owned(),
        names: names.collect(),
        callback: reading.callback,
    }
}

/// Equal in every repetition: by the report's own name, else by the signed name of its delivery, else by the body. What it
/// says goes in too, so that a contract that takes an object's name for the report's loses nothing.
fn report_id(
    site: &Site,
    known: &Known,
    delivery: Option<&str>,
    body: &[u8],
    readings: &[Reading],
) -> ReportId {
    let mut parts: Vec<&[u8]> = vec![site.tenant.as_bytes(), site.destination.as_bytes()];
    let place;
    match (known, delivery) {
        (Known::Named(id), _) => parts.extend([b"own", id.as_bytes()]),
        (Known::At(at), named) => {
            place = at.to_string();
            let (kind, text): (&[u8], _) =
                named.map_or((b"body", body), |id| (b"delivery", id.as_bytes()));
            parts.extend([kind, text, place.as_bytes()]);
        }
    }
    for reading in readings {
        parts.push(reading.operation.as_bytes());
        for name in &reading.names {
            parts.extend(match name {
                Name::Reference(text) => [&b"reference"[..], text.as_bytes()],
                Name::Key(text) => [&b"key"[..], text.as_bytes()],
                Name::Object(text) => [&b"object"[..], text.as_bytes()],
                Name::Receipt(text) => [&b"receipt"[..], text.as_bytes()],
            });
        }
        match &reading.callback {
            Callback::Positive(receipt) => {
                parts.extend([&b"positive"[..], receipt.reference.as_bytes()]);
                parts.extend(receipt.aliases.iter().map(String::as_bytes));
            }
            Callback::Negative { object, why } => {
                parts.extend([&b"negative"[..], object.as_bytes(), why.as_bytes()]);
            }
            Callback::Reversed { why } => parts.extend([&b"reversed"[..], why.as_bytes()]),
        }
    }
    let mut hash = blake3::Hasher::new_derive_key("factum 2026 callback report");
    for part in parts {
        // Length first, so that no two lists of parts hash alike.
        hash.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hash.finalize().as_bytes()[..16]);
    ReportId(id)
}
