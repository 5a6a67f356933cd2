//! Questions to a person at the client's side: the answer comes with a repeat of the call and with what the question carried (for the older
//! era [`super::questions`] makes that of it). That is sealed, ends, and counts for this caller and this very call. It may come twice: what is decided by it is decided
//! once, and both are answered with that.

use factum::core::Span;
use factum::proposals::ProposalDetail;
use factum::view::StatusView;
use factum::{Caller, Engine, base64, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::asked::{Asked, ToolCall};

/// An answer counts within this of its question.
pub(crate) const HOLDS: Span = Span::from_secs(15 * 60);
/// The name of the one question that a result carries.
pub(crate) const QUESTION: &str = "decision";

/// What a question carries to its answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Carried {
    /// The proposal or the action that it is about.
    pub(crate) about: String,
    /// What exactly is decided: the proposal's digest, or the action's version.
    pub(crate) digest: String,
    tenant: String,
    principal: String,
    /// The call that was answered with the question.
    call: String,
    /// In microseconds.
    until: i64,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// The form, filled in.
    Content(Map<String, Value>),
    /// They do not want it.
    Declined,
    /// They closed the question, or the client sent none of it.
    Nothing,
}

impl Carried {
    pub(crate) fn new(asked: &Asked<'_>, call: &ToolCall, about: &str, digest: &str) -> Self {
        let engine = asked.app.factum().engine();
        Self {
            about: about.to_owned(),
            digest: digest.to_owned(),
            tenant: asked.caller.tenant.clone(),
            principal: asked.caller.principal.clone(),
            call: call_digest(engine, call),
            until: (engine.now() + HOLDS).as_micros(),
        }
    }

    fn sealed(&self, engine: &Engine) -> String {
        let said = json!(self).to_string();
        let seal = engine.question_seal(said.as_bytes());
        format!(
            "{}.{}",
            base64::encode(said.as_bytes()),
            base64::encode(&seal)
        )
    }

    /// Reads what a question carried.
    ///
    /// # Errors
    /// Why it does not count here.
    pub(crate) fn opened(
        engine: &Engine,
        caller: &Caller,
        call: &ToolCall,
        state: &str,
    ) -> Result<Self, &'static str> {
        let forged = "it is not as the question carried it";
        let (said, seal) = state.split_once('.').ok_or(forged)?;
        let said = base64::decode(said).ok_or(forged)?;
        let seal = base64::decode(seal).ok_or(forged)?;
        let right = engine.question_seal(&said);
        if seal.len() != right.len()
            || !bool::from(subtle::ConstantTimeEq::ct_eq(&*seal, &right[..]))
        {
            return Err(forged);
        }
        let carried: Self = serde_json::from_slice(&said).map_err(|_| forged)?;
        if carried.tenant != caller.tenant || carried.principal != caller.principal {
            return Err("the question was asked to somebody else");
        }
        if carried.call != call_digest(engine, call) {
            return Err("the question belongs to another call");
        }
        if engine.now().as_micros() > carried.until {
            return Err("the question is too old; call the tool anew");
        }
        Ok(carried)
    }
}

/// A result that asks a person.
pub(crate) fn question(asked: &Asked<'_>, carried: &Carried, form: Value) -> Value {
    asked.finished(json!({
        "resultType": "input_required",
        "inputRequests": {QUESTION: {"method": "elicitation/create", "params": form}},
        "requestState": carried.sealed(asked.app.factum().engine()),
    }))
}

/// What a person said to a question.
pub(crate) fn said(answers: &Map<String, Value>, name: &str) -> Said {
    let Some(answer) = answers.get(name) else {
        return Said::Nothing;
    };
    match (answer["action"].as_str(), &answer["content"]) {
        (Some("accept"), Value::Object(content)) => Said::Content(content.clone()),
        (Some("decline"), _) => Said::Declined,
        _ => Said::Nothing,
    }
}

/// The form by which a person approves.
pub(crate) fn approval_form(proposal: &ProposalDetail) -> Value {
    let view = &proposal.proposal;
    let what = view.summary.clone();
    let what = what.unwrap_or_else(|| format!("{} at {}", view.operation, view.destination));
    let amount = view.amount.as_ref().map_or(String::new(), |amount| {
        format!(
            " It moves {} {}.",
            amount.number,
            amount.currency.as_deref().unwrap_or_default()
        )
    });
    let message = format!(
        "Approve: {what} ({} at {}, for {}).{amount} Exactly this would be sent: {}",
        view.operation, view.destination, view.on_behalf_of, proposal.content
    );
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "approve": {"type": "boolean", "title": "Approve", "description": "Send exactly this"},
                "reason": {"type": "string", "title": "Reason", "maxLength": 2_000},
            },
            "required": ["approve"],
        },
    })
}

/// The form by which a person says what they found out.
pub(crate) fn verdict_form(status: &StatusView) -> Value {
    let message = format!(
        "It is not known whether this happened: {} at {} ({}). Look at the destination, and say what you found. {}",
        status.operation, status.destination, status.id, status.next.why
    );
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "verdict": {"type": "string", "title": "What you found", "enum": crate::review::VERDICTS},
                "why": {"type": "string", "title": "How you know", "minLength": 1, "maxLength": 2_000},
                "receipt": {"type": "string", "title": "Its number there, if it happened", "maxLength": 500},
            },
            "required": ["verdict", "why"],
        },
    })
}

/// The call that a question answers: its tool and its arguments, however their members are ordered.
fn call_digest(engine: &Engine, call: &ToolCall) -> String {
    let arguments = canonical::canonical(call.arguments(), "");
    let arguments = arguments.unwrap_or_else(|_| call.arguments().to_owned());
    base64::encode(&engine.question_seal(format!("{}\n{arguments}", call.name).as_bytes()))
}
