//! Rows as OTLP writes them in JSON (`ExportTraceServiceRequest`): ids in hex, times in nanoseconds as text.

use serde_json::{Value, json};

use super::Row;

/// What stands in a row for its place and is no attribute.
const PLACES: &[&str] = &["trace", "link_trace", "link_action"];

/// Kinds of spans.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;

/// The body of a request with these rows.
pub(super) fn body(service: &str, rows: &[Row]) -> String {
    let spans: Vec<Value> = rows.iter().map(span).collect();
    let resource = [
        attribute("service.name", service),
        attribute("service.version", env!("CARGO_PKG_VERSION")),
    ];
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "factum"}, "spans": spans}],
    }]});
    body.to_string()
}

fn span(row: &Row) -> Value {
    let place = row.place();
    let told = row.fields.iter().filter(|(name, _)| !PLACES.contains(name));
    let attributes: Vec<Value> = told
        .map(|(name, value)| attribute(&format!("factum.{name}"), value))
        .collect();
    let kind = match row.name {
        "send" | "look_up" | "poll" => CLIENT,
        _ => INTERNAL,
    };
    let mut span = json!({
        "traceId": place.trace, "spanId": place.span, "name": row.name, "kind": kind,
        "startTimeUnixNano": nanos(row.times.0), "endTimeUnixNano": nanos(row.times.1), "attributes": attributes,
    });
    if let Some(parent) = place.parent {
        span["parentSpanId"] = parent.into();
    }
    if let Some((trace, first)) = row.link() {
        span["links"] = json!([{"traceId": trace, "spanId": first}]);
    }
    span
}

fn attribute(name: &str, value: &str) -> Value {
    json!({"key": name, "value": {"stringValue": value}})
}

fn nanos(micros: i64) -> String {
    format!("{micros}000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_as_the_protocol_has_it() {
        let row = Row {
            name: "send",
            times: (1_000_000, 1_250_000),
            fields: vec![("destination", "desk".to_owned()), ("trace", String::new())],
            drawn: (1, 2, 3),
        };
        let written: Value = serde_json::from_str(&body("shop", &[row])).unwrap();
        let group = &written["resourceSpans"][0];
        let expected = json!({
            "traceId": "00000000000000010000000000000002", "spanId": "0000000000000003", "name": "send", "kind": 3,
            "startTimeUnixNano": "1000000000", "endTimeUnixNano": "1250000000",
            "attributes": [{"key": "factum.destination", "value": {"stringValue": "desk"}}],
        });
        assert_eq!(group["scopeSpans"][0]["spans"][0], expected);
        let service = json!({"key": "service.name", "value": {"stringValue": "shop"}});
        assert_eq!(group["resource"]["attributes"][0], service);
    }
}
