//! Where it is written down: one trait, memory and SQLite behind it.
