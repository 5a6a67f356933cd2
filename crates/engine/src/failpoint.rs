//! The named crash points C1 to C7, at which fault tests kill the process.
//!
//! They exist only in builds with the feature `failpoints`; elsewhere [`reach`] is nothing at all. So does the version that would come after
//! this one, for tests of upgrades.

/// Where a crash is interesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// Before the submission commits.
    C1,
    /// Committed, not claimed.
    C2,
    /// Claimed, not marked.
    C3,
    /// Marked, perhaps no byte written.
    C4,
    /// Written, no answer. No code of ours runs there: tests kill the process from outside while the destination holds its
    /// answer.
    C5,
    /// Answer read, not stored.
    C6,
    /// Stored, caller not answered.
    C7,
}

/// Kills this process with SIGKILL if `FACTUM_FAILPOINT` names this point, as `C4`, or `C4:3` for the third time.
#[cfg(feature = "failpoints")]
pub fn reach(point: CrashPoint) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static REACHED: AtomicU32 = AtomicU32::new(0);
    #[expect(
        clippy::disallowed_methods,
        reason = "failpoints are armed by the environment of a test"
    )]
    let Ok(armed) = std::env::var("FACTUM_FAILPOINT") else {
        return;
    };
    let (name, nth) = armed.split_once(':').unwrap_or((&armed, "1"));
    if name != format!("{point:?}") {
        return;
    }
    let nth: u32 = nth.parse().unwrap_or(1);
    if REACHED.fetch_add(1, Ordering::SeqCst) + 1 == nth {
        kill_self();
    }
}

#[cfg(feature = "failpoints")]
fn kill_self() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

/// The migration of the version that this process is to be taken for, one after this one, if a test says so in `FACTUM_NEXT`.
#[cfg(feature = "failpoints")]
#[must_use]
pub fn next_version() -> Option<&'static str> {
    let armed = std::env::var_os("FACTUM_NEXT").is_some();
    armed.then_some("ALTER TABLE factum.action ADD COLUMN next_thing text")
}

/// None, in a build without failpoints.
#[cfg(not(feature = "failpoints"))]
#[inline]
#[must_use]
pub fn next_version() -> Option<&'static str> {
    None
}

/// Nothing, in a build without failpoints.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn reach(_point: CrashPoint) {}
