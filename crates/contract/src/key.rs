//! The key that the destination recognises, or at least takes as a name, and the reference that we write into it.

use factum_core::promise::Retention;

use crate::claims::Claims;
use crate::contract::Contract;
use crate::effect::Effect;
use crate::finding::Complaint;
use crate::form::{Alphabet, Form, Purpose};
use crate::parts::{self, optional};
use crate::pointer::Pointer;
use crate::source::{Node, Section, Word};
use crate::when::When;

/// The section `[key]`: where the key goes and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) place: Place,
    pub(crate) form: Form,
    /// What a repeat gets; none where the key is only a name.
    pub(crate) repeat: Option<Repeat>,
}

/// Where the key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A header, bare or as a quoted string of RFC 8941.
    Header { name: String, quoted: bool },
    /// A member of the JSON body.
    Member(Pointer),
    /// Where `{key}` stands in the path.
    Path,
}

/// The section `[key.repeat]`: the promise that the key is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) retention: Retention,
    pub(crate) concurrent: Concurrent,
    pub(crate) stored: Stored,
    /// What the key is known within; empty where that is not stated.
    pub(crate) scope: Vec<Scope>,
    pub(crate) other_content: OtherContent,
    /// How a stored answer looks that is played again.
    pub(crate) replayed: Option<When>,
}

/// Which answers are stored under the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) success: bool,
    pub(crate) refusals: bool,
    pub(crate) errors: bool,
}

/// What a repeat gets while the first is still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concurrent {
    /// An answer that says so.
    InProgress,
    /// The first one's answer, once it is there.
    Waits,
    /// Nothing is stated: both may run.
    Unstated,
}

/// What a key is known within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Account,
    Credential,
    Endpoint,
    Host,
}

/// What the key of other content gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherContent {
    /// A refusal that says so.
    Refused,
    /// The first content's answer.
    FirstResult,
    /// An effect of its own.
    NewEffect,
    /// Nothing is stated.
    Unstated,
}

impl Word for Concurrent {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("in_progress", Self::InProgress),
        ("waits", Self::Waits),
        ("unstated", Self::Unstated),
    ];
}

impl Word for Scope {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("account", Self::Account),
        ("credential", Self::Credential),
        ("endpoint", Self::Endpoint),
        ("host", Self::Host),
    ];
}

impl Word for OtherContent {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("refused", Self::Refused),
        ("first_result", Self::FirstResult),
        ("new_effect", Self::NewEffect),
        ("unstated", Self::Unstated),
    ];
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
        let repeat = section.get("repeat").map(|node| {
            let section = node.section()?;
            Repeat::read(section, claims)
        });
        Some(Self {
            place: place?,
            form: form?,
            repeat: match repeat {
                Some(repeat) => Some(repeat?),
                None => None,
            },
        })
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
            Place::Member(_) if !effect.is_json() => {
                let remedy = "write `body = \"json\"` in [effect]";
                let message = "is a member of a body that is not JSON";
                section.error("place", "key_place", message, remedy);
            }
            Place::Header { name, .. } => {
                if effect.request.headers.iter().any(|(n, _)| n == name) {
                    let remedy = "leave it out of the headers of [effect]";
                    let message = format!("is the header `{name}`, which [effect] sets as well");
                    section.error("place", "key_place", message, remedy);
                }
            }
            Place::Path | Place::Member(_) => {}
        }
    }
}

impl Repeat {
    fn read(section: Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(&section);
        claims.require(&section, "", "the promise that a key is recognised");
        let retention = section.need("retention");
        let retention = retention.and_then(|node| parts::retention(&node));
        let concurrent = section.get("concurrent").map(|node| node.word());
        let stored = section.need("stored").and_then(|node| stored(&node));
        let scope = section.get("scope").map(|node| scopes(&node));
        let other_content = section.get("other_content").map(|node| node.word());
        let replayed = section.get("replayed").map(|node| parts::when(&node));
        section.end();
        Some(Self {
            retention: retention?,
            concurrent: concurrent.unwrap_or(Some(Concurrent::Unstated))?,
            stored: stored?,
            scope: scope.unwrap_or_else(|| Some(Vec::new()))?,
            other_content: other_content.unwrap_or(Some(OtherContent::Unstated))?,
            replayed: match replayed {
                Some(when) => Some(when?),
                None => None,
            },
        })
    }

    /// Whether another credential is, or may be, another key space.
    pub(crate) fn scope_includes_credential(&self) -> bool {
        self.scope.is_empty() || self.scope.contains(&Scope::Credential)
    }
}

fn place(node: &Node<'_>) -> Option<Place> {
    if !node.is_table() {
        return match node.text()? {
            "path" => Some(Place::Path),
            other => {
                let message = format!("does not know `{other}`");
                let remedy =
                    "write \"path\", { header = … }, { quoted_header = … } or { member = … }";
                node.error("unknown_word", message, remedy);
                None
            }
        };
    }
    let (form, value) = parts::choice(node, &["header", "quoted_header", "member"])?;
    if form == "member" {
        return parts::exact_pointer(&value).map(Place::Member);
    }
    let name = parts::own_header_name(&value)?;
    let quoted = form == "quoted_header";
    Some(Place::Header { name, quoted })
}

fn stored(node: &Node<'_>) -> Option<Stored> {
    let section = node.section()?;
    let flag = |name| section.need(name).and_then(|node| node.flag());
    let (success, refusals, errors) = (flag("success"), flag("refusals"), flag("errors"));
    section.end();
    Some(Stored {
        success: success?,
        refusals: refusals?,
        errors: errors?,
    })
}

fn scopes(node: &Node<'_>) -> Option<Vec<Scope>> {
    let words = node.list(true)?;
    words.iter().map(|word| word.word()).collect()
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
    Some(form)
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
        self.key.is_some()
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
