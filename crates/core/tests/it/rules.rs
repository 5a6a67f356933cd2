//! At least one scripted story per rule of the fine print, named after the rule: the behaviour, and the mistake not made.

mod answers;
mod bounds;
mod callbacks;
mod cancel;
mod cases;
mod ends;
mod keys;
mod lookups;
mod missing;
mod people;
mod restore;
mod twins;
