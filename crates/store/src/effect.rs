//! By what a database tells an equal repeat of sealed content, where an application repeats a submission through the SQL function: a
//! hash over the identity's keyed hash, which makes it another one for each action, and the content in canonical form.
//!
//! It is not keyed, because the database has no key: whoever holds the database can confirm a guess at the whole content of one action,
//! and nothing less than the whole. `docs/keys.md` says so.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::record::Action;

/// The hash; `None` for content that no text of the database could be equal to, because it holds U+0000.
pub(crate) fn effect_check(action: &Action) -> Option<Vec<u8>> {
    let content = &action.content;
    let (params, payload) = (canonical(&content.params)?, canonical(&content.payload)?);
    let mut hash = Sha256::new();
    hash.update(action.identity_hash.0);
    hash.update(params);
    hash.update(b" ");
    hash.update(payload);
    Some(hash.finalize().to_vec())
}

/// A JSON text in one order, as `factum.canonical` has it. The text was checked when it was submitted.
fn canonical(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    write(text.trim_matches([' ', '\t', '\n', '\r']), &mut out)?;
    Some(out)
}

fn write(text: &str, out: &mut String) -> Option<()> {
    match text.as_bytes().first()? {
        b'{' => {
            let Members(mut members) = serde_json::from_str(text).ok()?;
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(name, out)?;
                out.push(':');
                write(value.get(), out)?;
            }
            out.push('}');
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item.get(), out)?;
            }
            out.push(']');
        }
        b'"' => quote(&serde_json::from_str::<String>(text).ok()?, out)?,
        _ => out.push_str(text),
    }
    Some(())
}

fn quote(text: &str, out: &mut String) -> Option<()> {
    if text.contains('\0') {
        return None;
    }
    out.push_str(&serde_json::to_string(text).ok()?);
    Some(())
}

/// The members of an object, with their values as written.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsWritten;
        impl<'de> Visitor<'de> for AsWritten {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(AsWritten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::action;

    #[test]
    fn order_and_space_do_not_matter_and_every_value_does() {
        let check = |key: &str, payload: &str| {
            let mut action = action(key, "x", 1);
            action.content.payload = payload.to_owned();
            effect_check(&action)
        };
        let first = check("k", r#"{"b":[1, 2.0],"a":{"y":null,"x":"\u00e9"}}"#);
        assert!(first.is_some());
        assert_eq!(
            first,
            check("k", r#" {"a":{"x":"é","y":null},"b":[1,2.0]}"#)
        );
        assert_ne!(first, check("k", r#"{"a":{"x":"é","y":null},"b":[1,2]}"#));
        assert_ne!(
            first,
            check("other", r#"{"a":{"x":"é","y":null},"b":[1,2.0]}"#),
            "equal content of two actions does not show"
        );
        assert_eq!(check("k", r#"{"a":"\u0000"}"#), None);
    }
}
