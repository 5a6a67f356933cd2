//! An ID token: who signed it, for whom, when, and what it claims. Three algorithms are known, all of them with a key pair; `none`, and
//! whatever is made with a shared secret, is refused.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// How far clocks may lie apart, in seconds.
const SKEW_S: i64 = 60;

/// What has to stand in it.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now_s: i64,
}

/// Checks a token with the provider's keys (a JWK set); its claims.
pub(super) fn read(
    token: &str,
    keys: &Value,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, String> {
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, signature] = parts[..] else {
        return Err("the token is no signed JWT".to_owned());
    };
    let header: Value = json(head)?;
    let algorithm = header["alg"].as_str().unwrap_or_default();
    let signature = bytes(signature)?;
    let signed = format!("{head}.{body}");
    let mut known = keys["keys"].as_array().into_iter().flatten().filter(|key| {
        let named = header["kid"].is_null() || key["kid"].is_null() || key["kid"] == header["kid"];
        named && key["use"] != "enc"
    });
    if !known.any(|key| has_signed(key, algorithm, signed.as_bytes(), &signature)) {
        return Err(format!(
            "the token is signed with {algorithm:?} by none of the provider's keys; known are RS256, ES256 and EdDSA"
        ));
    }
    let claims: Value = json(body)?;
    let Value::Object(claims) = claims else {
        return Err("the token claims nothing".to_owned());
    };
    holds(&claims, expected)?;
    Ok(claims)
}

fn bytes(part: &str) -> Result<Vec<u8>, String> {
    let read = URL_SAFE_NO_PAD.decode(part);
    read.map_err(|_| "a part of the token is not in base64url".to_owned())
}

fn json(part: &str) -> Result<Value, String> {
    serde_json::from_slice(&bytes(part)?).map_err(|_| "a part of the token is no JSON".to_owned())
}

/// Whether this key has made the signature. A key of another kind has not.
fn has_signed(key: &Value, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
    let member = |name: &str| key[name].as_str().and_then(|text| bytes(text).ok());
    match (algorithm, key["kty"].as_str(), key["crv"].as_str()) {
        ("RS256", Some("RSA"), _) => member("n").zip(member("e")).is_some_and(|(n, e)| {
            let key = RsaPublicKeyComponents { n, e };
            key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok()
        }),
        ("ES256", Some("EC"), Some("P-256")) => {
            member("x").zip(member("y")).is_some_and(|(x, y)| {
                let point = [vec![4], x, y].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).is_ok()
            })
        }
        ("EdDSA", Some("OKP"), Some("Ed25519")) => member("x").is_some_and(|x| {
            let key = UnparsedPublicKey::new(&ED25519, x);
            key.verify(message, signature).is_ok()
        }),
        _ => false,
    }
}

fn holds(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), String> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err("the token is of another issuer".to_owned());
    }
    let for_us = match claims.get("aud") {
        Some(Value::String(one)) => one == expected.client,
        Some(Value::Array(all)) => {
            let named = all.iter().any(|one| one == expected.client);
            named && (all.len() == 1 || text("azp") == Some(expected.client))
        }
        Some(_) | None => false,
    };
    if !for_us {
        return Err("the token is for another client".to_owned());
    }
    let instant = |name: &str| claims.get(name).and_then(Value::as_f64);
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds since 1970 are exact in it"
    )]
    let now = expected.now_s as f64;
    #[expect(clippy::cast_precision_loss, reason = "a minute")]
    let skew = SKEW_S as f64;
    if instant("exp").is_none_or(|end| end + skew <= now) {
        return Err("the token is over; do the clocks of both machines agree?".to_owned());
    }
    if instant("iat").is_none_or(|made| made - skew > now) {
        return Err(
            "the token was made in the future; do the clocks of both machines agree?".to_owned(),
        );
    }
    if text("nonce") != Some(expected.nonce) {
        return Err("the token was made for another sign-in".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn key() -> (Ed25519KeyPair, Value) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x}]});
        (pair, set)
    }

    fn token(header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = key().0.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn claims() -> Value {
        json!({"iss": "https://id", "aud": "factum", "sub": "1", "exp": NOW + 60, "iat": NOW, "nonce": "n"})
    }

    fn read_it(token: &str) -> Result<Map<String, Value>, String> {
        let expected = Expected {
            issuer: "https://id",
            client: "factum",
            nonce: "n",
            now_s: NOW,
        };
        read(token, &key().1, &expected)
    }

    #[test]
    fn a_right_token_is_read_and_each_wrong_one_is_refused_with_its_reason() {
        let header = json!({"alg": "EdDSA", "kid": "1"});
        assert_eq!(read_it(&token(&header, &claims())).unwrap()["sub"], "1");
        for (member, value, why) in [
            ("iss", json!("https://evil"), "another issuer"),
            ("aud", json!("other"), "another client"),
            ("aud", json!(["factum", "other"]), "another client"),
            ("exp", json!(NOW - 61), "is over"),
            ("exp", json!(null), "is over"),
            ("iat", json!(NOW + 61), "in the future"),
            ("nonce", json!("m"), "another sign-in"),
            ("nonce", json!(null), "another sign-in"),
        ] {
            let mut claims = claims();
            claims[member] = value;
            let refused = read_it(&token(&header, &claims)).unwrap_err();
            assert!(refused.contains(why), "{member}: {refused}");
        }
        let mut named = claims();
        named["aud"] = json!(["factum", "other"]);
        named["azp"] = json!("factum");
        assert!(read_it(&token(&header, &named)).is_ok());
    }

    #[test]
    fn nobody_is_believed_who_has_not_signed() {
        let right = token(&json!({"alg": "EdDSA", "kid": "1"}), &claims());
        let (rest, _) = right.rsplit_once('.').unwrap();
        for wrong in [
            format!("{rest}."),
            format!("{rest}.AAAA"),
            token(&json!({"alg": "none"}), &claims()),
            token(&json!({"alg": "HS256", "kid": "1"}), &claims()),
            token(&json!({"alg": "RS256", "kid": "1"}), &claims()),
            token(&json!({"alg": "EdDSA", "kid": "2"}), &claims()),
            right.replacen('.', ".e30", 1),
            "a.b".to_owned(),
            String::new(),
        ] {
            assert!(read_it(&wrong).is_err(), "{wrong}");
        }
    }
}
