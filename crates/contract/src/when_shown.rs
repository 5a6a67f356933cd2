//! Conditions as people read them: `status 409, /error/code = "running"`.

use std::fmt;

use crate::lookup::word;
use crate::when::{HeaderTest, JsonTest, Scalar, StatusSet, Test, TextTest, When};

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.status.iter().map(|set| format!("status {set}")));
        parts.extend(self.headers.iter().map(ToString::to_string));
        parts.extend(self.json.iter().map(ToString::to_string));
        parts.extend(self.text.iter().map(ToString::to_string));
        parts.extend(
            self.graphql
                .iter()
                .map(|state| format!("GraphQL {}", word(*state))),
        );
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |range: &std::ops::RangeInclusive<u16>| {
            if range.start() == range.end() {
                range.start().to_string()
            } else {
                format!("{}-{}", range.start(), range.end())
            }
        };
        let ranges: Vec<_> = self.0.iter().map(shown).collect();
        f.write_str(&ranges.join(" or "))
    }
}

impl fmt::Display for HeaderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "header {} {}", self.name, self.test)
    }
}

impl fmt::Display for JsonTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.to_string();
        let at = if at.is_empty() { "the body" } else { &at };
        write!(f, "{at} {}", self.test)
    }
}

impl fmt::Display for TextTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contains(text) => write!(f, "the body contains {text:?}"),
            Self::StartsWith(text) => write!(f, "the body begins with {text:?}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |list: &[Scalar]| {
            let list: Vec<_> = list.iter().map(ToString::to_string).collect();
            list.join(" or ")
        };
        match self {
            Self::OneOf(list) => write!(f, "= {}", listed(list)),
            Self::NoneOf(list) => write!(f, "is there, and not {}", listed(list)),
            Self::Exists => f.write_str("is there"),
            Self::Absent => f.write_str("is not there"),
            Self::Type(json) => write!(f, "is of the type {}", word(*json)),
            Self::Length(length) => write!(f, "has {length} elements"),
            Self::NotEmpty => f.write_str("is not empty"),
            Self::Contains(text) => write!(f, "contains {text:?}"),
            Self::StartsWith(text) => write!(f, "begins with {text:?}"),
            Self::Status(set) => write!(f, "is the status {set}"),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}
