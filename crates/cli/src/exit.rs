//! The exit codes, once: what scripts may rely on. They speak of the command, never of the action that it was about.

use std::process::ExitCode;

/// The command did what it was asked to do. The action's state is in its output.
pub(crate) const OK: u8 = 0;
/// Something was found to be wrong (`doctor`), or failed in a way that has no code of its own.
pub(crate) const FINDINGS: u8 = 1;
/// Wrong usage, unreadable input or a configuration with an error.
pub(crate) const USAGE: u8 = 2;
/// No such action, destination, operation or page.
pub(crate) const NOT_FOUND: u8 = 3;
/// The identity names another intent, or that cannot be done in the action's state.
pub(crate) const CONFLICT: u8 = 4;
/// Nobody could be asked: the store is held and its holder unknown, no connection, 429, 503, 507. Trying again may help.
pub(crate) const UNAVAILABLE: u8 = 5;
/// Refused by a rule, a token included. Trying again does not help.
pub(crate) const REFUSED: u8 = 6;
/// `factum demo` or `factum torture` saw a law broken.
pub(crate) const LAW_BROKEN: u8 = 10;

/// Every code with its meaning, in the order of the numbers.
pub(crate) const ALL: &[(u8, &str)] = &[
    (
        OK,
        "the command did what it was asked to do; the action's state is in its output",
    ),
    (
        FINDINGS,
        "findings (doctor), or a failure that has no code of its own",
    ),
    (
        USAGE,
        "wrong usage, unreadable input, or a configuration with an error",
    ),
    (NOT_FOUND, "no such action, destination, operation or page"),
    (
        CONFLICT,
        "the identity names another intent, or that cannot be done in the action's state",
    ),
    (
        UNAVAILABLE,
        "nobody could be asked (store held, no connection, 429, 503, 507); trying again may help",
    ),
    (
        REFUSED,
        "refused by a rule, a wrong token included; trying again does not help",
    ),
    (LAW_BROKEN, "demo: a law was broken"),
];

/// The table for help texts.
pub(crate) fn table() -> String {
    ALL.iter()
        .map(|(code, meaning)| format!("  {code:>2}  {meaning}\n"))
        .collect()
}

/// A number as the process's exit code.
pub(crate) fn code(number: u8) -> ExitCode {
    ExitCode::from(number)
}

/// The exit code that goes with a problem, by its code and HTTP status.
pub(crate) fn of_problem(code: &str, status: u64) -> u8 {
    match (code, status) {
        ("F1007" | "F1021", _) => CONFLICT,
        ("F1040" | "F1041" | "F1042", _) | (_, 400 | 413 | 415) => USAGE,
        (_, 404) => NOT_FOUND,
        (_, 409) => CONFLICT,
        (_, 429 | 503 | 507) => UNAVAILABLE,
        (_, 400..=499) => REFUSED,
        _ => FINDINGS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use factum::Code;

    #[test]
    fn every_problem_has_an_exit_code_that_is_documented() {
        for code in Code::ALL {
            let exit = of_problem(code.code(), u64::from(code.status()));
            assert_ne!(exit, OK, "{code:?}");
            assert!(
                ALL.iter().any(|(documented, _)| *documented == exit),
                "{code:?} exits with {exit}"
            );
        }
    }

    #[test]
    fn the_kinds_of_failure_are_told_apart() {
        let of = |code: Code| of_problem(code.code(), u64::from(code.status()));
        assert_eq!(of(Code::MalformedJson), USAGE);
        assert_eq!(of(Code::BadConfig), USAGE);
        assert_eq!(of(Code::UnknownAction), NOT_FOUND);
        assert_eq!(of(Code::IdentityConflict), CONFLICT);
        assert_eq!(of(Code::DoesNotApply), CONFLICT);
        assert_eq!(of(Code::StoreHeld), UNAVAILABLE);
        assert_eq!(of(Code::QueueFull), UNAVAILABLE);
        assert_eq!(of(Code::DeadlinePassed), REFUSED);
        assert_eq!(of(Code::Unauthorized), REFUSED);
        assert_eq!(of(Code::StoreDamaged), FINDINGS);
    }
}
