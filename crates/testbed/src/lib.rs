//! A destination that loses answers on purpose, with a ledger of what really happened.
