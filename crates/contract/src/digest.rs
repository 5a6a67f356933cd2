//! What a contract is pinned by: a digest of its content, not of its comments, white space or order of members.

use serde_json::Value as Json;
use toml::Value;

use crate::contract::Contract;

/// The digest of an operation's text and its provider's, both of them valid TOML.
pub(crate) fn of_texts(provider: Option<&str>, operation: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("factum contract 2026-11 content");
    for text in [provider, Some(operation)] {
        match text.map(toml::from_str::<Value>) {
            Some(Ok(value)) => add(&mut hasher, &value),
            // Texts come here after they were read, so this stands for a text that is not there.
            Some(Err(_)) | None => tag(&mut hasher, b'-', b""),
        }
    }
    *hasher.finalize().as_bytes()
}

/// A tag and a length before every part: no two different contents are written alike.
fn tag(hasher: &mut blake3::Hasher, tag: u8, content: &[u8]) {
    hasher.update(&[tag]);
    hasher.update(&length(content.len()));
    hasher.update(content);
}

fn length(length: usize) -> [u8; 8] {
    u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes()
}

fn add(hasher: &mut blake3::Hasher, value: &Value) {
    match value {
        Value::String(text) => tag(hasher, b's', text.as_bytes()),
        Value::Integer(number) => tag(hasher, b'i', &number.to_le_bytes()),
        Value::Float(number) => tag(hasher, b'f', &number.to_bits().to_le_bytes()),
        Value::Boolean(flag) => tag(hasher, b'b', &[u8::from(*flag)]),
        Value::Datetime(instant) => tag(hasher, b'd', instant.to_string().as_bytes()),
        Value::Array(items) => {
            tag(hasher, b'[', &length(items.len()));
            items.iter().for_each(|item| add(hasher, item));
        }
        Value::Table(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            tag(hasher, b'{', &length(members.len()));
            for (name, value) in members {
                tag(hasher, b'k', name.as_bytes());
                add(hasher, value);
            }
        }
    }
}

impl Contract {
    /// What the contract is pinned by: its content, its provider's, and what an operator laid over them.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("factum contract 2026-11 digest");
        hasher.update(&self.text_digest);
        let operator = self.operator.as_json();
        tag(&mut hasher, b'o', Json::to_string(&operator).as_bytes());
        *hasher.finalize().as_bytes()
    }
}
