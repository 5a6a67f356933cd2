//! The key that the destination recognises, or at least takes as a name, and the reference that we write into it.

use crate::claims::Claims;
use crate::contract::Contract;
use crate::effect::{self, Effect};
use crate::finding::Complaint;
use crate::form::{Alphabet, Form, Purpose};
use crate::parts::{self, optional};
use crate::pointer::Pointer;
use crate::repeat::Repeat;
use crate::shape::Shape;
use crate::source::{Node, Section, Word};
use crate::template::Template;

/// The section `[key]`: where the key goes and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) place: Place,
    pub(crate) form: Form,
    pub(crate) role: Role,
    /// Without these the destination does not look at the key.
    pub(crate) companions: Companions,
    /// What a repeat gets; none where the key is only a name.
    pub(crate) repeat: Option<Repeat>,
}

/// What our key is to the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A key for repeats, beside the content.
    Key,
    /// The name of what is made: a repeat meets it.
    ResourceId,
    /// The name of what is made or changed: a repeat sets it once more.
    Upsert,
}

impl Word for Role {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("key", Self::Key),
        ("resource_id", Self::ResourceId),
        ("upsert", Self::Upsert),
    ];
}

/// Headers and members that go with the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Companions {
    pub(crate) headers: Vec<(String, Template)>,
    pub(crate) set: Vec<(Pointer, Shape)>,
}

/// Where the key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A header, bare or as a quoted string of RFC 8941.
    Header { name: String, quoted: bool },
    /// A member of the body, and the word for it there: `member`, `field` or `variable`.
    Member { at: Pointer, word: &'static str },
    /// A member of the only item of a batch.
    Item { list: Pointer, at: Pointer },
    /// A parameter of the query.
    Query(String),
    /// The argument of a GraphQL directive.
    Directive(String),
    /// Where `{key}` stands in the path.
    Path,
    /// Members of the payload that are the key together: nothing is added.
    Given(Vec<Pointer>),
}

/// What two intents are told apart by at least, where the destination leaves the choice to us.
const BITS_WANTED: usize = 128;
/// With fewer bits than these, two intents can meet by accident.
const BITS_NEEDED: usize = 64;

impl Key {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        let place = section.need("place").and_then(|node| place(&node));
        let form = form(section, Purpose::Key);
        let role = section.get("role").map_or(Some(Role::Key), |n| n.word());
        let companions = match section.get("companions") {
            Some(node) => Companions::read(&node.section()?),
            None => Some(Companions::default()),
        };
        let repeat = optional(section.get("repeat"), |node| {
            Repeat::read(node.section()?, claims)
        });
        Some(Self {
            place: place?,
            form: form?,
            role: role?,
            companions: companions?,
            repeat: repeat?,
        })
    }

    /// Whether a repeat sets what the key names once more.
    pub(crate) fn sets_again(&self) -> bool {
        self.role == Role::Upsert
    }

    /// Whether the key is one of ours; otherwise the content's own members are it.
    pub(crate) fn is_placed(&self) -> bool {
        !matches!(self.place, Place::Given(_))
    }

    /// Complains where the effect has no room for the key.
    pub(crate) fn check_place(&self, section: &Section<'_>, effect: &Effect) {
        let in_path = effect.path_names("key");
        match &self.place {
            Place::Path if !in_path => {
                let remedy = "write {key} into the path of [effect]";
                let message = "is the path, and the path has no {key}";
                section.error("place", "key_place", message, remedy);
            }
            Place::Member { word, .. } => check_word(section, effect, word),
            Place::Item { .. } if effect.body.member_word().is_none() => {
                let message = "is an item of a body that has none";
                let remedy = "write `body = \"json\"` in [effect]";
                section.error("place", "key_place", message, remedy);
            }
            Place::Given(_) if effect.body.member_word().is_none() => {
                let message = "is given by members of a body that has none";
                let remedy = "write `body = \"json\"` in [effect]";
                section.error("place", "key_place", message, remedy);
            }
            Place::Directive(name) => {
                let document = effect.body.document();
                if !document.is_some_and(|document| document.has_directive(name)) {
                    let message =
                        format!("is the directive @{name}, and the document has none with the key");
                    let remedy =
                        format!("write @{name}(key: \"<key>\") into the document of [effect]");
                    section.error("place", "key_place", message, remedy);
                }
            }
            Place::Header { name, .. } => {
                if effect.request.headers.iter().any(|(n, _)| n == name) {
                    let remedy = "leave it out of the headers of [effect]";
                    let message = format!("is the header `{name}`, which [effect] sets as well");
                    section.error("place", "key_place", message, remedy);
                }
            }
            Place::Path | Place::Item { .. } | Place::Query(_) | Place::Given(_) => {}
        }
    }
}

/// A member of a body has the name that its kind of body gives to members.
fn check_word(section: &Section<'_>, effect: &Effect, word: &str) {
    match effect.body.member_word() {
        Some(wanted) if wanted != word => {
            let message = format!("is a {word}, and the body of [effect] has none");
            let remedy = format!("write {{ {wanted} = … }}");
            section.error("place", "key_place", message, remedy);
        }
        None => {
            let remedy = "write `body = \"json\"` in [effect]";
            let message = "is a member of a body that is not JSON";
            section.error("place", "key_place", message, remedy);
        }
        Some(_) => {}
    }
}

impl Companions {
    fn read(section: &Section<'_>) -> Option<Self> {
        let headers = parts::headers(section, &COMPANION_PLACES);
        let set = effect::set(section, &COMPANION_PLACES);
        section.end();
        Some(Self { headers, set: set? })
    }
}

/// What can stand in a companion of the key.
const COMPANION_PLACES: [&str; 4] = ["key", "reference", "first_sent", "first_sent_iso"];

/// The forms of a place that are written as a table.
const PLACES: [&str; 9] = [
    "header",
    "quoted_header",
    "member",
    "field",
    "variable",
    "item",
    "query",
    "directive",
    "given",
];

fn place(node: &Node<'_>) -> Option<Place> {
    if !node.is_table() {
        return match node.text()? {
            "path" => Some(Place::Path),
            other => {
                let message = format!("does not know `{other}`");
                let remedy = format!(
                    "write \"path\", or a table with one of {}",
                    PLACES.join(", ")
                );
                node.error("unknown_word", message, remedy);
                None
            }
        };
    }
    let (form, value) = parts::choice(node, &PLACES)?;
    let member = |word| parts::exact_pointer(&value).map(|at| Place::Member { at, word });
    match form.as_str() {
        "member" => member("member"),
        "field" => member("field"),
        "variable" => member("variable"),
        "item" => item(&value),
        "query" => query_name(&value).map(Place::Query),
        "directive" => directive_name(&value).map(Place::Directive),
        "given" => {
            let members: Option<Vec<_>> =
                value.list(true)?.iter().map(parts::exact_pointer).collect();
            members.map(Place::Given)
        }
        form => {
            let name = parts::own_header_name(&value)?;
            let quoted = form == "quoted_header";
            Some(Place::Header { name, quoted })
        }
    }
}

/// `"/payments/0/idempotency_key"`: a batch is sent with one item, so that each action has an answer of its own.
fn item(node: &Node<'_>) -> Option<Place> {
    let at = parts::exact_pointer(node)?;
    let first = at.parts().iter().position(|part| part == "0");
    let Some(first) = first.filter(|first| first + 1 < at.parts().len()) else {
        let message = "does not lead into the first item of a list";
        let remedy = "write it as \"/payments/0/idempotency_key\"";
        node.error("key_place", message, remedy);
        return None;
    };
    let list = at.parent_of(first);
    Some(Place::Item { list, at })
}

/// The name of a parameter of the query, which needs no escape.
pub(crate) fn query_name(node: &Node<'_>) -> Option<String> {
    let text = node.text()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    if text.is_empty() || !text.bytes().all(plain) {
        let message = format!("`{text}` is no plain name");
        node.error("query_name", message, "use A-Z, a-z, 0-9, -, ., _ and ~");
        return None;
    }
    Some(text.to_owned())
}

fn directive_name(node: &Node<'_>) -> Option<String> {
    let text = node.text()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if text.is_empty() || !text.bytes().all(plain) {
        let message = format!("`{text}` is no name of a directive");
        node.error(
            "key_place",
            message,
            "write it without the @: \"idempotent\"",
        );
        return None;
    }
    Some(text.to_owned())
}

/// `alphabet`, `length_max` and `prefix` of a key or a reference.
pub(crate) fn form(section: &Section<'_>, purpose: Purpose) -> Option<Form> {
    let (alphabet, prefix) = (section.get("alphabet"), section.get("prefix"));
    let limit = section.get("length_max");
    let alphabet = optional(alphabet, Node::word)?.unwrap_or(Alphabet::Base32);
    let prefix = optional(prefix, self::prefix)?.unwrap_or_default();
    let usual = match purpose {
        Purpose::Key => alphabet.longest(usize::MAX),
        Purpose::Reference => alphabet.length_for(BITS_WANTED),
    };
    let length = match &limit {
        Some(node) => {
            let most = usize::try_from(node.integer_in(1, 4096)?).ok()?;
            let room = most.saturating_sub(prefix.len());
            match purpose {
                Purpose::Key => alphabet.longest(room),
                Purpose::Reference => usual.min(room),
            }
        }
        None => usual,
    };
    let form = Form {
        alphabet,
        length,
        prefix,
    };
    if let Some(node) = &limit {
        check_length(node, &form, purpose)?;
    }
    let least = optional(section.get("length_min"), |n| n.integer_in(1, 4096))?;
    let whole = form.prefix.len() + form.length;
    if least.is_some_and(|least| usize::try_from(least).is_ok_and(|least| whole < least)) {
        let message = format!("asks for more than the {whole} characters that are written");
        let remedy = "allow more characters, or choose an alphabet with fewer of them (hex)";
        section.error("length_min", "key_form", message, remedy);
        return None;
    }
    // Every character that is written is one byte, so that both ways of counting come to the same.
    optional(section.get("length_in"), Node::word::<Unit>)?;
    Some(form)
}

/// What a destination counts.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Characters,
    Bytes,
}

impl Word for Unit {
    const WORDS: &'static [(&'static str, Self)] =
        &[("characters", Self::Characters), ("bytes", Self::Bytes)];
}

fn check_length(node: &Node<'_>, form: &Form, purpose: Purpose) -> Option<()> {
    if form.alphabet == Alphabet::Uuid {
        if form.length < 36 {
            let message = "leaves no room for a UUID of 36 characters";
            node.error("key_form", message, "allow 36, or choose another alphabet");
            return None;
        }
        return Some(());
    }
    let bits = form.bits();
    let least = match purpose {
        Purpose::Key => BITS_NEEDED,
        Purpose::Reference => BITS_WANTED,
    };
    if bits < least {
        let message = format!("leaves {bits} bits, and {least} are needed to tell intents apart");
        let remedy = "allow more characters, or a larger alphabet (base64url)";
        node.error("key_form", message, remedy);
        return None;
    }
    if bits < BITS_WANTED {
        let message = format!("leaves {bits} bits of the {BITS_WANTED} that are wanted");
        let remedy = "keep it only if the destination takes no more characters";
        node.complain(Complaint::warning("key_form", message, remedy));
    }
    Some(())
}

fn prefix(node: &Node<'_>) -> Option<String> {
    let text = node.text()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if text.len() > 16 || !text.bytes().all(plain) {
        let message = format!("`{text}` is not a short plain word");
        node.error(
            "key_form",
            message,
            "use up to 16 of A-Z, a-z, 0-9, - and _",
        );
        return None;
    }
    Some(text.to_owned())
}

impl Contract {
    /// Whether the effect request carries a key, recognised or not.
    #[must_use]
    pub fn sends_key(&self) -> bool {
        self.key.as_ref().is_some_and(Key::is_placed)
    }

    /// The provider key for these 32 bytes, in the form that the destination takes. Without `[key]`: in the usual form.
    #[must_use]
    pub fn encode_key(&self, bytes: &[u8; 32]) -> String {
        let usual = usual_form(Purpose::Key);
        let form = self.key.as_ref().map_or(&usual, |key| &key.form);
        form.encode(bytes, Purpose::Key)
    }

    /// The reference for these 32 bytes, in the form that the destination takes.
    #[must_use]
    pub fn encode_reference(&self, bytes: &[u8; 32]) -> String {
        self.reference.encode(bytes, Purpose::Reference)
    }
}

/// The form where nothing is said about it.
pub(crate) fn usual_form(purpose: Purpose) -> Form {
    let alphabet = Alphabet::Base32;
    Form {
        alphabet,
        length: match purpose {
            Purpose::Key => alphabet.longest(usize::MAX),
            Purpose::Reference => alphabet.length_for(BITS_WANTED),
        },
        prefix: String::new(),
    }
}
