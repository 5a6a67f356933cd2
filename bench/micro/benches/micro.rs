//! `cargo bench -p factum-micro`: how long each piece of work takes.

use divan::Bencher;
use factum_micro::ALL;

fn main() {
    divan::main();
}

#[divan::bench(args = ALL.map(|(name, _)| name))]
fn work(bencher: Bencher<'_, '_>, name: &str) {
    let prepare = ALL.iter().find(|(known, _)| *known == name);
    let mut work = prepare.map(|(_, prepare)| prepare().expect("prepared"));
    bencher.bench_local(|| work.as_mut().map(|work| work()));
}
