//! Making a failing run small: fewer actions, fewer workers, fewer kinds of trouble, shorter, as long as some law still breaks.

use super::options::{Options, Trouble};
use super::{Outcome, Served, run_with};

/// Smaller options under which a law still breaks, and that run.
pub(super) fn shrink(from: &Options, served: &[Served]) -> Outcome {
    let mut best = run_with(from, served, false);
    loop {
        let smaller = candidates(&best.options).into_iter().find_map(|options| {
            let outcome = run_with(&options, served, false);
            outcome.broken.is_some().then_some(outcome)
        });
        match smaller {
            Some(outcome) => best = outcome,
            None => return run_with(&best.options, served, true),
        }
    }
}

/// Everything that is one step smaller, the largest steps first.
fn candidates(options: &Options) -> Vec<Options> {
    let mut smaller = Vec::new();
    let mut with = |change: &dyn Fn(&mut Options)| {
        let mut changed = options.clone();
        change(&mut changed);
        if changed != *options {
            smaller.push(changed);
        }
    };
    with(&|o| o.actions = 1);
    with(&|o| o.actions = o.actions.div_ceil(2));
    with(&|o| o.actions = o.actions.saturating_sub(1).max(1));
    with(&|o| o.wild_secs = (o.wild_secs / 2).max(30));
    for trouble in Trouble::ALL {
        with(&|o| {
            o.troubles.remove(trouble);
        });
    }
    with(&|o| o.workers = 1);
    smaller
}
