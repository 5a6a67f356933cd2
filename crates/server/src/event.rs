//! In which form a submission comes: by itself, or as a CloudEvent in the structured or the binary mode of the HTTP binding.

use axum::http::{HeaderMap, header};
use factum::cloud_event::{self, header_value};
use factum::{Code, Submission};

use crate::reply::Failure;

/// The media type of an event in the JSON format.
pub(crate) const STRUCTURED: &str = "application/cloudevents+json";

/// How it comes.
pub(crate) enum Form {
    /// The body is the submission.
    Plain,
    /// The body is the event, and its data the submission.
    Structured,
    /// The event's attributes are headers, decoded here, and the body is the submission.
    Binary(Vec<(String, String)>),
}

impl Form {
    /// As the headers say. An event is taken as one where any attribute that every event has is there, so that one that lost a header on
    /// its way is not taken as something else.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Failure> {
        let kind = headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        if essence == STRUCTURED {
            return Ok(Self::Structured);
        }
        if essence.starts_with("application/cloudevents") {
            let rule = format!("CloudEvents are not taken as {essence:?}");
            let remedy = format!("send each event by itself, as {STRUCTURED} or in binary mode");
            return Err(Failure::new(
                Code::WrongMediaType,
                "Content-Type",
                rule,
                remedy,
            ));
        }
        let is_event = cloud_event::REQUIRED
            .iter()
            .any(|name| headers.contains_key(format!("ce-{name}")));
        if !is_event {
            return Ok(Self::Plain);
        }
        let mut attributes = Vec::new();
        for (name, value) in headers {
            let Some(attribute) = name.as_str().strip_prefix("ce-") else {
                continue;
            };
            let read = value
                .to_str()
                .map_err(|_| "it holds bytes beyond ASCII")
                .and_then(header_value);
            let value = read.map_err(|why| {
                let remedy = "percent-encode it as the HTTP binding of CloudEvents says";
                Failure::new(Code::WrongType, name.as_str(), why, remedy)
            })?;
            attributes.push((attribute.to_owned(), value));
        }
        Ok(Self::Binary(attributes))
    }

    /// The submission in a body.
    pub(crate) fn read(&self, body: &str) -> Result<Submission, Failure> {
        let read = match self {
            Self::Plain => Submission::from_json(body),
            Self::Structured => cloud_event::of_json(body),
            Self::Binary(attributes) => cloud_event::of_headers(attributes, body),
        };
        Ok(read?)
    }

    /// Where the sender finds what a problem is about.
    pub(crate) fn at(&self, failure: Failure) -> Failure {
        let structured = match self {
            Self::Plain => return failure,
            Self::Structured => true,
            Self::Binary(_) => false,
        };
        match failure {
            Failure::Problem(problem) => cloud_event::within_event(*problem, structured).into(),
            told @ (Failure::WrongMethod(..) | Failure::HeldOff(..)) => told,
        }
    }
}
