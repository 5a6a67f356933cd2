//! Signed documents: what a third party checks without a store, and without asking us.
//!
//! A document is a JSON object. Its `signature` is Ed25519 over all of its other members in canonical form (RFC 8785; numbers are written as
//! they stand, and ours are whole), `key` names the key, and `kind` says what it is, so that no document passes for one of another
//! kind. `folder` keeps the keys.

mod folder;
mod key_set;

pub use folder::SigningKeys;
pub use key_set::{KeySet, PublicKey};

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_engine::{Code, Problem};
use serde_json::{Map, Value};

/// The member that holds the signature.
const SIGNATURE: &str = "signature";
/// The member that names the key.
const KEY: &str = "key";
/// The member that says what a document is.
const KIND: &str = "kind";

/// A document whose signature was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Authentic {
    /// Its members.
    pub members: Map<String, Value>,
    /// Whose signature it carries.
    pub key: PublicKey,
}

/// Checks a document of this kind with these keys.
///
/// # Errors
/// F1162 if it is no such document, F1161 if none of the keys has signed it.
pub fn check(text: &str, kind: &str, keys: &KeySet) -> Result<Authentic, Problem> {
    let mut members: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let rule = format!("it is no JSON object: {error}");
        unreadable("", rule)
    })?;
    let said = member(&members, KIND)?;
    if said != kind {
        let rule = format!("it is a {said:?}, and {kind:?} is looked for");
        return Err(unreadable("/kind", rule));
    }
    let name = member(&members, KEY)?.to_owned();
    let signature = URL_SAFE_NO_PAD.decode(member(&members, SIGNATURE)?);
    let signature = signature.map_err(|_| {
        let rule = "the signature is not in base64url";
        unreadable("/signature", rule.to_owned())
    })?;
    members.remove(SIGNATURE);
    let Some(key) = keys.find(&name) else {
        let rule =
            format!("it is signed with the key {name}, which is not among those that are trusted");
        let remedy = "get the signer's keys from the signer: GET /v1/keys of the server, by a way that you trust";
        return Err(Problem::new(Code::NotAuthentic, "/key", rule, remedy));
    };
    let text = canonical(&Value::Object(members.clone()));
    UnparsedPublicKey::new(&ED25519, key.x())
        .verify(text.as_bytes(), &signature)
        .map_err(|_| {
            let rule = format!("the signature is not that of the key {name} over these members");
            let remedy =
                "something in it was changed: ask for it anew, and do not rely on this one";
            Problem::new(Code::NotAuthentic, "/signature", rule, remedy)
        })?;
    Ok(Authentic {
        members,
        key: key.clone(),
    })
}

fn member<'m>(members: &'m Map<String, Value>, name: &str) -> Result<&'m str, Problem> {
    members.get(name).and_then(Value::as_str).ok_or_else(|| {
        let rule = format!("the member {name:?} is missing, or no text");
        unreadable(&format!("/{name}"), rule)
    })
}

/// The problem of a document that is not what it should be.
pub(crate) fn unreadable(member: &str, rule: String) -> Problem {
    let remedy =
        "name a file that `factum receipt export` or `factum checkpoint export` made, unchanged";
    Problem::new(Code::UnreadableDocument, member, rule, remedy)
}

/// A value in canonical form: no white space, members in the order of their UTF-16 code units.
fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            text.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::home::Home;

    fn signed(keys: &SigningKeys) -> Value {
        let document =
            json!({"kind": "test", "é": [1, {"b": null, "a": true}], "text": "a\n\u{1}\"é"});
        keys.sign(document.as_object().unwrap().clone()).unwrap()
    }

    fn made() -> (tempfile::TempDir, SigningKeys) {
        let folder = tempfile::tempdir().unwrap();
        let keys = SigningKeys::of(&Home::at(folder.path()));
        keys.settle().unwrap();
        (folder, keys)
    }

    #[test]
    fn the_canonical_form_is_that_of_rfc_8785() {
        let value: Value = serde_json::from_str(
            r#"{"\u20ac":"Euro","\r":"CR","1":"One","\u00f6":"o","\ud83d\ude00":"Smile","a":[ 1 , "\u000f\n" ]}"#,
        )
        .unwrap();
        let wanted = "{\"\\r\":\"CR\",\"1\":\"One\",\"a\":[1,\"\\u000f\\n\"],\"ö\":\"o\",\"€\":\"Euro\",\"😀\":\"Smile\"}";
        assert_eq!(canonical(&value), wanted);
    }

    #[test]
    fn a_document_is_authentic_until_one_byte_of_it_is_changed() {
        let (_folder, keys) = made();
        let text = signed(&keys).to_string();
        let public = keys.published().unwrap();
        let authentic = check(&text, "test", &public).unwrap();
        assert_eq!(authentic.members["text"], "a\n\u{1}\"é");
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else {
                continue;
            };
            let problem = check(&changed, "test", &public).err();
            assert!(problem.is_some(), "{at}: {changed}");
        }
        let other = check(&text, "another", &public).unwrap_err();
        assert_eq!(other.code, Code::UnreadableDocument);
    }

    #[test]
    fn what_an_older_key_signed_is_authentic_after_another_one_came() {
        let (folder, keys) = made();
        let (before, first) = (signed(&keys).to_string(), keys.published().unwrap());
        let now = factum_core::Timestamp::from_micros(1_000_000);
        keys.rotate(now).unwrap();
        let after = signed(&keys).to_string();
        let both = keys.published().unwrap();
        for text in [&before, &after] {
            assert!(check(text, "test", &both).is_ok());
        }
        assert_eq!(
            check(&after, "test", &first).unwrap_err().code,
            Code::NotAuthentic
        );
        let retired = check(&before, "test", &both).unwrap().key;
        assert_eq!(retired.retired_at.as_deref(), Some("1970-01-01T00:00:01Z"));
        assert!(
            !folder.path().join("keys/sign/1").exists(),
            "nobody signs with it any more"
        );
        let told = KeySet::parse(&both.to_json().to_string()).unwrap();
        assert_eq!(told, both);
    }

    #[test]
    fn without_a_key_nothing_is_signed_and_another_folders_key_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let none = SigningKeys::of(&Home::at(folder.path()));
        let problem = none.sign(Map::new()).unwrap_err();
        assert_eq!(problem.code, Code::NoSigningKey);
        let ((_one, ours), (_two, theirs)) = (made(), made());
        let text = signed(&theirs).to_string();
        let problem = check(&text, "test", &ours.published().unwrap()).unwrap_err();
        assert_eq!(
            (problem.code, &*problem.member),
            (Code::NotAuthentic, "/key")
        );
    }
}
