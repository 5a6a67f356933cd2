//! How far each action's evidence goes: what a checkpoint is made of.

use factum_core::ActionId;

/// How many records an action's chain has, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The action.
    pub action: ActionId,
    /// Records of evidence.
    pub records: u64,
    /// The last link; none where an older version wrote the action and gave it no chain.
    pub link: Option<[u8; 32]>,
}

/// What a store is called, and how much of it retention has taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// The store's own name, drawn when it was made; zeros in memory.
    pub store: [u8; 16],
    /// Actions that retention took away: those of which a tombstone is left, and those that are forgotten.
    pub taken_away: u64,
}
