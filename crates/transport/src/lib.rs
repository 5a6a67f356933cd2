//! How it is carried: one request in, evidence out.
