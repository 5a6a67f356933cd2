//! What would be sent, as what it is: a ticket with its title, a mail with its subject and readers, a message as somebody will read it, a
//! payment with its amount. It is read out of the very bytes that would be sent, by what members are called; whatever is not recognised is
//! listed by its place, so that nothing is left out. The bytes themselves stand below it.

use serde_json::Value;

/// Members beyond this are counted, and not listed: the bytes show them.
const REST_MAX: usize = 40;

/// How a proposal is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Something with a title that people work on.
    Ticket,
    /// A letter with a subject and readers.
    Mail,
    /// A text in a channel, or to a telephone.
    Message,
    /// Money that moves.
    Money,
    /// Anything else.
    Other,
}

impl Form {
    /// By what a contract calls the effect.
    pub(super) fn of(kind: Option<&str>) -> Self {
        match kind.unwrap_or_default() {
            "ticket" | "issue" | "incident" => Self::Ticket,
            "mail" => Self::Mail,
            "message" | "sms" | "comment" => Self::Message,
            "payment" | "charge" | "refund" | "transfer" | "payout" | "invoice" => Self::Money,
            _ => Self::Other,
        }
    }

    /// The word for it in the style sheet.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Mail => "mail",
            Self::Message => "message",
            Self::Money => "money",
            Self::Other => "other",
        }
    }
}

/// A request as people read it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) to: Vec<String>,
    pub(super) from: Vec<String>,
    pub(super) heading: Option<String>,
    pub(super) text: Vec<String>,
    /// What is left, by its place.
    pub(super) rest: Vec<(String, String)>,
    pub(super) more: usize,
}

/// What a member is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    To,
    From,
    Heading,
    Text,
}

const TO: &[&str] = &[
    "to",
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "channel",
    "channelid",
    "room",
    "roomid",
    "chatid",
    "phone",
    "torecipients",
    "ccrecipients",
];
const FROM: &[&str] = &["from", "sender", "fromaddress", "reply_to", "replyto"];
const HEADINGS: &[&str] = &["subject", "title", "summary"];
const TEXTS: &[&str] = &[
    "text",
    "textbody",
    "htmlbody",
    "body",
    "html",
    "content",
    "message",
    "description",
    "comment",
    "markdown",
    "plainbody",
];

impl Role {
    /// By the names on the way to a member, the nearest last.
    fn of(path: &[String]) -> Option<Self> {
        let plain = |name: &String| name.replace(['_', '-'], "").to_lowercase();
        let names: Vec<String> = path
            .iter()
            .filter(|name| name.parse::<usize>().is_err())
            .map(plain)
            .collect();
        let any = |known: &[&str]| names.iter().any(|name| known.contains(&name.as_str()));
        let last = names.last()?.as_str();
        if any(TO) {
            Some(Self::To)
        } else if any(FROM) {
            Some(Self::From)
        } else if HEADINGS.contains(&last) {
            Some(Self::Heading)
        } else if TEXTS.contains(&last) || (last == "value" && any(TEXTS)) {
            Some(Self::Text)
        } else {
            None
        }
    }
}

impl Draft {
    /// Of a body: JSON, or the pairs of a form. None where it is neither.
    pub(super) fn read(body: &str, media_type: &str) -> Option<Self> {
        let mut leaves = Vec::new();
        if media_type.starts_with("application/x-www-form-urlencoded") {
            let pairs = form_urlencoded::parse(body.as_bytes());
            leaves.extend(pairs.map(|(name, value)| (bracketed(&name), value.into_owned())));
        } else {
            let value: Value = serde_json::from_str(body).ok()?;
            walk(&value, &mut Vec::new(), &mut leaves);
        }
        let mut draft = Self::default();
        for (path, value) in leaves {
            match Role::of(&path) {
                Some(Role::To) => draft.to.push(value),
                Some(Role::From) => draft.from.push(value),
                Some(Role::Heading) if draft.heading.is_none() => draft.heading = Some(value),
                Some(Role::Text) => draft.text.push(value),
                Some(Role::Heading) | None if draft.rest.len() < REST_MAX => {
                    draft.rest.push((path.join(" › "), value));
                }
                Some(Role::Heading) | None => draft.more += 1,
            }
        }
        Some(draft)
    }
}

/// `metadata[order]` as its names.
fn bracketed(name: &str) -> Vec<String> {
    let parts = name.split(['[', ']']).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn walk(value: &Value, path: &mut Vec<String>, into: &mut Vec<(Vec<String>, String)>) {
    let mut leaf = |text: String| into.push((path.clone(), text));
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                path.push(name.clone());
                walk(member, path, into);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push(place.to_string());
                walk(item, path, into);
                path.pop();
            }
        }
        Value::String(text) => leaf(text.clone()),
        Value::Number(number) => leaf(number.to_string()),
        Value::Bool(yes) => leaf(yes.to_string()),
        Value::Null => leaf("null".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "application/json";

    #[test]
    fn a_ticket_a_mail_a_message_and_a_payment_are_read_as_such() {
        let ticket =
            r#"{"ticket":{"subject":"Printer","comment":{"body":"It burns"},"priority":"high"}}"#;
        let draft = Draft::read(ticket, JSON).unwrap();
        assert_eq!(draft.heading.as_deref(), Some("Printer"));
        assert_eq!(draft.text, ["It burns"]);
        assert_eq!(
            draft.rest,
            [("ticket › priority".to_owned(), "high".to_owned())]
        );

        let mail = r#"{"personalizations":[{"to":[{"email":"a@x"},{"email":"b@x"}]}],"from":{"email":"c@x"},"subject":"Hi","content":[{"type":"text/plain","value":"Hello"}]}"#;
        let draft = Draft::read(mail, JSON).unwrap();
        assert_eq!((draft.to.len(), draft.from.len()), (2, 1));
        assert_eq!(
            (draft.heading.as_deref(), draft.text),
            (Some("Hi"), vec!["Hello".to_owned()])
        );

        let message = Draft::read(r#"{"channel":"C1","text":"2.1 is out"}"#, JSON).unwrap();
        assert_eq!(
            (message.to, message.text),
            (vec!["C1".to_owned()], vec!["2.1 is out".to_owned()])
        );

        let form = "amount=1999&currency=eur&metadata%5Border%5D=77";
        let money = Draft::read(form, "application/x-www-form-urlencoded").unwrap();
        assert_eq!(
            money.rest[2],
            ("metadata › order".to_owned(), "77".to_owned())
        );
    }

    #[test]
    fn nothing_is_left_out() {
        let many: Vec<String> = (0..60).map(|n| format!("\"m{n}\":{n}")).collect();
        let draft = Draft::read(&format!("{{{}}}", many.join(",")), JSON).unwrap();
        assert_eq!(draft.rest.len() + draft.more, 60);
        let twice = Draft::read(r#"{"title":"a","subject":"b"}"#, JSON).unwrap();
        assert_eq!(twice.rest.len(), 1, "a second heading is listed");
        assert_eq!(Draft::read("<xml/>", "text/xml"), None);
        let exact = Draft::read(r#"{"amount":120.00}"#, JSON).unwrap();
        assert_eq!(
            exact.rest[0].1, "120.00",
            "numbers stay as they are written"
        );
    }
}
