//! Carry out actions in other people's systems and always know what can be proved about each.
