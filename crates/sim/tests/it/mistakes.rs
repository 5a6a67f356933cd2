//! A checker that nothing has failed may be checking nothing: every deliberate mistake is noticed, and the page that says
//! where is current.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use factum_core::mistake::{Mistake, making};
use factum_core::statement::StatementKey;
use factum_sim::model::explore;
use factum_sim::model::mistakes::shown;
use factum_sim::simulate::{MISTAKES, Simulator};

/// How far beyond the counter-example the same setting is explored without the mistake.
const BEYOND: u64 = 20_000;

/// One row of the page.
fn row(mistake: Mistake) -> Result<String, String> {
    let (rule, words) = (mistake.rule(), mistake.words());
    if let Some((_, within)) = MISTAKES.iter().find(|(named, _)| *named == mistake) {
        let Some((seed, broken)) = Simulator::new().notices(mistake, *within).by else {
            return Err(format!("{mistake:?} was not noticed in {within} seeds"));
        };
        let law = broken.law;
        return Ok(format!(
            "| {rule} | {words} | the simulator, seed {seed} | law {law} | | |"
        ));
    }
    if mistake == Mistake::ToldWhenItArrives {
        let race = || StatementKey::NotDone.corrected_by(StatementKey::DoneAfterAll);
        return match (race(), making(Some(mistake), race)) {
            (Some(_), None) => Ok(format!(
                "| {rule} | {words} | a race of words | no correction after it | | |"
            )),
            seen => Err(format!("{mistake:?} was not noticed: {seen:?}")),
        };
    }
    let Some(shown) = shown(mistake) else {
        return Ok(format!(
            "| {rule} | {words} | the simulator, or processes | | | |"
        ));
    };
    let (found, trace) = shown.explore_with(mistake);
    let Some(way) = found.broken else {
        return Err(format!(
            "{mistake:?} was not noticed in {} states",
            found.states
        ));
    };
    // And the law does not break there by itself.
    let sound = explore(&shown.setup, found.states + BEYOND);
    if let Some(way) = sound.broken {
        return Err(way.trace(&shown.setup));
    }
    if !way.law.starts_with(shown.law) {
        let trace = trace.unwrap_or_default();
        return Err(format!("{mistake:?} was to break {}: {trace}", shown.law));
    }
    let (law, states, moves) = (&way.law, found.states, way.len());
    Ok(format!(
        "| {rule} | {words} | the model | {law} | {states} | {moves} |"
    ))
}

#[test]
fn every_mistake_is_noticed_and_the_page_of_them_is_current() {
    let (even, odd): (Vec<_>, Vec<_>) = (0..Mistake::ALL.len()).partition(|n| n % 2 == 0);
    let half = |numbers: Vec<usize>| {
        let rows = numbers.into_iter().map(|n| (n, row(Mistake::ALL[n])));
        rows.collect::<BTreeMap<_, _>>()
    };
    let rows = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(odd));
        let mut rows = half(even);
        rows.extend(other.join().expect("it ends"));
        rows
    });
    let missed: Vec<&String> = rows.values().filter_map(|row| row.as_ref().err()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let mut page = "# Deliberate mistakes\n\n\
        Each is a plausible misreading of a rule, made in one place in builds for proofs, and noticed. Where a mistake shows, the\n\
        number is that of the worlds that the model visited up to the first counter-example, which is a shortest one, and of the\n\
        moves that it takes. Written by a test of the crate `sim`; do not edit. [How it works](proof.md).\n\n\
        | rule | the mistake | noticed by | what breaks first | states | moves |\n\
        | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for row in rows.into_values().flatten() {
        writeln!(page, "{row}").expect("a string takes everything");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mistakes.md");
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/mistakes.md is stale: run this test once with UPDATE_DOCS=1, and look at the difference"
    );
}

#[test]
fn every_law_of_the_model_is_broken_by_some_mistake() {
    let broken: BTreeSet<&str> = Mistake::ALL
        .iter()
        .filter_map(|mistake| shown(*mistake))
        .map(|shown| shown.law)
        .collect();
    // What an older copy of the store has lost is law 10's; the model has it as law 5: maybe sent, never as new.
    let unchecked: Vec<String> = (1..=9)
        .map(|law| format!("law {law}"))
        .filter(|law| !broken.contains(law.as_str()))
        .collect();
    assert!(
        unchecked.is_empty(),
        "laws that nothing breaks: {unchecked:?}"
    );
}
