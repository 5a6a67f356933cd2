//! Stand-ins, one for each operation of the catalogue: what its contract promises, and no more.

use factum_contract::far_side::{ExampleRequest, FarSide, Said};
use factum_contract::{Catalogue, Contract, HttpAnswer, Ours};
use factum_testbed::{Config, Counts, Filter, Handle, Kind, StandIn, Testbed};

use crate::caller::{End, exchange};

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
