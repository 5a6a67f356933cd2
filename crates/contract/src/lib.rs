//! What a destination promises about an operation: parse, lint, build requests, read answers.
