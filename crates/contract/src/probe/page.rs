//! A report as a page for people.

use std::fmt::Write as _;

use super::{Report, Verdict};

impl Report {
    /// As Markdown: what held, what did not, what could not be told, and what was left behind.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut page = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(&mut page);
        page
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        let name = format!("{}.{}", self.provider, self.operation);
        writeln!(page, "# Probe of {name}, {}\n", self.date())?;
        let account = self.account.as_deref().map_or(String::new(), |account| {
            format!(", account {}", cell(account))
        });
        writeln!(
            page,
            "Destination {} at {}{account}; ordered by {}; from {} to {}. {} effect requests, {} effects, {} withdrawn, {} undone.\n",
            cell(&self.destination),
            cell(&self.base),
            cell(&self.by),
            self.began,
            self.ended,
            self.requests,
            self.effects,
            self.withdrawn,
            self.undone.len()
        )?;
        for verdict in [Verdict::DidNotHold, Verdict::Held, Verdict::CouldNotBeTold] {
            let claims: Vec<_> = self.with(verdict).collect();
            writeln!(page, "## {} ({})\n", heading(verdict), claims.len())?;
            if claims.is_empty() {
                writeln!(page, "None.\n")?;
                continue;
            }
            writeln!(
                page,
                "| claim | what the contract says | what was seen |\n| --- | --- | --- |"
            )?;
            for claim in claims {
                let (says, why) = (cell(&claim.says), cell(&claim.why));
                writeln!(page, "| `{}` | {says} | {why} |", claim.about)?;
            }
            writeln!(page)?;
        }
        if let Some(lag) = &self.lookup {
            writeln!(
                page,
                "Until an effect showed in the lookup: {} ms at the least, {} ms in the middle, {} ms at the most, over {} effects.\n",
                lag.min_ms, lag.median_ms, lag.max_ms, lag.samples
            )?;
        }
        self.write_remains(page)?;
        writeln!(page, "\n## Every answer\n")?;
        writeln!(page, "| tried | sent | got |\n| --- | --- | --- |")?;
        for seen in &self.answers {
            let got = cell(&seen.got);
            writeln!(
                page,
                "| {} | {} | {got} |",
                seen.experiment.title(),
                seen.content
            )?;
        }
        Ok(())
    }

    /// What was undone, and what was left behind and why.
    fn write_remains(&self, page: &mut String) -> std::fmt::Result {
        if !self.undone.is_empty() {
            writeln!(page, "## Undone\n")?;
            for undone in &self.undone {
                let receipt = cell(&undone.receipt);
                writeln!(
                    page,
                    "- `{receipt}`, by {} (our reference `{}`)",
                    undone.by, undone.reference
                )?;
            }
            writeln!(page)?;
        }
        writeln!(page, "## Left behind\n")?;
        if self.left.is_empty() {
            writeln!(page, "Nothing.\n")?;
        }
        for left in &self.left {
            let named = left.names.iter().map(|name| format!("`{name}`"));
            let named: Vec<String> = named.collect();
            let doubt = if left.exists { "" } else { "perhaps: " };
            let why = left.why.as_deref();
            let why = why.map_or(String::new(), |why| format!(": {}", cell(why)));
            let key = left.key.as_deref();
            let key = key.map_or(String::new(), |key| format!(", key `{key}`"));
            writeln!(
                page,
                "- {doubt}{} (our reference `{}`{key}){why}",
                named.join(", "),
                left.reference
            )?;
        }
        Ok(())
    }
}

fn heading(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "Held",
        Verdict::DidNotHold => "Did not hold",
        Verdict::CouldNotBeTold => "Could not be told",
    }
}

/// Text of a destination in a cell: on one line, and no markup of ours.
fn cell(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
}
