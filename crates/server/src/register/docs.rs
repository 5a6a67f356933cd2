//! What is said about the calls on who may do what.

use factum::Code;

use crate::call::{Doc, Param};
use crate::query::Kind;

const TENANT_PARAM: Param = Param::new(
    "tenant",
    Kind::Text,
    "of this tenant; only who runs the installation may name another than their own",
);

const BODY: &[Code] = &[
    Code::UnknownName,
    Code::NameTaken,
    Code::DoesNotApply,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
    Code::DiskFull,
];

const STANDING: &str = "`suspended` until it is `active` again, or `revoked` for good. Nothing that rests on it is sent from then on; what \
     may have been sent is looked up as before.";

pub(crate) const TENANTS: Doc = Doc {
    name: "list_tenants",
    summary: "The operator's customers.",
    says: "",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "All of them, by name.", "TenantList")],
    problems: &[Code::UnknownName],
};

pub(crate) const ADD_TENANT: Doc = Doc {
    name: "add_tenant",
    summary: "Makes a tenant.",
    says: "",
    query: &[],
    headers: &[],
    body: Some(("NewTenant", true)),
    answers: &[(201, "It is made.", "Tenant")],
    problems: BODY,
};

pub(crate) const TENANT: Doc = Doc {
    name: "tenant",
    summary: "One tenant, with everything that was changed about it.",
    says: "",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "The tenant.", "Tenant")],
    problems: &[Code::UnknownName],
};

pub(crate) const TENANT_STATE: Doc = Doc {
    name: "set_tenant_state",
    summary: "Suspends, resumes or revokes a tenant.",
    says: STANDING,
    query: &[],
    headers: &[],
    body: Some(("StateRequest", true)),
    answers: &[(200, "The tenant as it stands then.", "Tenant")],
    problems: BODY,
};

pub(crate) const PRINCIPALS: Doc = Doc {
    name: "list_principals",
    summary: "Who asks, or for whom.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "All of them, by name.", "PrincipalList")],
    problems: &[Code::UnknownName],
};

pub(crate) const ADD_PRINCIPAL: Doc = Doc {
    name: "add_principal",
    summary: "Makes a principal.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("NewPrincipal", true)),
    answers: &[(201, "It is made.", "Principal")],
    problems: BODY,
};

pub(crate) const PRINCIPAL: Doc = Doc {
    name: "principal",
    summary: "One principal, with everything that was changed about it.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "The principal.", "Principal")],
    problems: &[Code::UnknownName],
};

pub(crate) const PRINCIPAL_STATE: Doc = Doc {
    name: "set_principal_state",
    summary: "Suspends, resumes or revokes a principal.",
    says: STANDING,
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("StateRequest", true)),
    answers: &[(200, "The principal as it stands then.", "Principal")],
    problems: BODY,
};

pub(crate) const GRANTS: Doc = Doc {
    name: "list_grants",
    summary: "Delegated authority: what a principal may do, for whom, and up to which limits.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "All of them, by name.", "GrantList")],
    problems: &[Code::UnknownName],
};

pub(crate) const ADD_GRANT: Doc = Doc {
    name: "add_grant",
    summary: "Makes a grant.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("NewGrant", true)),
    answers: &[(201, "It is made.", "Grant")],
    problems: BODY,
};

pub(crate) const GRANT: Doc = Doc {
    name: "grant",
    summary: "One grant, with everything that was changed about it.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "The grant.", "Grant")],
    problems: &[Code::UnknownName],
};

pub(crate) const GRANT_STATE: Doc = Doc {
    name: "set_grant_state",
    summary: "Suspends, resumes or revokes a grant.",
    says: STANDING,
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("StateRequest", true)),
    answers: &[(200, "The grant as it stands then.", "Grant")],
    problems: BODY,
};

pub(crate) const TOKENS: Doc = Doc {
    name: "list_tokens",
    summary: "What callers show to be let in. The token itself is shown once, when it is made.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "All of them, by name.", "TokenList")],
    problems: &[Code::UnknownName],
};

pub(crate) const ADD_TOKEN: Doc = Doc {
    name: "add_token",
    summary: "Makes a token.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("NewToken", true)),
    answers: &[(
        201,
        "The token: `token` is shown here, and never again.",
        "MadeToken",
    )],
    problems: BODY,
};

pub(crate) const TOKEN: Doc = Doc {
    name: "token",
    summary: "One token, with everything that was changed about it.",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "The token.", "Token")],
    problems: &[Code::UnknownName],
};

pub(crate) const TOKEN_STATE: Doc = Doc {
    name: "set_token_state",
    summary: "Suspends, resumes or revokes a token.",
    says: STANDING,
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("StateRequest", true)),
    answers: &[(200, "The token as it stands then.", "Token")],
    problems: BODY,
};

pub(crate) const ROTATE_TOKEN: Doc = Doc {
    name: "rotate_token",
    summary: "Makes a token in place of another one, which counts for some time longer.",
    says: "Both count until the old one is over, so that no caller is locked out while it is changed.",
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("RotationRequest", false)),
    answers: &[(
        201,
        "The new token: `token` is shown here, and never again.",
        "MadeToken",
    )],
    problems: BODY,
};

pub(crate) const DESTINATION_STATE: Doc = Doc {
    name: "set_destination_state",
    summary: "Switches a destination off, or on again.",
    says: STANDING,
    query: &[TENANT_PARAM],
    headers: &[],
    body: Some(("StateRequest", true)),
    answers: &[(200, "The switch as it stands then.", "DestinationSwitch")],
    problems: &[
        Code::UnknownDestination,
        Code::UnknownName,
        Code::NameTaken,
        Code::DoesNotApply,
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
        Code::DiskFull,
    ],
};
