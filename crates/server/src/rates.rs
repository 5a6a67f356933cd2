//! How many requests each token may make: refused before anything of them is read, so before anything is recorded.
//!
//! The generic cell rate algorithm: of each token, one instant is kept, at which its burst would be whole again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::Rate;

/// Tokens that are kept track of before those that have been quiet are let go.
const KEPT: usize = 1_024;

/// Who asked how much lately.
#[derive(Debug)]
pub(crate) struct Rates {
    rate: Option<Rate>,
    whole_at: Mutex<HashMap<String, Instant>>,
}

impl Rates {
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            whole_at: Mutex::default(),
        }
    }

    /// Counts one request of `token` at `now`.
    ///
    /// # Errors
    /// How long to wait, where it is one too many; it is not counted then.
    pub(crate) fn take(&self, token: &str, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate else {
            return Ok(());
        };
        let each = Duration::from_secs(1) / rate.per_second;
        let burst = each * rate.burst;
        let mut whole_at = self.whole_at.lock().unwrap_or_else(PoisonError::into_inner);
        if whole_at.len() >= KEPT {
            whole_at.retain(|_, at| *at > now);
        }
        let at = whole_at.entry(token.to_owned()).or_insert(now);
        let next = (*at).max(now) + each;
        let early = next.saturating_duration_since(now).saturating_sub(burst);
        if early.is_zero() {
            *at = next;
            Ok(())
        } else {
            Err(early)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(per_second: u32, burst: u32) -> Rates {
        Rates::new(Some(Rate { per_second, burst }))
    }

    #[test]
    fn a_burst_is_let_through_and_then_one_at_a_time() {
        let (rates, start) = (rates(10, 3), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let taken: Vec<bool> = [
            0, 0, 0, 0, 99, 100, 100, 200, 10_000, 10_000, 10_000, 10_000,
        ]
        .map(|ms| rates.take("a", at(ms)).is_ok())
        .into();
        let wanted = [
            true, true, true, false, false, true, false, true, true, true, true, false,
        ];
        assert_eq!(taken, wanted);
        assert_eq!(
            rates.take("a", at(10_040)),
            Err(Duration::from_millis(60)),
            "when the next one is due"
        );
        assert_eq!(rates.take("b", at(0)), Ok(()), "each token has its own");
    }

    #[test]
    fn without_a_rate_nothing_is_counted() {
        let rates = Rates::new(None);
        for _ in 0..1_000 {
            assert_eq!(rates.take("a", Instant::now()), Ok(()));
        }
        assert!(rates.whole_at.lock().unwrap().is_empty());
    }

    #[test]
    fn tokens_that_are_quiet_are_forgotten() {
        let (rates, start) = (rates(10, 1), Instant::now());
        for token in 0..KEPT {
            rates.take(&token.to_string(), start).unwrap();
        }
        let later = start + Duration::from_secs(1);
        rates.take("new", later).unwrap();
        assert_eq!(rates.whole_at.lock().unwrap().len(), 1);
    }
}
