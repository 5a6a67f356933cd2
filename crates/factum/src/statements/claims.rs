//! What a text claims: that something was done, or that nothing was. The words are data, one file per locale
//! (`messages/claims/`), each with sentences that it has to read rightly.
//!
//! It reads clause by clause, and errs on the side of seeing a claim. It guards against slips of whoever writes messages, and
//! against a speaker that says more than it was handed; it understands no language.

use serde::Deserialize;

use super::locale::Locale;

/// The words that claim something in one locale.
#[derive(Debug)]
pub struct Claims {
    done: Words,
    not_done: Words,
    after: bool,
}

/// What a text claims, by the words that claim it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// That something was done.
    pub done: Option<String>,
    /// That nothing was done.
    pub not_done: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    claims: Vec<String>,
    unless: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stands {
    /// Before what it takes back, as words.
    Before,
    /// Behind what it takes back, in a script without spaces.
    After,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    unless_stands: Stands,
    done: Words,
    not_done: Words,
    #[cfg_attr(not(test), expect(dead_code, reason = "the test of the words"))]
    sentences: Sentences,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), expect(dead_code, reason = "the test of the words"))]
struct Sentences {
    done: Vec<String>,
    not_done: Vec<String>,
    neither: Vec<String>,
}

impl Claims {
    /// Those of a locale.
    ///
    /// # Panics
    /// If a file that comes with the program is malformed, which a test of each rules out.
    #[must_use]
    pub fn of(locale: Locale) -> Self {
        let file = file(locale);
        Self {
            done: file.done,
            not_done: file.not_done,
            after: matches!(file.unless_stands, Stands::After),
        }
    }

    /// What a text claims.
    #[must_use]
    pub fn made_by(&self, text: &str) -> Claimed {
        let mut claimed = Claimed::default();
        for clause in clauses(text) {
            claimed.done = claimed.done.or_else(|| self.found(&self.done, &clause));
            claimed.not_done = (claimed.not_done).or_else(|| self.found(&self.not_done, &clause));
        }
        claimed
    }

    fn found(&self, words: &Words, clause: &str) -> Option<String> {
        let found = words.claims.iter().find(|claim| {
            if self.after {
                clause
                    .match_indices(claim.as_str())
                    .any(|(at, _)| !words.unless.iter().any(|u| clause[at..].contains(u)))
            } else {
                let clause: Vec<&str> = tokens(clause).collect();
                starts_of(claim, &clause).any(|at| {
                    let before = &clause[..at];
                    !words
                        .unless
                        .iter()
                        .any(|unless| starts_of(unless, before).next().is_some())
                })
            }
        });
        found.cloned()
    }
}

fn file(locale: Locale) -> File {
    let text = match locale {
        Locale::English => include_str!("../../messages/claims/en.toml"),
        Locale::German => include_str!("../../messages/claims/de.toml"),
        Locale::Spanish => include_str!("../../messages/claims/es.toml"),
        Locale::French => include_str!("../../messages/claims/fr.toml"),
        Locale::Japanese => include_str!("../../messages/claims/ja.toml"),
        Locale::Polish => include_str!("../../messages/claims/pl.toml"),
    };
    toml::from_str(text).expect("the built-in claims are read by a test")
}

/// What stands between full stops, commas and the like, in lower case.
fn clauses(text: &str) -> impl Iterator<Item = String> {
    text.split([
        '.', ',', ';', ':', '!', '?', '(', ')', '—', '–', '\n', '。', '、', '！', '？', '：', '；',
        '（', '）',
    ])
    .map(str::to_lowercase)
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Where a phrase begins in a row of words. A word of the phrase that ends in `*` is a beginning of a word.
fn starts_of<'a>(phrase: &'a str, words: &'a [&str]) -> impl Iterator<Item = usize> {
    let phrase: Vec<(&str, bool)> = phrase
        .split_whitespace()
        .flat_map(|part| tokens(part).map(move |word| (word, part.ends_with('*'))))
        .collect();
    let length = phrase.len().max(1);
    let fits = move |window: &[&str]| {
        let mut pairs = phrase.iter().zip(window);
        pairs.all(|((wanted, stem), word)| word == wanted || *stem && word.starts_with(wanted))
    };
    (0..(words.len() + 1).saturating_sub(length)).filter(move |at| fits(&words[*at..at + length]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_locale_reads_its_sentences_rightly() {
        for locale in Locale::ALL {
            let (claims, sentences) = (Claims::of(locale), file(locale).sentences);
            for sentence in &sentences.done {
                let claimed = claims.made_by(sentence);
                assert!(claimed.done.is_some(), "{}: {sentence}", locale.tag());
            }
            for sentence in &sentences.not_done {
                let claimed = claims.made_by(sentence);
                assert!(claimed.not_done.is_some(), "{}: {sentence}", locale.tag());
                assert_eq!(claimed.done, None, "{}: {sentence}", locale.tag());
            }
            for sentence in &sentences.neither {
                let claimed = claims.made_by(sentence);
                assert_eq!(claimed, Claimed::default(), "{}: {sentence}", locale.tag());
            }
            let all = [&sentences.done, &sentences.not_done, &sentences.neither];
            assert!(all.iter().all(|some| some.len() >= 4), "{}", locale.tag());
        }
    }

    #[test]
    fn a_claim_is_taken_back_within_its_clause_alone() {
        let english = Claims::of(Locale::English);
        for (text, done) in [
            ("It is not done.", false),
            ("Not at once. It is done.", true),
            ("It isn’t done", false),
            ("It is done, not only begun", true),
            ("The abandoned cart", false),
            ("Successfully booked", true),
        ] {
            assert_eq!(english.made_by(text).done.is_some(), done, "{text}");
        }
    }
}
