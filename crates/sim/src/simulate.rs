//! The simulator: the engine's driver, the memory store and destinations that speak by the catalogue's contracts, under a
//! virtual clock, from one seed. It never reads a clock or draws a random number of its own.
//!
//! What is real here: the driver; what a submission becomes, what a request is made of and what its answer means; what a start
//! records and what people may rule; the contracts and their reading; the store's own checks; the core. What is simulated:
//! time, the network, the destinations, the callers, and everything that goes wrong. The tokio loop and the SQL are not here:
//! process tests and the store's suite are for those.
//!
//! A run has a wild phase, in which the troubles of its [`Options`] happen, and a calm one, in which nothing fails and
//! everything has to settle or stand in review within a bound on steps. Read [`Options`] first, then `world`.

mod approvals;
mod callers;
mod commands;
mod dice;
mod elsewhere;
mod laws;
mod operations;
mod options;
mod outside;
mod place;
mod process;
mod self_test;
mod shrink;
mod speech;
mod twins;
mod wire;
mod world;

use factum_core::Span;

pub use laws::{Broken, Tally};
use operations::Served;
pub use options::{Options, Trouble};
pub use self_test::{Noticed, seeds_for};
use world::World;

/// Steps of the calm phase at the most.
const CALM_STEPS: u64 = 30_000;
/// Steps of the wild phase at the most: nothing may go round in a circle.
const WILD_STEPS: u64 = 60_000;

/// What became of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What it was made of.
    pub options: Options,
    /// The first law that did not hold.
    pub broken: Option<Broken>,
    /// What it adds up to.
    pub tally: Tally,
    /// One line per step, where that was asked for.
    pub trace: String,
}

/// Runs seeds. Holds what is read once.
pub struct Simulator {
    served: Vec<Served>,
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Simulator {
    /// Reads the contracts.
    #[must_use]
    pub fn new() -> Self {
        Self {
            served: world::served(),
        }
    }

    /// Runs one seed.
    #[must_use]
    pub fn run(&self, options: &Options) -> Outcome {
        run_with(options, &self.served, false)
    }

    /// Runs one seed and says what happens, step by step.
    #[must_use]
    pub fn explain(&self, options: &Options) -> Outcome {
        run_with(options, &self.served, true)
    }

    /// Makes a run in which a law breaks as small as it gets, and says what happens in it.
    #[must_use]
    pub fn shrink(&self, options: &Options) -> Outcome {
        shrink::shrink(options, &self.served)
    }
}

fn run_with(options: &Options, served: &[Served], traced: bool) -> Outcome {
    let mut world = World::new(options, served, traced);
    wild(&mut world);
    if world.broken.is_none() {
        world.calm_down();
        calm(&mut world);
    }
    Outcome {
        options: options.clone(),
        broken: world.broken.take(),
        trace: world.take_trace(),
        tally: world.tally,
    }
}

fn wild(world: &mut World) {
    let end = world.now + Span::from_secs(world.options.wild_secs);
    while world.broken.is_none() && world.next_at().is_some_and(|at| at < end) {
        let Some(happening) = world.next() else {
            return;
        };
        world.happen(happening);
        if world.tally.steps > WILD_STEPS {
            world.breaks(8, || "something goes round in a circle".to_owned());
        }
    }
}

fn calm(world: &mut World) {
    let bound = world.tally.steps + CALM_STEPS;
    while world.broken.is_none() {
        let done = world.tally.steps.is_multiple_of(32) && world.at_rest();
        if done || world.tally.steps > bound {
            break;
        }
        let Some(happening) = world.next() else {
            break;
        };
        world.happen(happening);
    }
    if world.broken.is_none() {
        world.hold_to_the_end();
    }
    // A run that goes on to its bound is one that hides something: it would have to come to rest.
    if world.tally.steps > bound
        && let Some(why) = world.restless()
    {
        world.breaks(8, || format!("nothing comes to rest: {why}"));
    }
}
