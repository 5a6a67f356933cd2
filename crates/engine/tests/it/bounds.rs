//! Bounds that count over all workers on a store.

use std::sync::Arc;

use factum_core::Timestamp;
use factum_engine::Code;
use factum_store::{MemoryStore, Store};

use crate::running::{done, start_on, submission};

const MAX: usize = 10;

/// Three workers, one of which came late, together record as many as may be unsettled; beyond, only repeats are taken.
#[tokio::test]
async fn workers_together_keep_to_the_bound_on_unsettled_actions() {
    let clock = || {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
    };
    let store = Arc::new(MemoryStore::shared(Arc::new(clock)));
    let held = Some("by ana".to_owned());
    store.set_setting("paused", held).await.unwrap();
    let mut engines = Vec::new();
    let (mut taken, mut refused, mut n) = (0, 0, 0);
    // Those that are refused come again, until all of them are refused for good: the bound is reached by then.
    while refused < 60 {
        if engines.len() < 3 && n % 3 == 0 {
            engines.push(start_on(store.clone(), done, MAX).await);
        }
        n += 1;
        let engine = &engines[n % engines.len()];
        let answer = engine.submit(submission(&format!("key-{taken}")), "default", "admin");
        match answer.await {
            Ok(submitted) => {
                assert!(submitted.created);
                taken += 1;
                refused = 0;
            }
            Err(problem) => {
                assert_eq!(problem.code, Code::QueueFull, "{problem:?}");
                refused += 1;
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        }
        assert!(taken <= MAX, "{taken} are unsettled");
    }
    assert_eq!(taken, MAX);
    for engine in &engines {
        let again = engine.submit(submission("key-0"), "default", "admin").await;
        assert!(!again.unwrap().created, "a repeat joins");
    }
}
