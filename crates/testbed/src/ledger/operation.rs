//! The name of an operation that is stood in for, as a value that can be copied like the other kinds.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The name of an operation of the catalogue: `zendesk.ticket.create`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(&'static str);

/// Every name once, for as long as the process lives.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
/// More than any catalogue has. Names that come in a ledger's file or a query cannot fill the memory.
const NAMES_MAX: usize = 10_000;

impl Operation {
    /// The operation of this name; none where it cannot be one: it needs a provider, a dot and an operation.
    #[must_use]
    pub fn named(name: &str) -> Option<Operation> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let (provider, operation) = name.split_once('.')?;
        if provider.is_empty() || operation.is_empty() || !name.bytes().all(plain) {
            return None;
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Some(Operation(known));
        }
        if names.len() >= NAMES_MAX || name.len() > 200 {
            return None;
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.insert(kept);
        Some(Operation(kept))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }
}
