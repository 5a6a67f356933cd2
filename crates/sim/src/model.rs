//! The exhaustive model: breadth first over every world that a small setting can reach. Every decision, permission and state
//! is the core's; nothing of it is modelled again.
