//! How it is reached: the HTTP API.
