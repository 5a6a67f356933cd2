//! The pieces of work that every effect costs, one by one: `cargo bench` times them, `bench/micro/guard.py` counts their
//! instructions and compares them with those that are recorded.

mod canonical;
mod contract;
mod core;
mod store;

/// A piece of work, prepared once and done many times over. Each time does the same amount.
pub type Work = Box<dyn FnMut()>;

/// Prepares a piece of work, or says why that failed.
pub type Prepare = fn() -> Result<Work, Box<dyn std::error::Error>>;

/// Every piece of work, by its name.
pub const ALL: [(&str, Prepare); 7] = [
    ("fold", core::fold),
    ("decide", core::decide),
    ("build_request", contract::build_request),
    ("read_answer", contract::read_answer),
    ("canonical_json", canonical::canonical_json),
    ("admit_in_memory", store::admit_in_memory),
    ("admit_in_sqlite", store::admit_in_sqlite),
];
