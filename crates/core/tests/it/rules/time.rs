//! Placeholder module text replaced below.
