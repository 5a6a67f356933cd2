//! `counted NAME TIMES`: does one piece of work so many times, for whoever counts instructions from outside. Without arguments it
//! prints the names.

use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        for (name, _) in factum_micro::ALL {
            writeln!(std::io::stdout(), "{name}")?;
        }
        return Ok(());
    };
    let times: u32 = arguments.next().unwrap_or_default().parse()?;
    let mut all = factum_micro::ALL.iter();
    let known = all.find(|(known, _)| *known == name);
    let (_, prepare) = known.ok_or_else(|| format!("no work is called {name:?}"))?;
    let mut work = prepare()?;
    for _ in 0..times {
        work();
    }
    Ok(())
}
