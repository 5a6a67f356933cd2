//! What `factum demo` and `factum torture` share: the engine as a child process, callers with patience and memory, and the
//! judgement of what the engine says against the destination's own ledger.

pub(crate) mod api;
pub(crate) mod books;
pub(crate) mod collect;
pub(crate) mod engine;
pub(crate) mod judge;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod section;
pub(crate) mod settled;
