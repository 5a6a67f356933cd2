//! What is known about an action and what may be done next: pure.
