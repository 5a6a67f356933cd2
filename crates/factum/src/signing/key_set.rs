//! Public keys, as they are published: a JWK set (RFC 7517) of Ed25519 keys (RFC 8037), each named by its thumbprint (RFC 7638).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_engine::{Code, Problem};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// One public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    x: [u8; 32],
    /// Since when it signs nothing any more (RFC 3339); none for the key that signs.
    pub retired_at: Option<String>,
}

impl PublicKey {
    /// Of its 32 bytes.
    #[must_use]
    pub fn new(x: [u8; 32], retired_at: Option<String>) -> Self {
        Self { x, retired_at }
    }

    /// The same, that signs nothing any more since then.
    pub(super) fn retired(self, at: String) -> Self {
        Self {
            retired_at: Some(at),
            ..self
        }
    }

    /// Its 32 bytes.
    pub(super) fn x(&self) -> &[u8] {
        &self.x
    }

    /// Its name: the thumbprint.
    #[must_use]
    pub fn id(&self) -> String {
        let x = URL_SAFE_NO_PAD.encode(self.x);
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        URL_SAFE_NO_PAD.encode(Sha256::digest(members))
    }

    /// As a JWK. `retired_at` is our own member, left out for the key that signs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut jwk = json!({
            "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig",
            "kid": self.id(), "x": URL_SAFE_NO_PAD.encode(self.x),
        });
        if let Some(at) = &self.retired_at {
            jwk["retired_at"] = at.as_str().into();
        }
        jwk
    }

    /// The key in a JWK; none where it is a key of another sort.
    pub(super) fn of_json(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        if (text("kty"), text("crv")) != (Some("OKP"), Some("Ed25519")) {
            return None;
        }
        let x = URL_SAFE_NO_PAD.decode(text("x")?).ok()?;
        let retired_at = text("retired_at").map(str::to_owned);
        Some(Self::new(x.try_into().ok()?, retired_at))
    }
}

/// The keys of one signer, or those that somebody trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet {
    keys: Vec<PublicKey>,
}

impl KeySet {
    /// Of these keys.
    #[must_use]
    pub fn new(keys: Vec<PublicKey>) -> Self {
        Self { keys }
    }

    /// Reads a JWK set, one JWK, or the `x` of one. Keys of other sorts are left out.
    ///
    /// # Errors
    /// F1162 if there is no Ed25519 key in it.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let keys: Vec<PublicKey> = match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(one)) => match one.get("keys").and_then(Value::as_array) {
                Some(keys) => {
                    let keys = keys.iter().filter_map(Value::as_object);
                    keys.filter_map(PublicKey::of_json).collect()
                }
                None => PublicKey::of_json(&one).into_iter().collect(),
            },
            _ => {
                let x = URL_SAFE_NO_PAD.decode(text.trim()).ok();
                let x = x.and_then(|x| x.try_into().ok());
                x.map(|x| PublicKey::new(x, None)).into_iter().collect()
            }
        };
        if keys.is_empty() {
            let rule = "there is no Ed25519 key in it";
            let remedy = "give the answer of GET /v1/keys, one key of it, or the `x` of one";
            return Err(Problem::new(Code::UnreadableDocument, "", rule, remedy));
        }
        Ok(Self { keys })
    }

    /// The key of this name.
    pub(super) fn find(&self, id: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.id() == id)
    }

    /// The keys, the one that signs first.
    #[must_use]
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// As a JWK set.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let keys: Vec<Value> = self.keys.iter().map(PublicKey::to_json).collect();
        json!({"keys": keys})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 8037, appendix A.3.
    #[test]
    fn a_key_is_named_by_its_thumbprint() {
        let text =
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let set = KeySet::parse(text).unwrap();
        assert_eq!(
            set.keys()[0].id(),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
        let bare = KeySet::parse("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\n").unwrap();
        assert_eq!(bare, set);
        for text in ["", "{}", r#"{"keys":[{"kty":"RSA"}]}"#, "AAAA"] {
            assert_eq!(
                KeySet::parse(text).unwrap_err().code,
                Code::UnreadableDocument,
                "{text}"
            );
        }
    }
}
