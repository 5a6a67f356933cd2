//! Many settings explored, on as many threads as there are: what was visited, what was reached, what broke.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cases::Cases;
use super::search::{Found, explore};
use super::setup::Setup;

/// What came of exploring many settings.
#[derive(Default)]
pub struct Report {
    /// How many settings were explored.
    pub settings: u64,
    /// Distinct worlds, over all settings.
    pub states: u64,
    /// Moves, over all settings.
    pub transitions: u64,
    /// Which cases were reached somewhere.
    pub cases: Cases,
    /// Settings that were not explored to their end.
    pub cut: Vec<String>,
    /// A trace for each setting in which a law was broken.
    pub violations: Vec<String>,
}

impl Report {
    fn add(&mut self, setup: &Setup, found: &Found) {
        self.settings += 1;
        self.states += found.states;
        self.transitions += found.transitions;
        self.cases = self.cases.and(found.cases);
        if let Some(way) = &found.broken {
            self.violations.push(way.trace(setup));
        } else if !found.complete {
            self.cut.push(setup.name.clone());
        }
    }
}

/// Explores all of them, each up to so many worlds; `told` hears of each as it ends.
pub fn explore_all(
    settings: &[Setup],
    threads: usize,
    states_max: u64,
    told: impl Fn(&Setup, &Found) + Sync,
) -> Report {
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(setup) = settings.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = explore(setup, states_max);
                    told(setup, &found);
                    let mut report = report
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    report.add(setup, &found);
                }
            });
        }
    });
    report
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
