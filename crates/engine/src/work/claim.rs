//! The name of a claim, as it is handed to a worker: everything that is needed to go on with it, on any worker of the store, under a
//! seal that only the installation's keys make.

use factum_core::{ActionId, Epoch, Timestamp, WorkerNonce};
use factum_store::{Claim, Record, Restore};

use crate::keys::Keys;
use crate::problem::{Code, Problem};

/// What is to be done under a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TicketKind {
    /// Make the effect.
    Send,
    /// Look whether it exists.
    LookUp,
}

impl TicketKind {
    /// The word for it, which is that of the next step.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::LookUp => "look_up",
        }
    }
}

/// A claim, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// What is held.
    pub action: ActionId,
    /// The store's token.
    pub token: u64,
    /// The claim's own nonce, which stands in the mark that it brings (R12).
    pub nonce: WorkerNonce,
    /// What is to be done.
    pub kind: TicketKind,
    /// The store's time before it was handed out: a lookup was asked after it (R2).
    pub at: Timestamp,
    /// The epoch that a lookup asks for.
    pub epoch: Epoch,
}

const PREFIX: &str = "wrk_";
const BYTES: usize = 16 + 8 + 8 + 1 + 8 + 4;
const SEAL: usize = 16;

impl Ticket {
    /// Its name.
    #[must_use]
    pub fn text(&self, keys: &Keys) -> String {
        let mut bytes = self.bytes();
        let seal = keys.work(&bytes);
        bytes.extend_from_slice(&seal);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{PREFIX}{hex}")
    }

    /// The claim of this name.
    ///
    /// # Errors
    /// [`Code::UnknownClaim`]: nothing here handed it out.
    pub fn read(text: &str, keys: &Keys) -> Result<Self, Problem> {
        let unknown = || {
            let remedy = "send the claim from the answer to POST /v1/work/claim";
            Problem::new(Code::UnknownClaim, "", "no claim has this name", remedy)
        };
        let hex = text.strip_prefix(PREFIX).ok_or_else(unknown)?;
        let bytes = bytes_of(hex).ok_or_else(unknown)?;
        let (said, seal) = bytes.split_at_checked(BYTES).ok_or_else(unknown)?;
        // Hashes are compared in constant time by their type.
        let sealed = keys.work(said);
        let same = seal.len() == SEAL && widened(&sealed) == widened(seal);
        if !same {
            return Err(unknown());
        }
        Self::of_bytes(said).ok_or_else(unknown)
    }

    /// The store's claim that it names, for a decision that was made on this record under this edition of the register.
    pub fn hold(&self, record: &Record, edition: u64) -> Claim {
        Claim {
            action: self.action,
            token: self.token,
            version: record.version,
            overtaken: record.overtaken,
            until: Timestamp::NEVER,
            under: Some(edition),
        }
    }

    /// Whether the store has come back from a copy since it was handed out. What was claimed, marked or withdrawn meanwhile may be lost,
    /// and its token may be another's now.
    #[must_use]
    pub fn is_before(&self, restore: Option<&Restore>) -> bool {
        restore.is_some_and(|restore| self.at <= restore.at)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES + SEAL);
        bytes.extend_from_slice(&self.action.to_bytes());
        bytes.extend_from_slice(&self.token.to_be_bytes());
        bytes.extend_from_slice(&self.nonce.0.to_be_bytes());
        bytes.push(match self.kind {
            TicketKind::Send => 0,
            TicketKind::LookUp => 1,
        });
        bytes.extend_from_slice(&self.at.as_micros().to_be_bytes());
        bytes.extend_from_slice(&self.epoch.0.to_be_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (action, rest) = bytes.split_first_chunk::<16>()?;
        let (token, rest) = rest.split_first_chunk::<8>()?;
        let (nonce, rest) = rest.split_first_chunk::<8>()?;
        let (kind, rest) = rest.split_first()?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let (epoch, _) = rest.split_first_chunk::<4>()?;
        Some(Self {
            action: ActionId::from_bytes(*action),
            token: u64::from_be_bytes(*token),
            nonce: WorkerNonce(u64::from_be_bytes(*nonce)),
            kind: if *kind == 0 {
                TicketKind::Send
            } else {
                TicketKind::LookUp
            },
            at: Timestamp::from_micros(i64::from_be_bytes(*at)),
            epoch: Epoch(u32::from_be_bytes(*epoch)),
        })
    }
}

fn widened(seal: &[u8]) -> blake3::Hash {
    let mut wide = [0; 32];
    wide.iter_mut().zip(seal).for_each(|(to, from)| *to = *from);
    blake3::Hash::from_bytes(wide)
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || hex.len() != 2 * (BYTES + SEAL) {
        return None;
    }
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use factum_core::Lane;

    use super::*;

    fn ticket(kind: TicketKind) -> Ticket {
        Ticket {
            action: ActionId::new(Timestamp::from_micros(1_800_000_000_000_000), Lane(7), 9),
            token: u64::MAX - 3,
            nonce: WorkerNonce::elsewhere(5),
            kind,
            at: Timestamp::from_micros(1_800_000_000_000_123),
            epoch: Epoch(2),
        }
    }

    #[test]
    fn a_name_says_what_it_was_made_of_and_nobody_else_makes_one() {
        let keys = Keys::new([7; 32]);
        for kind in [TicketKind::Send, TicketKind::LookUp] {
            let text = ticket(kind).text(&keys);
            assert_eq!(Ticket::read(&text, &keys).unwrap(), ticket(kind));
            let others = Keys::new([8; 32]);
            let refused = Ticket::read(&text, &others).unwrap_err();
            assert_eq!(refused.code, Code::UnknownClaim);
            for at in PREFIX.len()..text.len() {
                let mut changed = text.clone().into_bytes();
                changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
                let changed = String::from_utf8(changed).unwrap();
                assert!(Ticket::read(&changed, &keys).is_err(), "{changed}");
            }
        }
        for text in ["", "wrk_", "wrk_00", "act_00", "wrk_é"] {
            assert!(Ticket::read(text, &keys).is_err(), "{text}");
        }
    }
}
