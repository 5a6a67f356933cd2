//! What a seed brings: how many callers and workers, which destinations, and which kinds of trouble. Each kind is off in about
//! half of the seeds (swarm testing), since some mistakes only show where other troubles do not cut every story short.

use std::collections::BTreeSet;
use std::fmt;

use super::dice::Dice;

macro_rules! troubles {
    ($($variant:ident $name:literal $does:literal)*) => {
        /// A kind of trouble.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Trouble { $(#[doc = $does] $variant,)* }

        impl Trouble {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name in options and traces.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it does, in one line.
            #[must_use]
            pub fn does(self) -> &'static str {
                match self { $(Self::$variant => $does,)* }
            }

            /// The kind of this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|trouble| trouble.name() == name)
            }
        }
    };
}

troubles! {
    Losses "losses" "Answers and requests are lost in every way that the faults know"
    Refusals "refusals" "The front door refuses, is busy, redirects, or asks to be left alone"
    Proxies "proxies" "A proxy delivers a request twice"
    Delays "delays" "Writes, networks and stores take as long as their bounds allow"
    Kills "kills" "Processes are killed, anywhere and at the crash points C1 to C7"
    Stops "stops" "Processes stand still, past their leases, and go on"
    StoreErrors "store_errors" "The store fails before it has written"
    LostCommits "lost_commits" "The store has written, and its answer is lost"
    DiskFull "disk_full" "For a time nothing can be written"
    ClockSteps "clock_steps" "The wall clock steps back, or a little ahead"
    Withdrawals "withdrawals" "Callers withdraw"
    Verdicts "verdicts" "People rule, truly as far as they can see"
    WrongVerdicts "wrong_verdicts" "People rule without looking"
    Restores "restores" "The store comes back from an older copy, and callers submit again what it lost"
    Callbacks "callbacks" "Destinations report completion, late, twice or never"
    Conflicts "conflicts" "The same identity is submitted with other content"
    Deadlines "deadlines" "Actions have deadlines and earliest times"
    Pauses "pauses" "An operator holds all sends for a time"
    Breaks "breaks" "Carrying out a command breaks off"
    Tight "tight" "Bounds on attempts, questions and places are small"
    Twins "twins" "Callers submit what another one has submitted, under an identity of their own, where operations guard against it"
    Elsewhere "elsewhere" "Workers elsewhere carry some operations out: they are slow, die, forget, and report late, twice or never"
    Approvals "approvals" "Some actions were approved, and contracts are corrected before they are sent"
}

/// What one run is made of. [`Options::drawn`] has all of it from the seed; the rest takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What everything is drawn from.
    pub seed: u64,
    /// Effects that callers want.
    pub actions: usize,
    /// Worker processes. Several share the store and cannot tell whether another is dead; one can, of its own past.
    pub workers: usize,
    /// How long there is trouble, in seconds of virtual time.
    pub wild_secs: i64,
    /// The kinds of trouble that there are.
    pub troubles: BTreeSet<Trouble>,
}

impl Options {
    /// Everything from the seed.
    #[must_use]
    pub fn drawn(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "options");
        let actions = 1 + dice.index(6);
        let workers = dice.one_of(&[1, 1, 1, 2, 3]);
        let wild_secs = dice.one_of(&[120, 600, 1_800]);
        let troubles = Trouble::ALL.iter().copied().filter(|_| dice.chance(50));
        Self {
            seed,
            actions,
            workers,
            wild_secs,
            troubles: troubles.collect(),
        }
    }

    /// Whether there is this kind of trouble.
    #[must_use]
    pub fn has(&self, trouble: Trouble) -> bool {
        self.troubles.contains(&trouble)
    }

    /// Reads what [`Options`] prints: `17`, or `17 actions=2 workers=1 secs=120 without=kills,stops`.
    ///
    /// # Errors
    /// The word that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let seed = words.next().unwrap_or_default();
        let mut options = Self::drawn(seed.parse().map_err(|_| format!("`{seed}` is no seed"))?);
        for word in words {
            let unknown = || format!("`{word}` is no option of a seed");
            let (name, value) = word.split_once('=').ok_or_else(unknown)?;
            match name {
                "actions" => options.actions = value.parse().map_err(|_| unknown())?,
                "workers" => options.workers = value.parse().map_err(|_| unknown())?,
                "secs" => options.wild_secs = value.parse().map_err(|_| unknown())?,
                "without" => {
                    for name in value.split(',') {
                        let trouble = Trouble::from_name(name).ok_or_else(unknown)?;
                        options.troubles.remove(&trouble);
                    }
                }
                _ => return Err(unknown()),
            }
        }
        Ok(options)
    }
}

/// The seed, and what differs from what it brings.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = Self::drawn(self.seed);
        write!(f, "{}", self.seed)?;
        if self.actions != drawn.actions {
            write!(f, " actions={}", self.actions)?;
        }
        if self.workers != drawn.workers {
            write!(f, " workers={}", self.workers)?;
        }
        if self.wild_secs != drawn.wild_secs {
            write!(f, " secs={}", self.wild_secs)?;
        }
        let gone = drawn.troubles.difference(&self.troubles);
        let gone: Vec<&str> = gone.map(|trouble| trouble.name()).collect();
        if !gone.is_empty() {
            write!(f, " without={}", gone.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_are_printed() {
        for seed in 0..50 {
            let mut options = Options::drawn(seed);
            assert_eq!(options.to_string(), seed.to_string());
            assert_eq!(Options::parse(&options.to_string()), Ok(options.clone()));
            options.actions += 1;
            options.wild_secs = 7;
            options.troubles.pop_first();
            assert_eq!(Options::parse(&options.to_string()), Ok(options));
        }
        assert!(Options::parse("7 without=nothing").is_err());
        assert!(Options::parse("seven").is_err());
    }
}
