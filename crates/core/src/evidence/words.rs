//! The words for evidence in tables, logs and stored rows. Each stands here once.

use super::{AnswerClass, Fact, PermissionKind, ReviewWhy};

impl Fact {
    /// The word for this kind of fact in tables, logs and stored rows.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Marked(_) => "marked",
            Self::NotSent { .. } => "not_sent",
            Self::Lost(_) => "lost",
            Self::Answered(_) => "answered",
            Self::ProcessGone { .. } => "process_gone",
            Self::LeaseOver { .. } => "lease_over",
            Self::LeaseExtended { .. } => "lease_extended",
            Self::LookedUp(_) => "looked_up",
            Self::Polled { .. } => "polled",
            Self::CancelMarked(_) => "cancel_marked",
            Self::CancelAnswered { .. } => "cancel_answered",
            Self::CalledBack(_) => "called_back",
            Self::Verdict(_) => "verdict",
            Self::Taken { .. } => "taken",
            Self::Released { .. } => "released",
            Self::CheckAgain { .. } => "check_again",
            Self::CancelRequested { .. } => "cancel_requested",
            Self::AuthorityLost { .. } => "authority_lost",
            Self::DeadlinePassed { .. } => "deadline_passed",
            Self::ApprovalOver { .. } => "approval_over",
            Self::GaveUp { .. } => "gave_up",
            Self::SearchEnded { .. } => "search_ended",
            Self::ClockRead { .. } => "clock_read",
            Self::ReviewOpened { .. } => "review_opened",
            Self::StoreRestored { .. } => "store_restored",
            Self::NotAdmitted { .. } => "not_admitted",
            Self::Reread { .. } => "reread",
            Self::Unsupported { .. } => "unsupported",
            Self::Noted { .. } => "noted",
        }
    }
}

impl PermissionKind {
    /// The design's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::ProvenNotSent => "proven_not_sent",
            Self::SameKey => "same_key",
            Self::ProvenAbsent => "proven_absent",
            Self::Harmless => "harmless",
            Self::Ordered(_) => "ordered",
        }
    }
}

impl AnswerClass {
    /// The design's word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Accepted { .. } => "accepted",
            Self::Rejected { .. } => "rejected",
            Self::Declined { .. } => "declined",
            Self::InProgress => "in_progress",
            Self::AlreadyExists { .. } => "already_exists",
            Self::Mismatch => "mismatch",
            Self::Busy => "busy",
            Self::Unknown => "unknown",
        }
    }
}

impl ReviewWhy {
    /// The word in counters and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NothingToAsk => "nothing_to_ask",
            Self::NotFoundByPartialLookup => "not_found_by_partial_lookup",
            Self::PolicyWantsPerson => "policy_wants_person",
            Self::BoundReached => "bound_reached",
            Self::KeyMismatch => "key_mismatch",
            Self::NotRecognised => "not_recognised",
            Self::DuplicateSuspected => "duplicate_suspected",
            Self::VerdictContradicted => "verdict_contradicted",
            Self::SendBarred => "send_barred",
            Self::CompletionUnknown => "completion_unknown",
        }
    }

    /// A whole sentence for the person who decides.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NothingToAsk => {
                "the answer was lost and the destination offers nothing to find out by"
            }
            Self::NotFoundByPartialLookup => {
                "the destination's lookup lags or leaves things out, and it did not show the effect"
            }
            Self::PolicyWantsPerson => "the policy for this consequence wants a person to decide",
            Self::BoundReached => {
                "as many attempts, lookups, cancels or polls were made as are allowed"
            }
            Self::KeyMismatch => "the destination holds other content under our key",
            Self::NotRecognised => {
                "something of this name exists there and is not recognised as ours"
            }
            Self::DuplicateSuspected => "more than one effect was seen at the destination",
            Self::VerdictContradicted => {
                "the destination's evidence contradicts a person's verdict"
            }
            Self::SendBarred => {
                "sending is barred and the destination offers nothing to find out by"
            }
            Self::CompletionUnknown => {
                "the destination accepted the work and its completion cannot be learned"
            }
        }
    }
}
