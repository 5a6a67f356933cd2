//! Who carries it out: a sans-I/O driver and its thin tokio shell.
