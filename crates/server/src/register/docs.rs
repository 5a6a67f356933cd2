//! What is said about the calls on who may do what.

use factum::Code;

use crate::actions::{AFTER, LIMIT_PARAM};
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

/// A question, as all of them are asked.
pub(crate) const READS: Doc = Doc {
    name: "",
    summary: "",
    says: "",
    query: &[TENANT_PARAM],
    headers: &[],
    body: None,
    answers: &[],
    problems: &[Code::UnknownName],
};

/// A listing, as all of them are asked for.
const LISTS: Doc = Doc {
    query: &[TENANT_PARAM, AFTER, LIMIT_PARAM],
    ..READS
};

/// A change, as all of them are made: that of how something stands has this body, and others their own.
pub(crate) const CHANGES: Doc = Doc {
    body: Some(("StateRequest", true)),
    problems: BODY,
    ..READS
};

pub(crate) const TENANTS: Doc = Doc {
    name: "list_tenants",
    summary: "The operator's customers.",
    query: &[AFTER, LIMIT_PARAM],
    answers: &[(200, "A page of them, by name.", "TenantList")],
    ..READS
};

pub(crate) const ADD_TENANT: Doc = Doc {
    name: "add_tenant",
    summary: "Makes a tenant.",
    query: &[],
    body: Some(("NewTenant", true)),
    answers: &[(201, "It is made.", "Tenant")],
    ..CHANGES
};

pub(crate) const TENANT: Doc = Doc {
    name: "tenant",
    summary: "One tenant, with everything that was changed about it.",
    query: &[],
    answers: &[(200, "The tenant.", "Tenant")],
    ..READS
};

pub(crate) const TENANT_STATE: Doc = Doc {
    name: "set_tenant_state",
    summary: "Suspends, resumes or revokes a tenant.",
    says: STANDING,
    query: &[],
    answers: &[(200, "The tenant as it stands then.", "Tenant")],
    ..CHANGES
};

pub(crate) const PRINCIPALS: Doc = Doc {
    name: "list_principals",
    summary: "Who asks, or for whom.",
    answers: &[(200, "A page of them, by name.", "PrincipalList")],
    ..LISTS
};

pub(crate) const ADD_PRINCIPAL: Doc = Doc {
    name: "add_principal",
    summary: "Makes a principal.",
    body: Some(("NewPrincipal", true)),
    answers: &[(201, "It is made.", "Principal")],
    ..CHANGES
};

pub(crate) const PRINCIPAL: Doc = Doc {
    name: "principal",
    summary: "One principal, with everything that was changed about it.",
    answers: &[(200, "The principal.", "Principal")],
    ..READS
};

pub(crate) const PRINCIPAL_STATE: Doc = Doc {
    name: "set_principal_state",
    summary: "Suspends, resumes or revokes a principal.",
    says: STANDING,
    answers: &[(200, "The principal as it stands then.", "Principal")],
    ..CHANGES
};

pub(crate) const GRANTS: Doc = Doc {
    name: "list_grants",
    summary: "Delegated authority: what a principal may do, for whom, and up to which limits.",
    answers: &[(200, "A page of them, by name.", "GrantList")],
    ..LISTS
};

pub(crate) const ADD_GRANT: Doc = Doc {
    name: "add_grant",
    summary: "Makes a grant.",
    body: Some(("NewGrant", true)),
    answers: &[(201, "It is made.", "Grant")],
    ..CHANGES
};

pub(crate) const GRANT: Doc = Doc {
    name: "grant",
    summary: "One grant, with everything that was changed about it.",
    answers: &[(200, "The grant.", "Grant")],
    ..READS
};

pub(crate) const GRANT_STATE: Doc = Doc {
    name: "set_grant_state",
    summary: "Suspends, resumes or revokes a grant.",
    says: STANDING,
    answers: &[(200, "The grant as it stands then.", "Grant")],
    ..CHANGES
};

pub(crate) const TOKENS: Doc = Doc {
    name: "list_tokens",
    summary: "What callers show to be let in. The token itself is shown once, when it is made.",
    answers: &[(200, "A page of them, by name.", "TokenList")],
    ..LISTS
};

pub(crate) const ADD_TOKEN: Doc = Doc {
    name: "add_token",
    summary: "Makes a token.",
    body: Some(("NewToken", true)),
    answers: &[(
        201,
        "The token: `token` is shown here, and never again.",
        "MadeToken",
    )],
    ..CHANGES
};

pub(crate) const TOKEN: Doc = Doc {
    name: "token",
    summary: "One token, with everything that was changed about it.",
    answers: &[(200, "The token.", "Token")],
    ..READS
};

pub(crate) const TOKEN_STATE: Doc = Doc {
    name: "set_token_state",
    summary: "Suspends, resumes or revokes a token.",
    says: STANDING,
    answers: &[(200, "The token as it stands then.", "Token")],
    ..CHANGES
};

pub(crate) const ROTATE_TOKEN: Doc = Doc {
    name: "rotate_token",
    summary: "Makes a token in place of another one, which counts for some time longer.",
    says: "Both count until the old one is over, so that no caller is locked out while it is changed.",
    body: Some(("RotationRequest", false)),
    answers: &[(
        201,
        "The new token: `token` is shown here, and never again.",
        "MadeToken",
    )],
    ..CHANGES
};

pub(crate) const DESTINATION_STATE: Doc = Doc {
    name: "set_destination_state",
    summary: "Switches a destination off, or on again.",
    says: STANDING,
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
    ..CHANGES
};
