//! A checker that nothing has failed may be checking nothing: every deliberate mistake is noticed, and the page that says
//! where is current.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use factum_core::mistake::{Mistake, making};
use factum_core::statement::StatementKey;
use factum_sim::elsewhere;
use factum_sim::model::explore;
use factum_sim::model::mistakes::shown;
use factum_sim::simulate::{Simulator, seeds_for};

/// How far beyond the counter-example the same setting is explored without the mistake.
const BEYOND: u64 = 20_000;

/// One row of the page.
fn row(mistake: Mistake) -> Result<String, String> {
    let (rule, words) = (mistake.rule(), mistake.words());
    if let Some(test) = elsewhere::test_of(mistake) {
        return Ok(format!("| {rule} | {words} | `{test}` | | | |"));
    }
    let seed = seed_of(mistake)?;
    let Some(shown) = shown(mistake) else {
        return match seed {
            Some((seed, law)) => Ok(format!("| {rule} | {words} | law {law} | | | {seed} |")),
            None => Err(format!("{mistake:?} is for nobody to notice")),
        };
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
    let seed = seed.map_or_else(String::new, |(seed, _)| format!(" {seed}"));
    Ok(format!(
        "| {rule} | {words} | {law} | {states} | {moves} |{seed} |"
    ))
}

/// The first seed in which the simulator notices it, and which law breaks there; none where it need not.
fn seed_of(mistake: Mistake) -> Result<Option<(u64, u8)>, String> {
    let Some(within) = seeds_for(mistake) else {
        return Ok(None);
    };
    match Simulator::new().notices(mistake, within).by {
        Some((seed, broken)) => Ok(Some((seed, broken.law))),
        None => Err(format!("{mistake:?} was not noticed in {within} seeds")),
    }
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
        Each is a plausible misreading of a rule, made in one place in builds for proofs, and noticed. By the model: the number of\n\
        worlds that it visited up to the first counter-example, which is a shortest one, and of the moves that this takes. By the\n\
        simulator, which runs the engine itself: the first seed in which a law breaks. By neither: a test, which is named. Written\n\
        by a test of the crate `sim`; do not edit. [How it works](proof.md).\n\n\
        | rule | the mistake | what breaks first | states | moves | seed |\n\
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

/// A mistake is for a test to notice only where that test stands.
#[test]
fn a_test_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (mistake, file, test) in elsewhere::TESTS {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let head = format!("fn {test}()");
        let at = text
            .find(&head)
            .unwrap_or_else(|| panic!("{file} has no {test}"));
        let body = &text[at..text[at..].find("\n}").map_or(text.len(), |end| at + end)];
        let makes = format!("Mistake::{}", mistake.name());
        assert!(body.contains(&makes), "{test} does not make {makes}");
    }
}

/// R22: a statement that was told between the reading and the writing of it is corrected.
#[test]
fn a_race_of_words_is_noticed() {
    let race = || StatementKey::NotDone.corrected_by(StatementKey::DoneAfterAll);
    assert!(race().is_some());
    assert!(making(Some(Mistake::ToldWhenItArrives), race).is_none());
}

#[test]
fn every_rule_has_a_mistake() {
    let made: BTreeSet<&str> = Mistake::ALL.iter().map(|mistake| mistake.rule()).collect();
    let rules = (1..=32).map(|n| format!("R{n}"));
    let without: Vec<String> = rules.filter(|rule| !made.contains(rule.as_str())).collect();
    assert!(
        without.is_empty(),
        "rules that no mistake breaks: {without:?}"
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
