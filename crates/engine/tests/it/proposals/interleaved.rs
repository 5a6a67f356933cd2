//! Whatever people, callers and clocks do in whatever order: one identity has one action at most, nothing is sent that was not approved
//! by somebody who did not ask, and nothing past its approval's end or after authority was lost.

use std::collections::BTreeMap;
use std::time::Duration;

use factum_core::{ActionId, Fact, ProposalId, Span};
use factum_engine::directory::Standing;
use factum_engine::proposal::{Proposal, ProposalState};
use factum_engine::{Ask, Code, Decided, Decision, Engine, Problem, Submission};
use proptest::prelude::*;

use super::kit::{Site, World, always, approver, by, named, submission};

/// What is not settled by then waits for nothing that happens here.
const GLANCE: Duration = Duration::from_millis(500);

/// How long a proposal may be decided on, and how far the clock goes at a time.
const HOLDS: Span = Span::from_secs(1_000);
const TICK: Span = Span::from_secs(400);

#[derive(Clone, Debug)]
enum Does {
    Propose {
        key: u8,
        content: u8,
        bot: bool,
    },
    Supersede {
        nth: u8,
        content: u8,
    },
    Approve {
        nth: u8,
        who: u8,
    },
    ApproveTwice {
        nth: u8,
    },
    ApproveAndSupersede {
        nth: u8,
        content: u8,
    },
    Decline {
        nth: u8,
    },
    Cancel {
        nth: u8,
    },
    Stand {
        who: u8,
        active: bool,
    },
    Submit {
        key: u8,
        content: u8,
    },
    Pause {
        on: bool,
    },
    /// The process starts anew, perhaps with another contract.
    Restart {
        contract: u32,
    },
    Tick,
}

fn does() -> impl Strategy<Value = Does> {
    let (key, content, nth) = (|| 0u8..3, || 0u8..2, any::<u8>);
    prop_oneof![
        5 => (key(), content(), any::<bool>())
            .prop_map(|(key, content, bot)| Does::Propose { key, content, bot }),
        2 => (nth(), content()).prop_map(|(nth, content)| Does::Supersede { nth, content }),
        4 => (nth(), 0u8..3).prop_map(|(nth, who)| Does::Approve { nth, who }),
        3 => nth().prop_map(|nth| Does::ApproveTwice { nth }),
        2 => (nth(), content())
            .prop_map(|(nth, content)| Does::ApproveAndSupersede { nth, content }),
        1 => nth().prop_map(|nth| Does::Decline { nth }),
        1 => nth().prop_map(|nth| Does::Cancel { nth }),
        1 => (0u8..3, any::<bool>()).prop_map(|(who, active)| Does::Stand { who, active }),
        2 => (key(), content()).prop_map(|(key, content)| Does::Submit { key, content }),
        1 => any::<bool>().prop_map(|on| Does::Pause { on }),
        1 => (1u32..3).prop_map(|contract| Does::Restart { contract }),
        1 => Just(Does::Tick),
    ]
}

/// `agent` asks, and tries to approve what it asked for.
const WHO: [&str; 3] = ["ana", "ben", "agent"];

fn content(key: u8, content: u8) -> (String, String) {
    (format!("key-{key}"), format!("key-{key} content-{content}"))
}

/// For one principal, whoever asks: so the identity is one.
fn wish(key: &str, payload: &str) -> Submission {
    Submission {
        on_behalf_of: Some("shop".to_owned()),
        ..submission(key, payload)
    }
}

struct Run {
    world: World,
    engine: Engine,
    proposals: Vec<Proposal>,
    /// The action of each identity, once there is one.
    actions: BTreeMap<String, ActionId>,
    /// The action of each proposal.
    made: BTreeMap<ProposalId, ActionId>,
    /// Payloads that somebody approved who did not ask for them, each with the edition of the contract that was approved.
    approved: BTreeMap<String, u32>,
    contract: u32,
}

impl Run {
    async fn start() -> Self {
        let world = World::new(always());
        let engine = world.start().await;
        Self {
            world,
            engine,
            proposals: Vec::new(),
            actions: BTreeMap::new(),
            made: BTreeMap::new(),
            approved: BTreeMap::new(),
            contract: 1,
        }
    }

    fn nth(&self, nth: u8) -> Option<Proposal> {
        let all = &self.proposals;
        (!all.is_empty()).then(|| all[usize::from(nth) % all.len()].clone())
    }

    async fn propose(&mut self, place: (u8, u8), who: &str, supersedes: Option<ProposalId>) {
        let (key, payload) = content(place.0, place.1);
        let ask = Ask {
            until: Some(self.world.now() + HOLDS),
            supersedes,
        };
        let caller = by(who);
        let asked = (self.engine).propose(wish(&key, &payload), &caller, ask);
        self.take(asked.await.map(|proposed| proposed.proposal));
    }

    fn take(&mut self, answer: Result<Proposal, Problem>) {
        match answer {
            Ok(proposal) => {
                if !self.proposals.iter().any(|one| one.id == proposal.id) {
                    self.proposals.push(proposal);
                }
            }
            Err(problem) => expected(&problem),
        }
    }

    fn decided(&mut self, proposal: &Proposal, who: &str, answer: Result<Decided, Problem>) {
        let decided = match answer {
            Ok(decided) => decided,
            Err(problem) => return expected(&problem),
        };
        let key = proposal.entry.submission.key.clone().unwrap();
        let action = decided.action.expect("one approval is enough");
        assert_eq!(decided.proposal.state, ProposalState::Approved);
        if decided.created {
            assert_ne!(proposal.entry.principal, who, "approved by who asked");
            self.approved.insert(payload(proposal), self.contract);
        }
        let id = action.id();
        assert_eq!(
            *self.made.entry(proposal.id).or_insert(id),
            id,
            "one proposal, one action"
        );
        assert_eq!(*self.actions.entry(key).or_insert(id), id, "law 2");
        let approved = action.action.content.approved.as_ref().unwrap();
        assert_eq!(approved.proposal, proposal.id);
    }

    async fn approve(&mut self, proposal: &Proposal, who: &str) {
        let answer = self
            .engine
            .approve(&approver(who), proposal.id, named(proposal))
            .await;
        self.decided(proposal, who, answer);
    }

    async fn at_once(&mut self, proposal: &Proposal) {
        let (ana, ben) = (approver("ana"), approver("ben"));
        let until = Some(self.world.now() + TICK);
        let shorter = Decision {
            until,
            ..named(proposal)
        };
        let (one, two) = tokio::join!(
            self.engine.approve(&ana, proposal.id, named(proposal)),
            self.engine.approve(&ben, proposal.id, shorter),
        );
        let created = [&one, &two].map(|one| one.as_ref().is_ok_and(|one| one.created));
        assert!(created != [true, true], "two approvals, two actions");
        self.decided(proposal, "ana", one);
        self.decided(proposal, "ben", two);
    }

    async fn race(&mut self, proposal: &Proposal, instead: u8) {
        let key = proposal.entry.submission.key.clone().unwrap();
        let payload = format!("{key} content-{instead}");
        let ask = Ask {
            until: None,
            supersedes: Some(proposal.id),
        };
        let (ana, agent) = (approver("ana"), by("agent"));
        let (approved, superseded) = tokio::join!(
            self.engine.approve(&ana, proposal.id, named(proposal)),
            self.engine.propose(wish(&key, &payload), &agent, ask),
        );
        let both = approved.as_ref().is_ok_and(|one| one.created)
            && superseded.as_ref().is_ok_and(|one| one.created);
        assert!(!both, "approved and superseded");
        self.decided(proposal, "ana", approved);
        self.take(superseded.map(|proposed| proposed.proposal));
    }

    async fn submit(&mut self, place: (u8, u8)) {
        let (key, payload) = content(place.0, place.1);
        match self
            .engine
            .submit_as(wish(&key, &payload), &by("agent"))
            .await
        {
            Ok(submitted) => {
                assert!(!submitted.created, "recorded without an approval");
                assert_eq!(self.actions.get(&key), Some(&submitted.record.id()));
            }
            Err(problem) => expected(&problem),
        }
    }

    async fn step(&mut self, does: &Does) {
        match does {
            Does::Propose { key, content, bot } => {
                let who = if *bot { "bot" } else { "agent" };
                self.propose((*key, *content), who, None).await;
            }
            Does::Tick => self.world.advance(TICK),
            Does::Restart { contract } => {
                self.engine.shutdown(GLANCE).await;
                self.contract = *contract;
                let site = Site {
                    contract: *contract,
                    ..Site::default()
                };
                self.engine = self.world.start_at(site).await;
            }
            Does::Pause { on } => self.engine.set_paused(*on, "root").await.unwrap(),
            Does::Stand { who, active } => {
                let standing = if *active {
                    Standing::Active
                } else {
                    Standing::Suspended
                };
                self.world
                    .stand(&self.engine, WHO[usize::from(*who)], standing)
                    .await;
            }
            Does::Submit { key, content } => self.submit((*key, *content)).await,
            Does::Cancel { nth } => {
                let ids: Vec<ActionId> = self.actions.values().copied().collect();
                if !ids.is_empty() {
                    let id = ids[usize::from(*nth) % ids.len()];
                    self.engine.cancel(id, "agent", "withdrawn").await.unwrap();
                }
            }
            Does::Supersede { nth, .. }
            | Does::Approve { nth, .. }
            | Does::ApproveTwice { nth }
            | Does::ApproveAndSupersede { nth, .. }
            | Does::Decline { nth } => {
                if let Some(proposal) = self.nth(*nth) {
                    self.decide(&proposal, does).await;
                }
            }
        }
    }

    async fn decide(&mut self, proposal: &Proposal, does: &Does) {
        let key = proposal.entry.submission.key.clone().unwrap();
        let key = key.trim_start_matches("key-").parse().unwrap();
        match does {
            Does::Supersede { content, .. } => {
                self.propose((key, *content), "agent", Some(proposal.id))
                    .await;
            }
            Does::Approve { who, .. } => self.approve(proposal, WHO[usize::from(*who)]).await,
            Does::ApproveTwice { .. } => self.at_once(proposal).await,
            Does::ApproveAndSupersede { content, .. } => self.race(proposal, *content).await,
            _ => {
                let answer = self
                    .engine
                    .decline(&approver("ana"), proposal.id, "no")
                    .await;
                self.take(answer);
            }
        }
    }

    async fn end(self) {
        self.engine.set_paused(false, "root").await.unwrap();
        for id in self.actions.values() {
            let record = self.engine.wait(*id, GLANCE).await.unwrap();
            let log = self.engine.evidence(*id).await.unwrap();
            let place = |is: fn(&Fact) -> bool| log.iter().position(|one| is(&one.fact));
            let lost = place(|fact| matches!(fact, Fact::AuthorityLost { .. }));
            let marked = log
                .iter()
                .rposition(|one| matches!(one.fact, Fact::Marked(_)));
            assert!(
                lost.is_none() || marked.is_none() || marked < lost,
                "R10: {log:?}"
            );
            let until = record
                .action
                .intent
                .approved_until
                .expect("every approval ends");
            for one in &log {
                if let Fact::Marked(mark) = &one.fact {
                    assert!(
                        mark.at < until,
                        "R10: sent after its approval's end: {log:?}"
                    );
                }
            }
        }
        self.engine.shutdown(GLANCE).await;
        let mut by_key: BTreeMap<String, u32> = BTreeMap::new();
        for (payload, times) in self.world.all_effects() {
            assert_eq!(times.len(), 1, "a second effect of {payload}");
            let approved = self.approved.get(&payload);
            assert_eq!(
                approved,
                times.first(),
                "R23: {payload} was not approved so"
            );
            let key = payload.split(' ').next().unwrap().to_owned();
            *by_key.entry(key).or_default() += 1;
        }
        assert!(by_key.values().all(|times| *times == 1), "R23: {by_key:?}");
    }
}

fn payload(proposal: &Proposal) -> String {
    let text = proposal.entry.submission.payload.as_ref().unwrap().get();
    text.split('"').nth(3).unwrap().to_owned()
}

/// Nothing here is answered in another way.
fn expected(problem: &Problem) {
    let known = matches!(
        problem.code,
        Code::ApprovalRequired
            | Code::ProposalClosed
            | Code::ProposalOpen
            | Code::NotTheirDecision
            | Code::AuthorityEnded
            | Code::IdentityConflict
            | Code::DoesNotApply
            | Code::ProposalChanged
    );
    assert!(known, "{problem}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// R23, laws 2 and 6.
    #[test]
    fn no_interleaving_sends_what_was_not_approved_or_anything_twice(
        steps in prop::collection::vec(does(), 1..32),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut run = Run::start().await;
            for does in &steps {
                run.step(does).await;
            }
            run.end().await;
        });
    }
}
