//! Tests of the core from the design and the rules, not from its code. They never look inside: evidence in, state and next
//! step out.

mod arbitrary;
mod fold_order;
mod kit;
mod pairs;
mod policy_table;
mod rules;
mod states_page;
