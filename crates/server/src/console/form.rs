//! What a form sends, and what stands in an address: pairs of a name and a text.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Uri, header};
use factum::core::Timestamp;
use factum::{Code, parse_instant};
use multer::Multipart;

use crate::incoming::said;
use crate::reply::Failure;

/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";
/// And of those with a file.
const FORM_WITH_FILES: &str = "multipart/form-data";

fn unread(member: &str, why: &dyn std::error::Error) -> Failure {
    let remedy = "send texts in UTF-8; a spreadsheet saves a list as \"CSV UTF-8\"";
    let rule = format!("the form cannot be read: {why}");
    Failure::new(Code::WrongType, member, rule, remedy)
}

/// Pairs, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// Of an address.
    pub(super) fn of_query(uri: &Uri) -> Self {
        Self::read(uri.query().unwrap_or_default().as_bytes())
    }

    /// Of a form's body, with files or without. Other media types could be sent by a page of another site without its browser asking
    /// here first.
    pub(super) async fn of_body(headers: &HeaderMap, bytes: Bytes) -> Result<Self, Failure> {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        if let Ok(boundary) = multer::parse_boundary(kind) {
            return Self::of_parts(bytes, boundary).await;
        }
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case(FORM) {
            return Ok(Self::read(&bytes));
        }
        let rule = format!("a form is sent as {FORM} or {FORM_WITH_FILES}, not as {essence:?}");
        let remedy = "use the console's own form, or the HTTP API under /v1";
        Err(Failure::new(
            Code::WrongMediaType,
            "Content-Type",
            rule,
            remedy,
        ))
    }

    /// Files are texts here: what is no UTF-8 is no text.
    async fn of_parts(bytes: Bytes, boundary: String) -> Result<Self, Failure> {
        let mut parts = Multipart::new(Body::from(bytes).into_data_stream(), boundary);
        let mut pairs = Vec::new();
        while let Some(part) = parts.next_field().await.map_err(|why| unread("", &why))? {
            let name = part.name().unwrap_or_default().to_owned();
            let member = format!("/{name}");
            let value = part.bytes().await.map_err(|why| unread(&member, &why))?;
            let value = String::from_utf8(value.into()).map_err(|why| unread(&member, &why))?;
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// Of a text that is written like a form.
    pub(super) fn of_text(text: &str) -> Self {
        Self::read(text.as_bytes())
    }

    fn read(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// The text of a name; none where it is missing or blank.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// All texts of a name.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A text in a person's words, within bounds. Browsers end lines as typewriters did.
    pub(super) fn said(&self, name: &str, characters_max: usize) -> Result<String, Failure> {
        let text = self.text(name).unwrap_or_default().replace("\r\n", "\n");
        said(&format!("/{name}"), text, characters_max)
    }

    /// An instant as a field for it has it, in UTC, or with its zone; none where nothing is said.
    pub(super) fn instant(&self, name: &str) -> Result<Option<Timestamp>, Failure> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        // Fields leave seconds out where there are none.
        let whole = if text.len() == "2026-11-30T09:00".len() {
            format!("{text}:00Z")
        } else if text.contains('Z') || text.get(11..).is_some_and(|time| time.contains(['+', '-']))
        {
            text.to_owned()
        } else {
            format!("{text}Z")
        };
        Ok(Some(parse_instant(&format!("/{name}"), &whole)?))
    }

    /// A whole number; none where nothing is said.
    pub(super) fn whole(&self, name: &str) -> Result<Option<u64>, Failure> {
        let text = self.text(name);
        let read = text.map(|text| {
            text.parse().map_err(|_| {
                let rule = format!("{text:?} is no whole number");
                let remedy = "write digits alone";
                Failure::new(Code::WrongType, &format!("/{name}"), rule, remedy)
            })
        });
        read.transpose()
    }

    /// The same as an address's query, with one text put in place of what it had.
    pub(super) fn with(&self, name: &str, value: &str) -> String {
        let kept = self.0.iter().filter(|(known, _)| known != name);
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept.map(|(name, value)| (name.as_str(), value.as_str())))
            .append_pair(name, value)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        Form::read(text.as_bytes())
    }

    #[test]
    fn blank_is_missing_and_lines_end_as_ours() {
        let form = form("a=+&b=x%0D%0Ay&b=z&c=%F0%9F%8E%AB");
        assert_eq!((form.text("a"), form.text("d")), (None, None));
        assert_eq!(form.said("b", 10).unwrap(), "x\ny");
        assert_eq!(form.all("b").count(), 2);
        assert_eq!(form.text("c"), Some("🎫"));
        assert!(form.said("a", 10).is_err() && form.said("b", 2).is_err());
    }

    #[test]
    fn instants_and_numbers_are_read_as_fields_have_them() {
        let at = |text: &str| {
            let form = Form(vec![("from".to_owned(), text.to_owned())]);
            let at = form.instant("from");
            at.map(|at| at.map(factum::view::rfc3339)).map_err(|_| ())
        };
        let wanted = at("2026-11-30T09:00:00Z");
        assert!(matches!(wanted, Ok(Some(_))));
        for text in [
            "2026-11-30T09:00",
            "2026-11-30T09:00:00",
            "2026-11-30T10:00:00+01:00",
        ] {
            assert_eq!(at(text), wanted, "{text}");
        }
        assert_eq!((at(""), at("soon")), (Ok(None), Err(())));
        assert_eq!(form("n=7").whole("n").unwrap(), Some(7));
        assert!(form("n=-7").whole("n").is_err() && form("n=").whole("n").unwrap().is_none());
    }

    #[test]
    fn an_address_is_written_as_it_is_read() {
        let next = form("q=a%26b&before=x").with("before", "act 1");
        assert_eq!(next, "q=a%26b&before=act+1");
    }

    async fn sent(kind: &str, body: &'static str) -> Result<Form, Failure> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
        Form::of_body(&headers, Bytes::from(body)).await
    }

    #[tokio::test]
    async fn only_forms_are_read_as_forms() {
        for (kind, right) in [
            (FORM, true),
            ("application/x-www-form-urlencoded; charset=UTF-8", true),
            ("text/plain", false),
            ("application/json", false),
            ("multipart/form-data", false),
        ] {
            assert_eq!(sent(kind, "a=b").await.is_ok(), right, "{kind}");
        }
        let bare = Form::of_body(&HeaderMap::new(), Bytes::from("a=b")).await;
        assert!(bare.is_err());
    }

    #[tokio::test]
    async fn a_file_is_a_text_among_the_others() {
        let kind = "multipart/form-data; boundary=x";
        let body = "--x\r\nContent-Disposition: form-data; name=\"form\"\r\n\r\nsecret\r\n--x\r\n\
                    Content-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\nid\n1\n\r\n--x--\r\n";
        let form = sent(kind, body).await.unwrap();
        assert_eq!(
            (form.text("form"), form.text("file")),
            (Some("secret"), Some("id\n1"))
        );
        let cut = body.get(..100).unwrap();
        assert!(sent(kind, cut).await.is_err());
    }
}
