//! What a probe was ordered to send, on disk before the first byte of it; and what came of it.
//!
//! One JSON value per line. If the probe ends on the way, this is what tells what may exist at the destination.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use factum_contract::probe::EffectTry;
use factum_core::{ActionId, Evidence, Fact};
use factum_engine::ordered;
use serde_json::{Value, json};

use crate::failure::Failure;

/// The file.
pub(super) struct Journal {
    file: File,
}

impl Journal {
    /// A new one; an existing file is not touched.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create_new(path).map_err(|error| {
            Failure::usage(
                format!("cannot make {}: {error}", path.display()),
                "name a place with --report where a file can be made",
            )
        })?;
        Ok(Self { file })
    }

    /// Says what request an action is, before it is ordered.
    pub(super) fn intends(
        &mut self,
        action: ActionId,
        effect: &EffectTry,
        base: &str,
    ) -> io::Result<()> {
        self.write(&[json!({
            "action": action.to_string(), "request": format!("{} {base}{}", effect.request.method, effect.request.path_and_query),
            "key": effect.key, "reference": effect.reference, "cancels": effect.cancels, "undoes": effect.undoes, "why": effect.why,
        })])
    }

    /// Says how it ended.
    pub(super) fn ended(&mut self, action: ActionId, how: &str, detail: &str) -> io::Result<()> {
        self.write(&[json!({"action": action.to_string(), "ended": how, "detail": detail})])
    }

    /// Writes lines and waits until they are on disk.
    fn write(&mut self, lines: &[Value]) -> io::Result<()> {
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }
}

impl ordered::Journal for Journal {
    fn durable(&mut self, action: ActionId, records: &[Evidence]) -> io::Result<()> {
        let action = action.to_string();
        let lines: Vec<Value> = records
            .iter()
            .map(|record| match &record.fact {
                Fact::Verdict(verdict) => json!({
                    "action": action, "record": record.fact.kind(), "at": record.at.as_micros(),
                    "by": verdict.by, "why": verdict.why,
                }),
                Fact::Marked(mark) => json!({
                    "action": action, "record": record.fact.kind(), "at": record.at.as_micros(),
                    "attempt": mark.attempt.0, "permission": mark.permission.name(),
                    "valid_until": mark.valid_until.as_micros(), "lease_until": mark.lease_until.as_micros(),
                }),
                fact => json!({"action": action, "record": fact.kind(), "at": record.at.as_micros()}),
            })
            .collect();
        self.write(&lines)
    }
}
