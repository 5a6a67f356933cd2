//! Stand-ins, one for each operation of the catalogue: what its contract promises, and no more.

use factum_contract::far_side::{ExampleRequest, FarSide, Said};
use factum_contract::{Catalogue, Contract, HttpAnswer, Ours};
use factum_testbed::{Config, Counts, Filter, Handle, Kind, StandIn, Testbed};

use crate::caller::{Ask, End, exchange};

/// Every contract of the catalogue, by its name.
pub(crate) fn all() -> Vec<Contract> {
    let catalogue = Catalogue::builtin();
    let providers: Vec<String> = catalogue.providers().map(str::to_owned).collect();
    let contracts = providers.iter().flat_map(|name| catalogue.operations(name));
    contracts.cloned().collect()
}

pub(crate) fn one(provider: &str, operation: &str) -> Contract {
    Catalogue::builtin()
        .get(provider, operation)
        .unwrap()
        .clone()
}

pub(crate) async fn start(stand_in: StandIn) -> Handle {
    let config = Config {
        stand_ins: vec![stand_in],
        ..Config::default()
    };
    Testbed::start(config).await.unwrap()
}

/// A request of the contract's examples, with marks of this number.
pub(crate) fn request(far: FarSide<'_>, number: u8) -> Option<ExampleRequest> {
    far.example_requests(&[number; 32]).into_iter().next()
}

/// Sends it with a credential of this name.
pub(crate) async fn send(bed: &Handle, example: &ExampleRequest, credential: &str) -> HttpAnswer {
    let mut request = example.request.clone();
    let own = ("authorization".to_owned(), format!("Bearer {credential}"));
    request.headers.push(own);
    let reply = exchange(bed.addr(), &request).await;
    assert_eq!(reply.0, End::Whole);
    reply.1
}

pub(crate) fn word(contract: &Contract, answer: &HttpAnswer, example: &ExampleRequest) -> String {
    let ours = Ours {
        key: example.key.as_deref(),
        reference: Some(&example.reference),
    };
    let reading = contract.read_answer_of(answer, &ours, &example.request);
    let class = format!("{:?}", reading.class);
    class.split([' ', '{', '(']).next().unwrap().to_owned()
}

/// How many effects a request that is sent twice has, as the contract says.
fn promised(contract: &Contract, example: &ExampleRequest) -> u64 {
    let far = contract.far_side();
    let recognised = far.repeats().is_some_and(|repeats| repeats.stores_success);
    let named = far.key_names_object() && far.knows(Said::AlreadyExists);
    let once = far.is_conditional(&example.request);
    if recognised || named || once || far.sets() {
        1
    } else {
        2
    }
}

pub(crate) fn of(contract: &Contract) -> Filter {
    let name = format!("{}.{}", contract.provider(), contract.operation());
    Filter {
        kind: Kind::from_name(&name),
        ..Filter::default()
    }
}

pub(crate) async fn landed(bed: &Handle, contract: &Contract) -> Counts {
    bed.advance(std::time::Duration::from_secs(1));
    let done = |counts: &Counts| counts.pending == 0;
    bed.ledger().wait_until(&of(contract), done).await
}

#[tokio::test]
async fn every_operation_of_the_catalogue_is_stood_in_for() {
    let contracts = all();
    let mut wrong = Vec::new();
    for contract in &contracts {
        let name = format!("{}.{}", contract.provider(), contract.operation());
        let Some(example) = request(contract.far_side(), 7) else {
            wrong.push(format!("{name}: no example makes a request"));
            continue;
        };
        let bed = start(StandIn::new(contract.clone())).await;
        let first = send(&bed, &example, "a").await;
        let first_word = word(contract, &first, &example);
        if !["Done", "Accepted"].contains(&first_word.as_str()) {
            wrong.push(format!(
                "{name}: first {first_word} {} {}",
                first.status,
                String::from_utf8_lossy(&first.body)
            ));
        }
        let counts = landed(&bed, contract).await;
        if counts.total_effects != 1 {
            wrong.push(format!("{name}: {counts:?}"));
        }
        let again = send(&bed, &example, "a").await;
        let again_word = word(contract, &again, &example);
        let conditional = contract.far_side().is_conditional(&example.request);
        let known = ["Done", "Accepted", "AlreadyExists"].contains(&again_word.as_str());
        let refused = conditional && again_word == "Rejected";
        if !known && !refused {
            wrong.push(format!(
                "{name}: again {again_word} {} {}",
                again.status,
                String::from_utf8_lossy(&again.body)
            ));
        }
        let counts = landed(&bed, contract).await;
        if counts.total_effects != promised(contract, &example) {
            wrong.push(format!(
                "{name}: {} effects, {} promised",
                counts.total_effects,
                promised(contract, &example)
            ));
        }
        bed.shutdown().await;
    }
    assert!(contracts.len() > 100);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The first word of what a reading shows.
fn first(shown: impl std::fmt::Debug) -> String {
    let shown = format!("{shown:?}");
    shown.split([' ', '(', '{']).next().unwrap().to_owned()
}

#[tokio::test]
async fn every_lookup_shows_what_was_made_and_nothing_before() {
    let mut wrong = Vec::new();
    let mut asked = 0;
    for contract in all()
        .iter()
        .filter(|contract| contract.lookup_by().is_some())
    {
        let name = format!("{}.{}", contract.provider(), contract.operation());
        let far = contract.far_side();
        let example = request(far, 5).unwrap();
        let mark = match far.looks_by_key() {
            true => example.key.clone().unwrap(),
            false => example.reference.clone(),
        };
        let Ok(question) = question(contract, &example, &mark) else {
            wrong.push(format!("{name}: cannot be asked"));
            continue;
        };
        asked += 1;
        let bed = start(StandIn::new(contract.clone())).await;
        let look = async || {
            let (_, answer) = exchange(bed.addr(), &question).await;
            let shown = contract.read_lookup(&answer, &mark);
            (
                first(&shown.answer),
                String::from_utf8(answer.body).unwrap(),
            )
        };
        let before = look().await;
        send(&bed, &example, "a").await;
        landed(&bed, contract).await;
        bed.advance(std::time::Duration::from_secs(3600));
        let after = look().await;
        // Where absence cannot be told apart, nothing is claimed of it.
        if before.0 != "Absent" && before.0 != "Inconclusive" {
            wrong.push(format!("{name}: before {before:?}"));
        }
        if after.0 != "Found" {
            wrong.push(format!("{name}: after {after:?}"));
        }
        bed.shutdown().await;
    }
    assert!(asked > 30, "{asked}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The lookup's first page, asked since the beginning of time.
fn question(
    contract: &Contract,
    example: &ExampleRequest,
    mark: &str,
) -> Result<factum_contract::HttpRequest, factum_contract::BuildError> {
    let ask = factum_contract::LookupAsk {
        params: &example.params,
        mark,
        since: contract.far_side().since_ever(),
        cursor: None,
    };
    contract.lookup_question(&ask)
}

#[tokio::test]
async fn every_poll_goes_from_working_to_an_end() {
    let mut wrong = Vec::new();
    let mut polled = 0;
    for contract in all() {
        let far = contract.far_side();
        let name = format!("{}.{}", contract.provider(), contract.operation());
        if !far.knows(Said::Accepted)
            || contract.poll_request(&serde_json::Map::new(), "x").is_err()
        {
            continue;
        }
        let Some(example) = request(far, 5).filter(|_| !far.knows(Said::Done)) else {
            continue;
        };
        polled += 1;
        let mut config = Config {
            stand_ins: vec![StandIn::new(contract.clone())],
            ..Config::default()
        };
        config.settings.queue_delay = std::time::Duration::from_secs(3600);
        let bed = Testbed::start(config).await.unwrap();
        send(&bed, &example, "a").await;
        let rows = bed.ledger().rows(&of(&contract));
        let object = rows.iter().find_map(|row| row.job.clone()).unwrap();
        let poll = contract.poll_request(&example.params, &object).unwrap();
        let ask = async || {
            let (_, answer) = exchange(bed.addr(), &poll).await;
            (
                first(contract.read_poll(&answer)),
                String::from_utf8(answer.body).unwrap(),
            )
        };
        let before = ask().await;
        bed.advance(std::time::Duration::from_secs(3601));
        bed.ledger()
            .wait_until(&of(&contract), |counts| counts.total_effects == 1)
            .await;
        let after = ask().await;
        if (before.0.as_str(), after.0.as_str()) != ("Working", "Completed") {
            wrong.push(format!("{name}: {before:?} {after:?}"));
        }
        bed.shutdown().await;
    }
    assert!(polled > 8, "{polled}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn a_second_operation_of_one_path_is_told_apart() {
    let catalogue = Catalogue::builtin();
    let both: Vec<Contract> = catalogue.operations("linear").cloned().collect();
    let config = Config {
        stand_ins: both.iter().cloned().map(StandIn::new).collect(),
        ..Config::default()
    };
    let bed = Testbed::start(config).await.unwrap();
    for contract in &both {
        let example = request(contract.far_side(), 5).unwrap();
        send(&bed, &example, "a").await;
        assert_eq!(
            landed(&bed, contract).await.total_effects,
            1,
            "{}",
            contract.operation()
        );
    }
    let stranger = Ask::post(
        "/graphql",
        &serde_json::json!({"query": "{ viewer { id } }"}),
    );
    assert_eq!(stranger.send(bed.addr()).await.status, 404);
}

#[tokio::test]
async fn a_rate_is_enforced_where_it_is_asked_for() {
    let contract = one("slack", "message.post");
    for limited in [true, false] {
        let stand_in = StandIn::new(contract.clone());
        let stand_in = match limited {
            true => stand_in.rate_limited(),
            false => stand_in,
        };
        let bed = start(stand_in).await;
        let mut busy = 0;
        for number in 0..10 {
            let example = request(contract.far_side(), number).unwrap();
            let answer = send(&bed, &example, "a").await;
            busy += u64::from(word(&contract, &answer, &example) == "Busy");
        }
        // One in a second: of ten in a row some come sooner, on a slow machine too.
        assert_eq!(busy > 0, limited);
        assert_eq!(landed(&bed, &contract).await.total_effects, 10 - busy);
    }
}

#[tokio::test]
async fn a_restarted_testbed_knows_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let contract = one("stripe", "refund.create");
    let example = request(contract.far_side(), 5).unwrap();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let config = Config {
            ledger: Some(folder.path().join("ledger.jsonl")),
            stand_ins: vec![StandIn::new(contract.clone())],
            ..Config::default()
        };
        let bed = Testbed::start(config).await.unwrap();
        answers.push(send(&bed, &example, "a").await);
        assert_eq!(landed(&bed, &contract).await.total_effects, 1);
        bed.shutdown().await;
    }
    assert_eq!(answers[0].body, answers[1].body);
    assert!(contract.read_answer(&answers[1]).replayed);
}
