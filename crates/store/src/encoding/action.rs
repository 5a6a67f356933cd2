//! How the fixed part of an action is written: everything but what stands in columns of its own, because it is looked up by,
//! compared, or purged by itself ([`Fixed`]).

use std::collections::BTreeMap;

use factum_core::id::BadId;
use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    ProcessingMax, Promises, Retention,
};
use factum_core::retry::Backoff;
use factum_core::{
    ActionId, Bound, EventId, Fingerprint, Identity, IdentityHash, Intent, Limits, Preference,
    ProposalDigest, Scope, Span, Timestamp, TraceContext,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Form;
use super::fact::LookupByDef;
use super::plain::{BoundDef, Instant, Length, MaybeInstant, hex, optional, unhex};
use super::usual;
use crate::record::{Action, Approved, AskedBy, Content, Conversation, MemberHash};

/// What stands in columns of its own.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) id: ActionId,
    pub(crate) identity: IdentityHash,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) contract: [u8; 32],
    pub(crate) params: String,
    pub(crate) payload: String,
}

/// The text of everything else about an action.
pub(crate) fn head_text(form: &Form, action: &Action) -> String {
    super::write(&HeadOut {
        v: form.writes(),
        intent: IntentOut(&action.intent),
        scope: ScopeOut(&action.scope),
        identity: IdentityOut(&action.identity),
        members: MembersOut(&action.members),
        summary: action.content.summary.as_deref(),
        subject: action.content.subject.as_deref(),
        conversation: action
            .content
            .conversation
            .as_ref()
            .map(|conversation| Talk {
                id: conversation.id.clone(),
                turn: conversation.turn,
                asked: conversation.asked.clone(),
            }),
        locale: action.content.locale.as_deref(),
        trace: action.content.trace.as_ref().map(TraceContext::as_str),
        place: action.content.place.as_deref(),
        asked_by: action.content.asked_by.as_ref().map(Asker::from),
        approved: action.content.approved.as_ref().map(Approval::from),
        purged_at: action.content.purged_at,
    })
}

/// The action that a text and its columns say, or for people why it cannot be read.
pub(crate) fn read_head(form: &Form, text: &str, fixed: Fixed) -> Result<Action, String> {
    let head: Head = super::read(form, text)?;
    form.known(head.v)?;
    let trace = head
        .trace
        .map(|text| TraceContext::parse(&text).map_err(|error| error.to_string()))
        .transpose()?;
    Ok(Action {
        intent: Intent {
            action: fixed.id,
            ..head.intent
        },
        scope: head.scope,
        identity: head.identity,
        identity_hash: fixed.identity,
        fingerprint: fixed.fingerprint,
        members: head.members,
        content: Content {
            contract: fixed.contract,
            params: fixed.params,
            payload: fixed.payload,
            summary: head.summary,
            subject: head.subject,
            conversation: head.conversation.map(|talk| Conversation {
                id: talk.id,
                turn: talk.turn,
                asked: talk.asked,
            }),
            locale: head.locale,
            trace,
            place: head.place,
            asked_by: head.asked_by.map(AskedBy::from),
            approved: head.approved.map(Approved::try_from).transpose()?,
            purged_at: head.purged_at,
        },
    })
}

#[derive(Serialize)]
struct HeadOut<'a> {
    v: u32,
    intent: IntentOut<'a>,
    scope: ScopeOut<'a>,
    identity: IdentityOut<'a>,
    members: MembersOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<Talk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_by: Option<Asker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<Approval>,
    #[serde(with = "MaybeInstant", skip_serializing_if = "Option::is_none")]
    purged_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    v: u32,
    #[serde(with = "IntentDef")]
    intent: Intent,
    #[serde(with = "ScopeDef")]
    scope: Scope,
    #[serde(with = "IdentityDef")]
    identity: Identity,
    #[serde(with = "Members")]
    members: BTreeMap<String, MemberHash>,
    summary: Option<String>,
    subject: Option<String>,
    conversation: Option<Talk>,
    locale: Option<String>,
    trace: Option<String>,
    place: Option<String>,
    asked_by: Option<Asker>,
    approved: Option<Approval>,
    #[serde(default, with = "MaybeInstant")]
    purged_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    proposal: String,
    digest: String,
    #[serde(with = "Instant")]
    as_of: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    by: Vec<String>,
}

impl From<&Approved> for Approval {
    fn from(approved: &Approved) -> Self {
        Self {
            proposal: approved.proposal.to_string(),
            digest: hex(&approved.digest.0),
            as_of: approved.as_of,
            account: approved.account.clone(),
            by: approved.by.clone(),
        }
    }
}

impl TryFrom<Approval> for Approved {
    type Error = String;

    fn try_from(written: Approval) -> Result<Self, String> {
        let proposal = (written.proposal.parse()).map_err(|error: BadId| error.to_string())?;
        let digest = unhex(&written.digest).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let digest = digest.ok_or("a proposal's digest is not 64 hexadecimal digits".to_owned())?;
        Ok(Self {
            proposal,
            digest: ProposalDigest(digest),
            as_of: written.as_of,
            account: written.account,
            by: written.by,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asker {
    principal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

impl From<&AskedBy> for Asker {
    fn from(asked: &AskedBy) -> Self {
        let (amount, currency) = asked.amount.clone().unzip();
        Self {
            principal: asked.principal.clone(),
            grant: asked.grant.clone(),
            amount,
            currency: currency.flatten(),
        }
    }
}

impl From<Asker> for AskedBy {
    fn from(asked: Asker) -> Self {
        Self {
            principal: asked.principal,
            grant: asked.grant,
            amount: asked.amount.map(|number| (number, asked.currency)),
        }
    }
}

/// Writes a borrowed value through the definition that mirrors its type.
macro_rules! borrowed {
    ($name:ident, $core:ty, $mirror:ty) => {
        struct $name<'a>(&'a $core);

        impl Serialize for $name<'_> {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                <$mirror>::serialize(self.0, out)
            }
        }
    };
}

borrowed!(IntentOut, Intent, IntentDef);
borrowed!(ScopeOut, Scope, ScopeDef);
borrowed!(IdentityOut, Identity, IdentityDef);
borrowed!(MembersOut, BTreeMap<String, MemberHash>, Members);

/// Compared members: JSON pointer to hexadecimal digits.
struct Members;

impl Members {
    fn serialize<S: Serializer>(
        members: &BTreeMap<String, MemberHash>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.collect_map(members.iter().map(|(name, hash)| (name, hex(&hash.0))))
    }

    fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, MemberHash>, D::Error> {
        let texts: BTreeMap<String, String> = Deserialize::deserialize(from)?;
        texts
            .into_iter()
            .map(|(name, text)| {
                let bytes = unhex(&text).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
                let hash = bytes.ok_or_else(|| {
                    D::Error::custom("a compared member's hash is not 32 hexadecimal digits")
                })?;
                Ok((name, MemberHash(hash)))
            })
            .collect()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Talk {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Scope", deny_unknown_fields)]
struct ScopeDef {
    tenant: String,
    principal: String,
    destination: String,
    operation: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Identity", rename_all = "snake_case", deny_unknown_fields)]
enum IdentityDef {
    Key(String),
    Event {
        #[serde(with = "EventDef")]
        event: EventId,
        effect: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "EventId", deny_unknown_fields)]
struct EventDef {
    source: String,
    id: String,
}

/// The action's id stands in its own column; this stands in its place while a text is read.
fn no_id() -> ActionId {
    ActionId::from_bytes([0; 16])
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Intent", deny_unknown_fields)]
struct IntentDef {
    #[serde(skip, default = "no_id")]
    action: ActionId,
    #[serde(with = "Instant")]
    submitted_at: Timestamp,
    #[serde(
        default,
        with = "MaybeInstant",
        skip_serializing_if = "Option::is_none"
    )]
    intent_at: Option<Timestamp>,
    #[serde(
        default,
        with = "MaybeInstant",
        skip_serializing_if = "Option::is_none"
    )]
    not_before: Option<Timestamp>,
    #[serde(
        default,
        with = "MaybeInstant",
        skip_serializing_if = "Option::is_none"
    )]
    deadline: Option<Timestamp>,
    #[serde(
        default,
        with = "MaybeInstant",
        skip_serializing_if = "Option::is_none"
    )]
    approved_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_false")]
    finish: bool,
    #[serde(with = "PreferenceDef")]
    preference: Preference,
    #[serde(
        with = "LimitsDef",
        default = "usual::limits::value",
        skip_serializing_if = "usual::limits::is"
    )]
    limits: Limits,
    #[serde(with = "PromisesDef")]
    promises: Promises,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Preference", rename_all = "snake_case", deny_unknown_fields)]
enum PreferenceDef {
    Ask,
    PreferMissing { by: String },
    PreferDuplicate { by: String },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits", deny_unknown_fields)]
struct LimitsDef {
    #[serde(
        with = "Length",
        default = "usual::send_wait::value",
        skip_serializing_if = "usual::send_wait::is"
    )]
    send_wait: Span,
    #[serde(
        with = "Length",
        default = "usual::answer_wait::value",
        skip_serializing_if = "usual::answer_wait::is"
    )]
    answer_wait: Span,
    #[serde(
        with = "BoundDef",
        default = "usual::bound::value",
        skip_serializing_if = "usual::bound::is"
    )]
    bound: Bound,
    #[serde(
        with = "BackoffDef",
        default = "usual::backoff::value",
        skip_serializing_if = "usual::backoff::is"
    )]
    backoff: Backoff,
    #[serde(
        default = "usual::attempts_max::value",
        skip_serializing_if = "usual::attempts_max::is"
    )]
    attempts_max: u32,
    #[serde(
        default = "usual::lookups_max::value",
        skip_serializing_if = "usual::lookups_max::is"
    )]
    lookups_max: u32,
    #[serde(
        default = "usual::polls_max::value",
        skip_serializing_if = "usual::polls_max::is"
    )]
    polls_max: u32,
    #[serde(
        default = "usual::cancels_max::value",
        skip_serializing_if = "usual::cancels_max::is"
    )]
    cancels_max: u32,
    #[serde(
        with = "Length",
        default = "usual::callback_wait::value",
        skip_serializing_if = "usual::callback_wait::is"
    )]
    callback_wait: Span,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Backoff", deny_unknown_fields)]
struct BackoffDef {
    #[serde(with = "Length")]
    base: Span,
    #[serde(with = "Length")]
    cap: Span,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Promises", deny_unknown_fields)]
struct PromisesDef {
    #[serde(with = "ConsequenceDef")]
    consequence: Consequence,
    #[serde(default, with = "MaybeKey", skip_serializing_if = "Option::is_none")]
    key: Option<KeyPromise>,
    #[serde(default, with = "MaybeLookup", skip_serializing_if = "Option::is_none")]
    lookup: Option<LookupPromise>,
    #[serde(default, with = "MaybeCancel", skip_serializing_if = "Option::is_none")]
    cancel: Option<CancelPromise>,
    #[serde(
        default,
        with = "MaybeCompletion",
        skip_serializing_if = "Option::is_none"
    )]
    completion: Option<CompletionPromise>,
    #[serde(with = "ProcessingDef")]
    processing_max: ProcessingMax,
    #[serde(default, skip_serializing_if = "is_false")]
    path_is_direct: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    condition_checked: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Consequence", rename_all = "snake_case")]
enum ConsequenceDef {
    Harmless,
    Reversible,
    Costly,
    Irreversible,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Retention", rename_all = "snake_case")]
enum RetentionDef {
    Floor(#[serde(with = "Length")] Span),
    AssumedFloor(#[serde(with = "Length")] Span),
    Unbounded,
    Approximate(#[serde(with = "Length")] Span),
    Unpublished,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "KeyPromise", deny_unknown_fields)]
struct KeyDef {
    #[serde(with = "RetentionDef")]
    retention: Retention,
    #[serde(default, skip_serializing_if = "is_false")]
    concurrent_repeat_stated: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    stores_errors: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    scope_includes_credential: bool,
    // Rows of a time when these were not known say nothing of them, and nothing rested on them.
    #[serde(default, skip_serializing_if = "is_false")]
    scope_includes_place: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    sets_again: bool,
    #[serde(
        default = "no_wait",
        with = "Length",
        skip_serializing_if = "is_no_wait"
    )]
    wait_min: Span,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn no_wait() -> Span {
    Span::ZERO
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
fn is_no_wait(span: &Span) -> bool {
    *span == Span::ZERO
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Authority", rename_all = "snake_case")]
enum AuthorityDef {
    Authoritative,
    Partial,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LookupPromise", deny_unknown_fields)]
struct LookupPromiseDef {
    #[serde(with = "AuthorityDef")]
    authority: Authority,
    #[serde(with = "Length")]
    lag: Span,
    #[serde(with = "LookupByDef")]
    by: LookupBy,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CancelPromise", deny_unknown_fields)]
struct CancelDef {
    refuses_later_arrivals: bool,
    #[serde(with = "RetentionDef")]
    retention: Retention,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CompletionPromise", deny_unknown_fields)]
struct CompletionDef {
    poll: bool,
    callback: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ProcessingMax", rename_all = "snake_case")]
enum ProcessingDef {
    Stated(#[serde(with = "Length")] Span),
    Assumed(#[serde(with = "Length")] Span),
    Unpublished,
}

optional!(MaybeKey, KeyPromise, KeyDef);
optional!(MaybeLookup, LookupPromise, LookupPromiseDef);
optional!(MaybeCancel, CancelPromise, CancelDef);
optional!(MaybeCompletion, CompletionPromise, CompletionDef);
