//! Breadth first over all worlds that a setting can reach, so that the first counter-example is a shortest one. Worlds are
//! remembered by fingerprint, their way by the moves; a counter-example is replayed and printed from those.

use std::collections::VecDeque;

use super::cases::Cases;
use super::fingerprint::Fingerprints;
use super::laws::{self, Broken};
use super::moves::Move;
use super::setup::Setup;
use super::world::{Run, World};

/// What an exploration found.
pub struct Found {
    /// Distinct worlds that were reached.
    pub states: u64,
    /// Moves that were made.
    pub transitions: u64,
    /// Every world was reached; else the exploration stopped at its bound.
    pub complete: bool,
    /// Which cases were reached.
    pub cases: Cases,
    /// A law that was broken, with a shortest way there.
    pub broken: Option<Counterexample>,
}

/// A shortest way to a broken law.
pub struct Counterexample {
    /// The law, and how.
    pub law: String,
    moves: Vec<Move>,
}

#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    by: Move,
}

/// The worlds of one depth, in parts that are given back as they are used up: two whole layers never stand side by side.
#[derive(Default)]
struct Layer(VecDeque<Vec<(u32, World)>>);

impl Layer {
    /// Worlds of one part.
    const PART: usize = 4_096;

    fn push(&mut self, number: u32, world: World) {
        match self.0.back_mut() {
            Some(part) if part.len() < Self::PART => part.push((number, world)),
            Some(_) | None => {
                let mut part = Vec::with_capacity(if self.0.is_empty() { 0 } else { Self::PART });
                part.push((number, world));
                self.0.push_back(part);
            }
        }
    }

    fn into_worlds(self) -> impl Iterator<Item = (u32, World)> {
        self.0.into_iter().flatten()
    }
}

/// Explores everything that the setting allows, or as many worlds as are allowed.
#[must_use]
pub fn explore(setup: &Setup, states_max: u64) -> Found {
    let run = Run::new(setup);
    let mut visited = Fingerprints::new();
    let mut nodes = vec![Node {
        parent: 0,
        by: Move::Tick,
    }];
    let mut frontier = Layer::default();
    let mut transitions = 0;
    let mut moves = Vec::new();
    let start = World::start(setup);
    visited.insert(start.name());
    frontier.push(0, start);
    let mut broken = None;
    let mut complete = true;
    'search: while !frontier.0.is_empty() {
        let mut following = Layer::default();
        for (index, world) in frontier.into_worlds() {
            if let Err(law) = laws::check(&world, &run).and_then(|()| run.take_broken()) {
                broken = Some(way_to(&nodes, index, None, law));
                break 'search;
            }
            world.moves(&run, &mut moves);
            for step in &moves {
                transitions += 1;
                let mut reached = world;
                reached.make(*step, &run);
                if let Err(law) = run.take_broken() {
                    broken = Some(way_to(&nodes, index, Some(*step), law));
                    break 'search;
                }
                if visited.insert(reached.name()) {
                    let number = u32::try_from(nodes.len()).expect("fewer than 2^32 worlds");
                    nodes.push(Node {
                        parent: index,
                        by: *step,
                    });
                    following.push(number, reached);
                }
            }
            if u64::try_from(nodes.len()).unwrap_or(u64::MAX) >= states_max {
                complete = false;
                break 'search;
            }
        }
        frontier = following;
    }
    Found {
        states: u64::try_from(nodes.len()).unwrap_or(u64::MAX),
        transitions,
        complete,
        cases: run.cases(),
        broken,
    }
}

fn way_to(nodes: &[Node], index: u32, last: Option<Move>, law: Broken) -> Counterexample {
    let mut moves: Vec<Move> = last.into_iter().collect();
    let mut at = index;
    while at != 0 {
        let node = nodes[usize::try_from(at).expect("an index fits")];
        moves.push(node.by);
        at = node.parent;
    }
    moves.reverse();
    Counterexample { law, moves }
}

impl Counterexample {
    /// How many moves lead to it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.moves.len()
    }

    /// Whether the law is broken at the start.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// One line per move: the tick, what was done, what that made of each action, effects at the destination.
    #[must_use]
    pub fn trace(&self, setup: &Setup) -> String {
        let run = Run::new(setup);
        let mut world = World::start(setup);
        let mut lines = vec![format!("{}: {}", setup.name, self.law)];
        for (n, step) in self.moves.iter().enumerate() {
            world.make(*step, &run);
            // The last move may be the one that breaks the law; its line still says what it was.
            let _ = run.take_broken();
            let mut line = format!(
                "{:>3}. tick {:>2}  {:<44}",
                n + 1,
                world.now,
                step.to_string()
            );
            for act in world.recorded() {
                let judged = world.judge(act, &run);
                line.push_str(&format!(
                    " {:<17} next {:<13} effects {}",
                    judged.status.state.name(),
                    judged.next.step.name(),
                    world.live_effects(act),
                ));
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }
}
