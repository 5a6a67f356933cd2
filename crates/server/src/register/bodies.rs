//! What the bodies of changes hold.

use factum::directory::{Limits, Standing};
use serde::{Deserialize, Deserializer};

/// Null says nothing, like a member that is not there.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTenant {
    pub(super) name: String,
    pub(super) about: Option<String>,
    pub(super) by: Option<String>,
    pub(super) why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPrincipal {
    pub(super) name: String,
    pub(super) about: Option<String>,
    pub(super) until: Option<String>,
    pub(super) by: Option<String>,
    pub(super) why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewGrant {
    pub(super) name: String,
    pub(super) principal: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) acts_for: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) destinations: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) operations: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) limits: Limits,
    pub(super) until: Option<String>,
    pub(super) about: Option<String>,
    pub(super) by: Option<String>,
    pub(super) why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewToken {
    pub(super) principal: String,
    pub(super) scopes: Vec<String>,
    pub(super) grant: Option<String>,
    pub(super) until: Option<String>,
    pub(super) about: Option<String>,
    pub(super) by: Option<String>,
    pub(super) why: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotation {
    pub(super) overlap_s: Option<u64>,
    pub(super) by: Option<String>,
    pub(super) why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateRequest {
    pub(super) standing: Standing,
    pub(super) why: String,
    pub(super) by: Option<String>,
}
