//! The session of the older era, which holds nothing: a client says what it can do only at its beginning, so the name that a session gets
//! there says it again with every request. It is sealed and counts for its caller; it does not run out, and no server has to remember it.

use axum::http::HeaderMap;
use factum::{Caller, Engine, base64};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::era::asks_by_form;

/// The header that carries it.
pub(crate) const HEADER: &str = "mcp-session-id";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Declared {
    capabilities: Map<String, Value>,
}

/// The name for a client that can ask a person. The others need none, and have none that could be lost.
pub(crate) fn begun(engine: &Engine, caller: &Caller, params: &str) -> Option<String> {
    let declared: Declared = serde_json::from_str(params).ok()?;
    if !asks_by_form(&declared.capabilities) {
        return None;
    }
    let own = random_name().ok()?;
    Some(format!("{own}.{}", seal(engine, caller, &own)))
}

/// Whether the name of a request's session says that its client can ask a person. One that is not ours says nothing.
pub(crate) fn can_ask(engine: &Engine, caller: &Caller, headers: &HeaderMap) -> bool {
    let name = headers.get(HEADER).and_then(|name| name.to_str().ok());
    let Some((own, sealed)) = name.and_then(|name| name.split_once('.')) else {
        return false;
    };
    let right = seal(engine, caller, own);
    subtle::ConstantTimeEq::ct_eq(sealed.as_bytes(), right.as_bytes()).into()
}

/// A name that nobody can guess.
///
/// # Errors
/// The operating system gives no random bytes.
pub(crate) fn random_name() -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn seal(engine: &Engine, caller: &Caller, own: &str) -> String {
    let Caller {
        tenant, principal, ..
    } = caller;
    let said = format!("session\0{tenant}\0{principal}\0{own}");
    base64::encode(&engine.question_seal(said.as_bytes()))
}
