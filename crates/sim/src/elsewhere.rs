//! Deliberate mistakes in what neither the model nor the simulator has a hand in: sockets, files, threads. Each is noticed by a
//! test of the crate that could make it, which is run like any other.

use factum_core::mistake::Mistake;

/// The mistakes, and for each the file and the function of the test that makes it and has to notice it.
pub const TESTS: &[(Mistake, &str, &str)] = &[
    (
        Mistake::ToldWhenItArrives,
        "crates/sim/tests/it/mistakes.rs",
        "a_race_of_words_is_noticed",
    ),
    (
        Mistake::PartsUnescaped,
        "crates/engine/src/key_template.rs",
        "parts_that_are_joined_as_they_are_are_noticed",
    ),
    (
        Mistake::CopiedOutboxTaken,
        "crates/factum/tests/it/outbox.rs",
        "a_copied_file_that_is_taken_is_noticed",
    ),
    (
        Mistake::BatchAnsweredAsWritten,
        "crates/store/tests/it/sqlite/group.rs",
        "a_batch_that_is_answered_as_written_is_noticed",
    ),
    (
        Mistake::BytesCountedByAnAnswer,
        "crates/transport/tests/it/cuts.rs",
        "bytes_that_are_not_counted_are_noticed",
    ),
    (
        Mistake::ForgottenIsNew,
        "crates/store/tests/it/suite/retention.rs",
        "an_old_intent_that_is_taken_as_new_is_noticed",
    ),
];

/// The test that has to notice this mistake: `None` where the model or the simulator has to.
#[must_use]
pub fn test_of(mistake: Mistake) -> Option<String> {
    let row = TESTS.iter().find(|(named, _, _)| *named == mistake);
    row.map(|(_, file, test)| format!("{file}: {test}"))
}
