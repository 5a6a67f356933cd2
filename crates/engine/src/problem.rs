//! What an interface answers when it cannot do what was asked: member, rule and remedy, under a stable code.
//!
//! A destination's refusal is no problem of ours; it is evidence. Each code has a page under `docs/errors/`.

use std::time::Duration;

use factum_core::{ActionId, ProposalId};
use factum_store::{StoreError, StoreErrorKind};

/// Why a request was not carried out. Nothing was recorded unless the code's page says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {rule} ({remedy})", code = .code.code())]
pub struct Problem {
    /// Which kind.
    pub code: Code,
    /// JSON pointer of the member that it is about; empty for the whole request.
    pub member: Box<str>,
    /// The rule that was broken.
    pub rule: Box<str>,
    /// What to do about it.
    pub remedy: Box<str>,
    /// The action that it is about.
    pub action: Option<ActionId>,
    /// The proposal that it is about.
    pub proposal: Option<Box<ProposalId>>,
    /// Not before this long.
    pub retry_after: Option<Duration>,
}

macro_rules! codes {
    ($($variant:ident $code:literal $slug:literal $status:literal $title:literal;)*) => {
        /// The kinds of problem. Codes are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $title] $variant,)* }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// `F1007` and the like.
            #[must_use]
            pub fn code(self) -> &'static str { match self { $(Self::$variant => $code,)* } }

            /// The last part of the problem's URN: `urn:factum:problem:identity-conflict`.
            #[must_use]
            pub fn slug(self) -> &'static str { match self { $(Self::$variant => $slug,)* } }

            /// The HTTP status that goes with it.
            #[must_use]
            pub fn status(self) -> u16 { match self { $(Self::$variant => $status,)* } }

            /// One line for people.
            #[must_use]
            pub fn title(self) -> &'static str { match self { $(Self::$variant => $title,)* } }
        }
    };
}

codes! {
    MalformedJson "F1001" "malformed-json" 400 "the body is not JSON";
    UnknownMember "F1002" "unknown-member" 400 "the body has a member that is not known";
    WrongType "F1003" "wrong-type" 400 "a member has the wrong type or form";
    MissingIdentity "F1004" "missing-identity" 400 "the submission names no identity";
    UnknownDestination "F1005" "unknown-destination" 404 "no destination of this name is configured";
    UnknownOperation "F1006" "unknown-operation" 404 "the destination has no operation of this name";
    IdentityConflict "F1007" "identity-conflict" 422 "the identity names an action with another intent";
    DeadlinePassed "F1008" "deadline-passed" 422 "the deadline is not in the future";
    TooLarge "F1009" "too-large" 413 "the body is larger than is allowed";
    NumberRange "F1010" "number-range" 400 "a number is beyond what a double can hold";
    BadIdentity "F1011" "bad-identity" 400 "the identity has a form that is not allowed";
    BadParams "F1012" "bad-params" 422 "the request cannot be built from params and payload";
    DuplicateMember "F1013" "duplicate-member" 400 "an object has the same member twice";
    TooDeep "F1014" "too-deep" 400 "the body is nested deeper than is allowed";
    BadTimes "F1015" "bad-times" 422 "the times of the submission contradict each other";
    IdentityTwice "F1016" "identity-twice" 400 "header and body name different identities";
    BadInput "F1017" "bad-input" 422 "params or payload do not fit the operation's input schema";
    PossibleDuplicate "F1018" "possible-duplicate" 409 "equal content was submitted under another identity";
    UnknownAction "F1020" "unknown-action" 404 "there is no such action";
    DoesNotApply "F1021" "does-not-apply" 409 "that cannot be done in the action's state";
    Unauthorized "F1022" "unauthorized" 401 "the token is missing or wrong";
    UnknownRoute "F1023" "unknown-route" 404 "there is no such address";
    WrongMethod "F1024" "wrong-method" 405 "the address does not take this method";
    BadQuery "F1025" "bad-query" 400 "a query parameter is unknown or has the wrong form";
    WrongMediaType "F1026" "wrong-media-type" 415 "the body has to be JSON";
    RequestTimeout "F1027" "request-timeout" 408 "the request did not arrive whole in time";
    CallbackRefused "F1028" "callback-refused" 401 "the callback is not the destination's";
    CallbackUnchecked "F1029" "callback-unchecked" 503 "the callback cannot be checked now";
    QueueFull "F1030" "queue-full" 429 "as many actions are unsettled as are allowed";
    StoreUnavailable "F1031" "store-unavailable" 503 "the store cannot be written now";
    DiskFull "F1032" "disk-full" 507 "the disk that holds the store is full";
    ShuttingDown "F1033" "shutting-down" 503 "the engine is shutting down";
    UnknownConversation "F1034" "unknown-conversation" 404 "there is no such conversation";
    BadConfig "F1040" "bad-config" 500 "the configuration has an error";
    BadContract "F1041" "bad-contract" 500 "a contract has an error";
    BadMessages "F1042" "bad-messages" 500 "a message file has an error";
    StoreHeld "F1050" "store-held" 503 "another process holds the store";
    StoreTooNew "F1051" "store-too-new" 500 "the store was written by a newer version";
    StoreDamaged "F1052" "store-damaged" 500 "a row or file of the store is damaged";
    StoreFailed "F1053" "store-failed" 500 "the database reported an error";
    Internal "F1054" "internal" 500 "something broke on our side";
    OlderWorkers "F1055" "older-workers" 503 "workers of an older version still work on the store";
    Forbidden "F1060" "forbidden" 403 "the token does not allow this";
    AuthorityEnded "F1061" "authority-ended" 403 "there is no authority for this any more";
    BeyondGrant "F1062" "beyond-grant" 403 "the grant does not go that far";
    UnknownName "F1063" "unknown-name" 404 "nothing of this name is registered";
    NameTaken "F1064" "name-taken" 409 "something of this name is registered already";
    ApprovalRequired "F1080" "approval-required" 403 "the operation asks for an approval before anything is sent";
    UnknownProposal "F1081" "unknown-proposal" 404 "there is no such proposal";
    ProposalClosed "F1082" "proposal-closed" 409 "the proposal is not open to a decision any more";
    ProposalChanged "F1083" "proposal-changed" 409 "what would be sent is not what the decision names";
    ProposalOpen "F1084" "proposal-open" 409 "the identity has another proposal that waits for a decision";
    NotTheirDecision "F1085" "not-their-decision" 403 "the principal may not approve this proposal";
    UnknownClaim "F1100" "unknown-claim" 404 "there is no such claim";
    ClaimOver "F1101" "claim-over" 409 "the claim is not held any more";
    AlreadyBegun "F1102" "already-begun" 409 "an attempt was begun under this claim before";
    NotBegun "F1103" "not-begun" 409 "nothing was begun under this claim";
    NothingToBegin "F1104" "nothing-to-begin" 409 "nothing may be sent under this claim now";
    TakenByOther "F1110" "taken-by-other" 409 "somebody else works on it";
    SecondPerson "F1111" "second-person" 409 "a second person has to say the same";
    AgainstEvidence "F1112" "against-evidence" 409 "the evidence says otherwise";
    ListChanged "F1113" "list-changed" 409 "the list is another one than was shown";
    EventsForgotten "F1120" "events-forgotten" 410 "the events behind that place are not kept any more";
    TooManyStreams "F1121" "too-many-streams" 429 "as many streams of events are open as are allowed";
    BadWebhook "F1122" "bad-webhook" 422 "nothing is posted to that address";
    Purged "F1130" "purged" 410 "what was asked for was purged";
    IdentityExpired "F1131" "identity-expired" 410 "the identity is older than identities are kept";
    MissingIntentTime "F1132" "missing-intent-time" 400 "the submission does not say when its intent was formed";
    RateLimited "F1150" "rate-limited" 429 "the token makes more requests than are allowed";
    AnswerTimeout "F1151" "answer-timeout" 504 "the answer took too long";
    NoSigningKey "F1160" "no-signing-key" 503 "there is no key to sign with";
    NotAuthentic "F1161" "not-authentic" 422 "the signature does not fit";
    UnreadableDocument "F1162" "unreadable-document" 422 "it is no document of this kind";
    CheckpointFailed "F1163" "checkpoint-failed" 500 "the checkpoint cannot be written or read";
    SignedOut "F1170" "signed-out" 401 "nobody is signed in at the console";
    ForeignForm "F1171" "foreign-form" 403 "the form is not of this console, or of another session";
    ActionChanged "F1172" "action-changed" 409 "the action has changed since it was shown";
    NoProvider "F1190" "no-provider" 502 "the identity provider cannot be used";
    SignInRefused "F1191" "sign-in-refused" 403 "the identity provider's answer signs nobody in";
    NoRole "F1192" "no-role" 403 "whoever signed in has no role here";
}

impl Code {
    /// The kind with this code.
    #[must_use]
    pub fn from_code(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.code().eq_ignore_ascii_case(text))
    }
}

impl Problem {
    /// A new problem.
    #[must_use]
    pub fn new(
        code: Code,
        member: impl Into<Box<str>>,
        rule: impl Into<Box<str>>,
        remedy: impl Into<Box<str>>,
    ) -> Self {
        Self {
            code,
            member: member.into(),
            rule: rule.into(),
            remedy: remedy.into(),
            action: None,
            proposal: None,
            retry_after: None,
        }
    }

    /// The same, about this action.
    #[must_use]
    pub fn about(self, action: ActionId) -> Self {
        Self {
            action: Some(action),
            ..self
        }
    }

    /// The same, about this proposal.
    #[must_use]
    pub fn about_proposal(self, id: ProposalId) -> Self {
        Self {
            proposal: Some(Box::new(id)),
            ..self
        }
    }

    /// The same, to be tried again after this long.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self {
            retry_after: Some(wait),
            ..self
        }
    }

    /// There is no action of this id.
    #[must_use]
    pub fn unknown_action(id: ActionId) -> Self {
        Self::new(
            Code::UnknownAction,
            "",
            format!("no action {id} is recorded here"),
            "check the id; it is in the answer to the submission",
        )
        .about(id)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let rule = error.to_string();
        match error.kind {
            StoreErrorKind::Unavailable(_) | StoreErrorKind::InDoubt(_) => Self::new(
                Code::StoreUnavailable,
                "",
                rule,
                "try again; the same identity joins",
            )
            .after(Duration::from_secs(1)),
            StoreErrorKind::Full => Self::new(
                Code::DiskFull,
                "",
                rule,
                "free space on the disk that holds the store",
            )
            .after(Duration::from_secs(30)),
            StoreErrorKind::Corrupt { .. } => Self::new(
                Code::StoreDamaged,
                "",
                rule,
                "run `factum doctor`; restore a backup if it says so",
            ),
            StoreErrorKind::TooNew { .. } => {
                Self::new(Code::StoreTooNew, "", rule, "run the newer program")
            }
            StoreErrorKind::OlderWorkers { .. } => Self::new(
                Code::OlderWorkers,
                "",
                rule,
                "stop the workers of the older version, and do it again",
            ),
            StoreErrorKind::Held { .. } => Self::new(
                Code::StoreHeld,
                "",
                rule,
                "stop the other process, or set FACTUM_URL to talk to it",
            ),
            StoreErrorKind::Unsuitable { .. } => Self::new(
                Code::BadConfig,
                "/store/url",
                rule,
                "put the store on a local disk",
            ),
            StoreErrorKind::Database(_) => Self::new(
                Code::StoreFailed,
                "",
                rule,
                "see the log; run `factum doctor`",
            ),
        }
    }
}

/// The problem of a request that cannot be built from what was submitted.
#[must_use]
pub fn from_build_error(error: &factum_contract::BuildError) -> Problem {
    match &error.wanted {
        Some(wanted) => Problem::new(
            Code::BadInput,
            error.member.clone(),
            wanted.as_str(),
            "correct it, and send it again",
        ),
        None => Problem::new(
            Code::BadParams,
            error.member.clone(),
            error.kind.rule(),
            error.kind.remedy(),
        ),
    }
}
