//! The `factum` command: the composition root.
fn main() {}
