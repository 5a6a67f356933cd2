//! What a destination delivers to us, or shows in its feed of events: whether it is the destination's, and what it says. Pure: the
//! store's time and the secrets are handed in, and nothing is recorded here.

use std::collections::BTreeMap;

use factum_contract::{CallbackMatch, CallbackReading, CallbackRefused, Contract, EventsPage};
use factum_core::evidence::Callback;
use factum_core::{Span, Timestamp};
use factum_store::{Name, Reading, Report, ReportId, Site};

use crate::destination::Destination;

/// How long reports are kept: unmatched ones may still find their action, and repeated ones are known.
pub(crate) const KEPT: Span = Span::from_secs(30 * 86_400);

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
    let mut said = Vec::new();
    for one in &genuine {
        let readings = one.contract.read_callbacks(delivery.body);
        for (place, reading) in readings.into_iter().enumerate() {
            add(&mut said, one.operation, place, reading);
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

/// The reports in a page of a destination's events, as the contracts of its operations read it. Its items are known by their own
/// names, else by what stands in them: their places change from one reading to the next.
#[must_use]
pub fn event_reports(site: &Site, pages: &[(&str, EventsPage)]) -> Vec<Report> {
    let mut said = Vec::new();
    let mut texts = BTreeMap::new();
    for (operation, page) in pages {
        for event in &page.events {
            let at = add(&mut said, operation, event.place, event.reading.clone());
            texts.entry(at).or_insert(event.text.as_bytes());
        }
    }
    let reports = said.into_iter().enumerate().map(|(at, (known, readings))| {
        let text = texts.get(&at).copied().unwrap_or_default();
        let known = match known {
            Known::Named(id) => Known::Named(id),
            Known::At(_) => Known::At(0),
        };
        Report {
            id: report_id(site, &known, None, text, &readings),
            site: site.clone(),
            readings,
            body: text[..text.len().min(EXCERPT_MAX)].to_vec(),
        }
    });
    reports.collect()
}

/// Adds what the contract of an operation reads to the same report as the others read it: by its own name, else by its place.
/// Gives where that is in the list.
fn add(
    said: &mut Vec<(Known, Vec<Reading>)>,
    operation: &str,
    place: usize,
    reading: CallbackReading,
) -> usize {
    let known = reading.id.clone().map_or(Known::At(place), Known::Named);
    let reading = as_reading(operation, reading);
    let of_others = |readings: &[Reading]| {
        let mut all = readings.iter();
        all.all(|other| other.operation != reading.operation)
    };
    let same = |(other, readings): &(Known, Vec<Reading>)| *other == known && of_others(readings);
    match said.iter().position(same) {
        Some(at) => {
            said[at].1.push(reading);
            at
        }
        None => {
            said.push((known, vec![reading]));
            said.len() - 1
        }
    }
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

#[cfg(test)]
mod tests {
    use factum_contract::EventReading;
    use factum_core::evidence::Receipt;

    use super::*;

    fn event(place: usize, id: Option<&str>, reference: &str) -> EventReading {
        EventReading {
            place,
            text: format!("{{\"ref\":\"{reference}\"}}"),
            reading: CallbackReading {
                id: id.map(str::to_owned),
                matches: vec![CallbackMatch::Reference(reference.to_owned())],
                callback: Callback::Positive(Receipt::new("T-1")),
            },
        }
    }

    fn read(pages: &[(&str, Vec<EventReading>)]) -> Vec<Report> {
        let site = Site {
            tenant: "default".to_owned(),
            destination: "desk".to_owned(),
        };
        let pages: Vec<_> = pages
            .iter()
            .map(|(operation, events)| {
                let page = EventsPage {
                    items: events.len(),
                    events: events.clone(),
                    next: None,
                };
                (*operation, page)
            })
            .collect();
        event_reports(&site, &pages)
    }

    #[test]
    fn what_several_operations_read_in_one_event_is_one_report() {
        let own = vec![event(0, Some("e1"), "a"), event(1, None, "b")];
        let reports = read(&[("create", own.clone()), ("refund", own)]);
        assert_eq!(reports.len(), 2);
        for report in &reports {
            let operations: Vec<_> = report.readings.iter().map(|r| &*r.operation).collect();
            assert_eq!(operations, ["create", "refund"]);
        }
        assert_eq!(reports[1].body, b"{\"ref\":\"b\"}");
    }

    #[test]
    fn an_event_without_a_name_is_known_by_what_stands_in_it_wherever_that_is() {
        let first = read(&[("create", vec![event(0, None, "a"), event(1, None, "b")])]);
        let again = read(&[("create", vec![event(0, None, "b"), event(1, None, "c")])]);
        assert_eq!(first[1].id, again[0].id);
        assert_ne!(first[0].id, first[1].id);
        assert_ne!(again[0].id, again[1].id);
    }
}
