//! The table of calls. The router, the query parameters that are accepted and the OpenAPI document are made from it, so that
//! a call without a description does not compile.

use axum::http::Method;
use factum::Code;
use factum::directory::Scope;

use crate::query::Kind;
use crate::{
    actions, admin, callbacks, conversations, destinations, events, health, proposals, register,
    retention, review, signed, webhooks, work,
};

/// What is said about a call.
pub(crate) struct Doc {
    /// Its name in clients that are made from the document.
    pub(crate) name: &'static str,
    /// One line.
    pub(crate) summary: &'static str,
    /// What a caller has to know beside it.
    pub(crate) says: &'static str,
    /// Query parameters; others are refused.
    pub(crate) query: &'static [Param],
    /// Headers that it reads beside the token.
    pub(crate) headers: &'static [Param],
    /// The schema of its body, and whether there has to be one.
    pub(crate) body: Option<(&'static str, bool)>,
    /// Status, meaning and schema of each answer.
    pub(crate) answers: &'static [(u16, &'static str, &'static str)],
    /// Problems beside those of every call.
    pub(crate) problems: &'static [Code],
}

/// A query parameter or a header.
pub(crate) struct Param {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) says: &'static str,
    /// Its form.
    pub(crate) kind: Kind,
}

impl Param {
    pub(crate) const fn new(name: &'static str, kind: Kind, says: &'static str) -> Self {
        Self { name, says, kind }
    }
}

macro_rules! calls {
    ($($variant:ident $method:ident $path:literal $doc:path;)*) => {
        /// Everything that can be asked of the server.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Call { $($variant,)* }

        impl Call {
            /// All of them, in the order of the document.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub(crate) fn method(self) -> Method {
                match self { $(Self::$variant => Method::$method,)* }
            }

            /// The path, with its parameters in braces.
            pub(crate) fn path(self) -> &'static str {
                match self { $(Self::$variant => $path,)* }
            }

            pub(crate) fn doc(self) -> &'static Doc {
                match self { $(Self::$variant => &$doc,)* }
            }
        }
    };
}

calls! {
    Submit POST "/v1/actions" actions::SUBMIT;
    List GET "/v1/actions" actions::LIST;
    Status GET "/v1/actions/{id}" actions::STATUS;
    Evidence GET "/v1/actions/{id}/evidence" actions::EVIDENCE;
    Cancel POST "/v1/actions/{id}/cancel" actions::CANCEL;
    Receipt GET "/v1/actions/{id}/receipt" signed::RECEIPT;
    Keys GET "/v1/keys" signed::KEYS;
    Propose POST "/v1/proposals" proposals::PROPOSE;
    Proposals GET "/v1/proposals" proposals::LIST;
    Proposal GET "/v1/proposals/{id}" proposals::SHOW;
    Approve POST "/v1/proposals/{id}/approve" proposals::APPROVE;
    Decline POST "/v1/proposals/{id}/decline" proposals::DECLINE;
    Supersede POST "/v1/proposals/{id}/supersede" proposals::SUPERSEDE;
    Conversation GET "/v1/conversations/{id}" conversations::SHOW;
    Told POST "/v1/conversations/{id}/told" conversations::TOLD;
    Acknowledge POST "/v1/conversations/{id}/acknowledge" conversations::ACKNOWLEDGE;
    Corrections GET "/v1/corrections" conversations::CORRECTIONS;
    Review GET "/v1/review" review::LIST;
    Verdict POST "/v1/review/{id}/verdict" review::VERDICT;
    CheckAgain POST "/v1/review/{id}/check-again" review::CHECK_AGAIN;
    Take POST "/v1/review/{id}/take" review::TAKE;
    GiveBack POST "/v1/review/{id}/release" review::RELEASE;
    Note POST "/v1/review/{id}/note" review::NOTE;
    CheckMany POST "/v1/review/check-again" review::CHECK;
    Verdicts POST "/v1/review/verdicts" review::VERDICTS_DOC;
    Match POST "/v1/review/match" review::MATCH;
    Incident POST "/v1/review/incident" review::INCIDENT;
    ClaimWork POST "/v1/work/claim" work::CLAIM;
    BeginWork POST "/v1/work/{claim}/begin" work::BEGIN;
    HeartbeatWork POST "/v1/work/{claim}/heartbeat" work::HEARTBEAT;
    ReportWork POST "/v1/work/{claim}/report" work::REPORT;
    ReturnWork POST "/v1/work/{claim}/return" work::RETURN;
    Events GET "/v1/events" events::EVENTS;
    Destinations GET "/v1/destinations" destinations::LIST;
    Destination GET "/v1/destinations/{name}" destinations::ONE;
    Deliver POST "/v1/callbacks/{address}" callbacks::DELIVER;
    Callbacks GET "/v1/callbacks" callbacks::LIST;
    DestinationState POST "/v1/destinations/{name}/state" register::DESTINATION_STATE;
    Tenants GET "/v1/tenants" register::TENANTS;
    AddTenant POST "/v1/tenants" register::ADD_TENANT;
    Tenant GET "/v1/tenants/{name}" register::TENANT;
    TenantState POST "/v1/tenants/{name}/state" register::TENANT_STATE;
    Principals GET "/v1/principals" register::PRINCIPALS;
    AddPrincipal POST "/v1/principals" register::ADD_PRINCIPAL;
    Principal GET "/v1/principals/{name}" register::PRINCIPAL;
    PrincipalState POST "/v1/principals/{name}/state" register::PRINCIPAL_STATE;
    Grants GET "/v1/grants" register::GRANTS;
    AddGrant POST "/v1/grants" register::ADD_GRANT;
    Grant GET "/v1/grants/{name}" register::GRANT;
    GrantState POST "/v1/grants/{name}/state" register::GRANT_STATE;
    Tokens GET "/v1/tokens" register::TOKENS;
    AddToken POST "/v1/tokens" register::ADD_TOKEN;
    Token GET "/v1/tokens/{name}" register::TOKEN;
    TokenState POST "/v1/tokens/{name}/state" register::TOKEN_STATE;
    RotateToken POST "/v1/tokens/{name}/rotate" register::ROTATE_TOKEN;
    Webhooks GET "/v1/webhooks" webhooks::LIST;
    AddWebhook POST "/v1/webhooks" webhooks::ADD;
    Webhook GET "/v1/webhooks/{name}" webhooks::ONE;
    WebhookState POST "/v1/webhooks/{name}/state" webhooks::STATE;
    RotateWebhook POST "/v1/webhooks/{name}/rotate" webhooks::ROTATE;
    ReplayWebhook POST "/v1/webhooks/{name}/replay" webhooks::REPLAY;
    TestWebhook POST "/v1/webhooks/{name}/test" webhooks::TEST;
    AdminState GET "/v1/admin/state" admin::STATE;
    Pause POST "/v1/admin/pause" admin::PAUSE;
    Resume POST "/v1/admin/resume" admin::RESUME;
    AfterRestore POST "/v1/admin/after-restore" admin::AFTER_RESTORE;
    WouldSend GET "/v1/admin/would-send" admin::WOULD_SEND;
    Release POST "/v1/admin/release" admin::RELEASE;
    Purge POST "/v1/admin/purge" retention::PURGE;
    Erase POST "/v1/admin/erase" retention::ERASE;
    Holds GET "/v1/admin/holds" retention::HOLDS;
    Hold POST "/v1/admin/holds" retention::HOLD;
    Healthz GET "/healthz" health::HEALTHZ;
    Readyz GET "/readyz" health::READYZ;
    Document GET "/openapi.json" health::DOCUMENT;
}

/// What a caller's token has to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// No token at all.
    Nothing,
    /// Any token.
    Token,
    /// One of these scopes.
    AnyOf(&'static [Scope]),
    /// One of these scopes, under one's own authority: it is about all of the tenant's.
    Whole(&'static [Scope]),
    /// To administer a tenant, under one's own authority.
    Admin,
    /// To run the installation.
    Operator,
}

impl Call {
    /// What a caller's token has to allow for it.
    #[expect(clippy::too_many_lines, reason = "a table: a row for each call")]
    pub(crate) fn need(self) -> Need {
        match self {
            Self::Healthz | Self::Readyz | Self::Keys | Self::Deliver => Need::Nothing,
            Self::Document => Need::Token,
            Self::Submit | Self::Cancel | Self::Propose | Self::Supersede => {
                Need::AnyOf(&[Scope::Submit])
            }
            Self::Proposals | Self::Proposal => {
                Need::AnyOf(&[Scope::Read, Scope::Submit, Scope::Approve, Scope::Review])
            }
            Self::Approve => Need::AnyOf(&[Scope::Approve]),
            Self::Decline => Need::AnyOf(&[Scope::Approve, Scope::Submit]),
            Self::List | Self::Status | Self::Evidence | Self::Receipt | Self::Events => {
                Need::AnyOf(&[Scope::Read, Scope::Submit, Scope::Review])
            }
            Self::Destinations | Self::Destination => {
                Need::AnyOf(&[Scope::Read, Scope::Submit, Scope::Review, Scope::Callback])
            }
            Self::Review
            | Self::Verdict
            | Self::CheckAgain
            | Self::Take
            | Self::GiveBack
            | Self::Note
            | Self::CheckMany
            | Self::Verdicts
            | Self::Match
            | Self::Incident => Need::AnyOf(&[Scope::Review]),
            Self::Callbacks => Need::Whole(&[Scope::Callback]),
            Self::ClaimWork
            | Self::BeginWork
            | Self::HeartbeatWork
            | Self::ReportWork
            | Self::ReturnWork => Need::Whole(&[Scope::Work]),
            Self::Conversation | Self::Told | Self::Acknowledge | Self::Corrections => {
                Need::Whole(&[Scope::Submit, Scope::Review])
            }
            Self::DestinationState
            | Self::Principals
            | Self::AddPrincipal
            | Self::Principal
            | Self::PrincipalState
            | Self::Grants
            | Self::AddGrant
            | Self::Grant
            | Self::GrantState
            | Self::Tokens
            | Self::AddToken
            | Self::Token
            | Self::TokenState
            | Self::RotateToken
            | Self::Webhooks
            | Self::AddWebhook
            | Self::Webhook
            | Self::WebhookState
            | Self::RotateWebhook
            | Self::ReplayWebhook
            | Self::TestWebhook => Need::Admin,
            Self::Tenants
            | Self::AddTenant
            | Self::Tenant
            | Self::TenantState
            | Self::AdminState
            | Self::Pause
            | Self::Resume
            | Self::AfterRestore
            | Self::WouldSend
            | Self::Release
            | Self::Purge
            | Self::Erase
            | Self::Holds
            | Self::Hold => Need::Operator,
        }
    }

    /// Who asks needs no token, and is answered nothing about actions.
    pub(crate) fn is_open(self) -> bool {
        self.need() == Need::Nothing
    }
}
