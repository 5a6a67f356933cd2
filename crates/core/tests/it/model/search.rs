//! Breadth first over all worlds that a setup can reach, so that the first counter-example is a shortest one. Worlds are
//! remembered by a 128-bit hash, their way by the moves; a counter-example is replayed and printed from those.

use std::collections::HashSet;

use super::laws::{self, Broken};
use super::moves::Move;
use super::seen::Seen;
use super::setup::Setup;
use super::world::{Judge, World};

/// What an exploration found.
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) transitions: usize,
    pub(crate) seen: Seen,
    pub(crate) broken: Option<Counterexample>,
}

/// A shortest way to a broken law.
pub(crate) struct Counterexample {
    pub(crate) law: Broken,
    pub(crate) moves: Vec<Move>,
}

struct Node {
    parent: u32,
    by: Option<Move>,
}

/// Explores everything that the setup allows.
pub(crate) fn explore(setup: &Setup) -> Found {
    let judge = Judge::new(setup);
    let mut visited = HashSet::new();
    let mut nodes = Vec::new();
    let mut frontier = Vec::new();
    let mut found = Found {
        states: 0,
        transitions: 0,
        seen: Seen::default(),
        broken: None,
    };
    let start = World::start(setup);
    visited.insert(start.name());
    nodes.push(Node {
        parent: 0,
        by: None,
    });
    frontier.push((0u32, start));
    while !frontier.is_empty() {
        let mut following = Vec::new();
        for (index, world) in frontier {
            let judged = judge.judge(&world);
            if let Err(law) = laws::check(&world, &judged, &judge) {
                found.broken = Some(way_to(&nodes, index, None, law));
                found.states = nodes.len();
                return found;
            }
            for step in world.moves(&judged, setup) {
                found.transitions += 1;
                let mut reached = world.clone();
                if let Err(law) = reached.make(step, &judge, &mut found.seen) {
                    found.broken = Some(way_to(&nodes, index, Some(step), law));
                    found.states = nodes.len();
                    return found;
                }
                if visited.insert(reached.name()) {
                    let number = u32::try_from(nodes.len()).expect("fewer than 2^32 worlds");
                    nodes.push(Node {
                        parent: index,
                        by: Some(step),
                    });
                    following.push((number, reached));
                }
            }
        }
        frontier = following;
    }
    found.states = nodes.len();
    found
}

fn way_to(nodes: &[Node], index: u32, last: Option<Move>, law: Broken) -> Counterexample {
    let node = |index: u32| &nodes[usize::try_from(index).expect("an index fits")];
    let mut moves: Vec<Move> = last.into_iter().collect();
    let mut at = index;
    while let Some(by) = node(at).by {
        moves.push(by);
        at = node(at).parent;
    }
    moves.reverse();
    Counterexample { law, moves }
}

impl Counterexample {
    /// One line per move: the tick, what was done, what that made of the action, effects at the destination.
    pub(crate) fn trace(&self, setup: &Setup) -> String {
        let judge = Judge::new(setup);
        let mut world = World::start(setup);
        let mut lines = vec![format!("{}: {}", setup.name, self.law)];
        for (n, step) in self.moves.iter().enumerate() {
            // The last move may be the one that breaks the law; its line still says what it was.
            let _ = world.make(*step, &judge, &mut Seen::default());
            let judged = judge.judge(&world);
            lines.push(format!(
                "{:>3}. tick {:>2}  {:<34} {:<17} next {:<13} effects {}",
                n + 1,
                world.now,
                step.to_string(),
                judged.status.state.name(),
                judged.next.step.name(),
                world.live_effects(),
            ));
        }
        lines.join("\n")
    }
}
