//! Release notes as they stand in a changelog. Nothing is published here; it is only read what is approved.

/// One approved release note: a section of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is called, as in `0.1.0` for a release's opening words and `0.1.0 Added` for one of its sections.
    pub name: String,
    /// The date of its approval, as written.
    pub date: String,
    /// The note itself, in Markdown.
    pub text: String,
}

/// The approved notes of a changelog, in the order of the file.
///
/// A release begins with `## [0.1.0] - 2026-11-29`, brackets or none, and is approved when it has a version and a date: what
/// stands under `Unreleased` is not, and is left out. Each `###` within it is a note of its own.
#[must_use]
pub fn approved_notes(markdown: &str) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    let mut release: Option<Note> = None;
    for line in markdown.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            release = approved_heading(heading);
            notes.extend(release.clone());
        } else if let Some(release) = &release {
            if let Some(section) = line.strip_prefix("### ") {
                notes.push(Note {
                    name: format!("{} {}", release.name, section.trim()),
                    ..release.clone()
                });
            } else if let Some(note) = notes.last_mut() {
                note.text.push_str(line);
                note.text.push('\n');
            }
        }
    }
    for note in &mut notes {
        note.text = note.text.trim().to_owned();
    }
    notes.retain(|note| !note.text.is_empty());
    notes
}

fn approved_heading(heading: &str) -> Option<Note> {
    let (version, date) = heading.split_once(" - ")?;
    let version = version.trim().trim_start_matches('[').trim_end_matches(']');
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    let is_date = date
        .trim()
        .starts_with(|first: char| first.is_ascii_digit());
    (is_version && is_date).then(|| Note {
        name: version.to_owned(),
        date: date.trim().to_owned(),
        text: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sections_with_version_and_date_are_approved() {
        let changelog = "# Changelog\n\nAll changes.\n\n## [Unreleased]\n\n- not yet\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n\
                         - a thing\n\n## 0.1.0 - 2026-11-29\n- first\n\n## 0.0.9 - soon\n- no date\n";
        let notes = approved_notes(changelog);
        let names: Vec<&str> = notes.iter().map(|note| note.name.as_str()).collect();
        assert_eq!(
            names,
            ["0.2.0 Added", "0.1.0"],
            "a release without words of its own is its sections"
        );
        assert_eq!(notes[0].text, "- a thing");
        assert_eq!(notes[1].text, "- first");
        assert_eq!(notes[1].date, "2026-11-29");
    }
}
