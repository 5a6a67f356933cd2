//! At least one scripted story per rule of the fine print, named after the rule: the behaviour, and the mistake not made.

mod cancel;
mod people;
mod time;
mod words;
