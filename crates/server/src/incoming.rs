//! A request as a call sees it: its path, its query, its headers and its body, each read strictly and within bounds.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header;
use axum::http::request::Parts;
use factum::statements::{Audience, Locale, Reader};
use factum::{ActionId, Caller, Code, Record, read_object};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::app::{App, Shown};
use crate::call::Call;
use crate::limits::Limits;
use crate::query::Query;
use crate::reply::Failure;

/// How much of a body that is too large is read and thrown away, so that its sender gets to read the answer.
const DISCARDED_MAX: usize = 8 * 1024 * 1024;
/// How long the next piece of such a body is waited for.
const DISCARD_WAIT: std::time::Duration = std::time::Duration::from_millis(200);

/// A request that may be answered.
pub(crate) struct Incoming {
    pub(crate) call: Call,
    pub(crate) caller: Caller,
    pub(crate) shown: Shown,
    pub(crate) query: Query,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) parts: Parts,
    pub(crate) body: Body,
    pub(crate) limits: Limits,
}

impl Incoming {
    /// A parameter of the path.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.params
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    /// Who reads what is answered, and in which language.
    pub(crate) fn reader(&self) -> Reader {
        let accepted = self.parts.headers.get(header::ACCEPT_LANGUAGE);
        Reader {
            audience: (self.query.text("audience"))
                .and_then(Audience::from_name)
                .unwrap_or_default(),
            locale: self.query.text("locale").and_then(Locale::of),
            accepts: accepted
                .and_then(|value| value.to_str().ok())
                .and_then(Locale::accepted),
        }
    }

    /// The action that the path names.
    pub(crate) fn action(&self) -> Result<ActionId, Failure> {
        self.param("id").parse().map_err(|error: factum::core::id::BadId| {
            let remedy = "send the id from the answer to the submission, or search: GET /v1/actions?key=…";
            Failure::new(Code::UnknownAction, "", error.to_string(), remedy)
        })
    }

    /// The action that the path names, if the caller may see it: one of somebody else is answered like one that there is not.
    pub(crate) fn visible<'a>(
        &self,
        app: &'a App,
    ) -> impl Future<Output = Result<Record, Failure>> + Send + use<'a> {
        let (id, caller) = (self.action(), self.caller.clone());
        async move { Ok(app.factum().engine().load_for(&caller, id?).await?) }
    }

    /// The body as JSON text.
    pub(crate) async fn text(&mut self) -> Result<String, Failure> {
        text(&self.parts.headers, &mut self.body, self.limits).await
    }

    /// The body, read as what the call takes.
    pub(crate) async fn json<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        read_json(&self.text().await?)
    }

    /// The same, where these members have to be objects: a list would be read as their members in order.
    pub(crate) async fn json_with<T: DeserializeOwned>(
        &mut self,
        objects: &[&str],
    ) -> Result<T, Failure> {
        Ok(read_object(&self.text().await?, objects)?)
    }

    /// The same, where no body means that nothing was said.
    pub(crate) async fn json_or_default<T: DeserializeOwned + Default>(
        &mut self,
    ) -> Result<T, Failure> {
        let text = self.text().await?;
        if text.trim().is_empty() {
            Ok(T::default())
        } else {
            read_json(&text)
        }
    }

    /// The body as it came.
    pub(crate) async fn bytes(&mut self) -> Result<Vec<u8>, Failure> {
        bytes(&self.parts.headers, &mut self.body, self.limits).await
    }
}

/// A body as JSON text.
pub(crate) async fn text(
    headers: &HeaderMap,
    body: &mut Body,
    limits: Limits,
) -> Result<String, Failure> {
    media_type(headers)?;
    let bytes = bytes(headers, body, limits).await?;
    String::from_utf8(bytes).map_err(|error| {
        let rule = format!(
            "JSON is UTF-8; byte {} is not",
            error.utf8_error().valid_up_to()
        );
        Failure::new(
            Code::MalformedJson,
            "",
            rule,
            "send one JSON object in UTF-8 (RFC 8259)",
        )
    })
}

pub(crate) async fn bytes(
    headers: &HeaderMap,
    body: &mut Body,
    limits: Limits,
) -> Result<Vec<u8>, Failure> {
    let Limits {
        body_max,
        body_wait,
        ..
    } = limits;
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let declared = declared
        .and_then(|value| value.parse::<usize>().ok())
        .unwrap_or(0);
    if declared > body_max {
        return too_large(headers, body, body_max).await;
    }
    let mut bytes = Vec::with_capacity(declared);
    let whole = timeout(body_wait, async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let rule = format!("the body ended early: {error}");
                Failure::new(Code::MalformedJson, "", rule, "send the whole body")
            })?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > body_max {
                return Ok(false);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(true)
    });
    match whole.await {
        Ok(Ok(true)) => Ok(bytes),
        Ok(Ok(false)) => too_large(headers, body, body_max).await,
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(Failure::too_slow()),
    }
}

/// Refuses the body. A caller that waits for leave to send it gets none; one that sends it already is let to finish within
/// bounds, since it would otherwise see a broken connection and no answer.
async fn too_large<T>(headers: &HeaderMap, body: &mut Body, body_max: usize) -> Result<T, Failure> {
    if !headers.contains_key(header::EXPECT) {
        let mut discarded = 0;
        while discarded < DISCARDED_MAX {
            let Ok(Some(Ok(frame))) = timeout(DISCARD_WAIT, body.frame()).await else {
                break;
            };
            discarded += frame.data_ref().map_or(0, axum::body::Bytes::len);
        }
    }
    let rule = format!("the body has more than {body_max} bytes");
    Err(Failure::new(
        Code::TooLarge,
        "",
        rule,
        "send less, or raise server.body_max_bytes",
    ))
}

/// JSON, or nothing said about it.
fn media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let is_json = essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    if is_json && charset.is_none_or(|charset| charset.trim_matches('"') == "utf-8") {
        return Ok(());
    }
    let rule = format!("the header Content-Type says {text:?}");
    Err(Failure::new(
        Code::WrongMediaType,
        "Content-Type",
        rule,
        "send JSON in UTF-8 as application/json",
    ))
}

fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    Ok(read_object(text, &[])?)
}

/// Who does something, where the body may say so: else the principal whose token it is. What the holder of a token that was made for
/// somebody says of others is recorded as said by them.
pub(crate) fn person(caller: &Caller, by: Option<String>) -> Result<String, Failure> {
    let principal = &caller.principal;
    match by {
        None => Ok(principal.clone()),
        Some(by) => {
            let by = said("/by", by, 200)?;
            if caller.token.is_none() || by == *principal {
                Ok(by)
            } else {
                Ok(format!("{by}, as {principal} says"))
            }
        }
    }
}

/// By what somebody is known who does something: two sayings under one token are one person's, whatever names they give.
pub(crate) fn who<'a>(caller: &'a Caller, by: &'a str) -> &'a str {
    if caller.token.is_none() {
        by
    } else {
        &caller.principal
    }
}

/// A text in a person's words, within bounds.
pub(crate) fn said(member: &str, text: String, characters_max: usize) -> Result<String, Failure> {
    let rule = if text.trim().is_empty() {
        "it is empty".to_owned()
    } else if text.chars().count() > characters_max {
        format!("it is longer than {characters_max} characters")
    } else if text.chars().any(|c| c.is_control() && c != '\n') {
        "it holds control characters".to_owned()
    } else {
        return Ok(text);
    };
    Err(Failure::new(
        Code::WrongType,
        member,
        rule,
        "say it in a few words",
    ))
}
