//! The part of regular expressions (ECMA-262) that the document's patterns use: anchored at both ends; classes, groups, literals, each
//! with a count.

use std::collections::BTreeSet;

/// One piece of a pattern, and how often it may occur.
struct Piece {
    what: What,
    least: usize,
    most: usize,
}

enum What {
    /// Ranges, and whether they are excluded.
    Class(Vec<(char, char)>, bool),
    Group(Vec<Piece>),
}

/// Whether the whole text matches.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let inner = pattern
        .strip_prefix('^')
        .and_then(|rest| rest.strip_suffix('$'))
        .unwrap_or_else(|| panic!("{pattern} is not anchored"));
    let letters: Vec<char> = inner.chars().collect();
    let mut at = 0;
    let pieces = sequence(&letters, &mut at);
    assert_eq!(at, letters.len(), "{pattern} was not read to its end");
    let text: Vec<char> = text.chars().collect();
    ends(&pieces, &text, BTreeSet::from([0])).contains(&text.len())
}

fn sequence(letters: &[char], at: &mut usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while *at < letters.len() && letters[*at] != ')' {
        let what = match letters[*at] {
            '[' => class(letters, at),
            '(' => {
                *at += 1;
                let group = sequence(letters, at);
                *at += 1;
                What::Group(group)
            }
            _ => {
                let letter = escaped(letters, at);
                What::Class(vec![(letter, letter)], false)
            }
        };
        let (least, most) = count(letters, at);
        pieces.push(Piece { what, least, most });
    }
    pieces
}

fn class(letters: &[char], at: &mut usize) -> What {
    *at += 1;
    let excluded = letters[*at] == '^';
    *at += usize::from(excluded);
    let mut ranges = Vec::new();
    while letters[*at] != ']' {
        let from = escaped(letters, at);
        let to = if letters[*at] == '-' && letters[*at + 1] != ']' {
            *at += 1;
            escaped(letters, at)
        } else {
            from
        };
        ranges.push((from, to));
    }
    *at += 1;
    What::Class(ranges, excluded)
}

/// One character, which may be written as `\u00a0` or `\.`.
fn escaped(letters: &[char], at: &mut usize) -> char {
    let letter = letters[*at];
    *at += 1;
    if letter != '\\' {
        return letter;
    }
    let kind = letters[*at];
    *at += 1;
    if kind != 'u' {
        return kind;
    }
    let hex: String = letters[*at..*at + 4].iter().collect();
    *at += 4;
    char::from_u32(u32::from_str_radix(&hex, 16).unwrap()).unwrap()
}

fn count(letters: &[char], at: &mut usize) -> (usize, usize) {
    let (least, most, read) = match letters.get(*at) {
        Some('*') => (0, usize::MAX, 1),
        Some('+') => (1, usize::MAX, 1),
        Some('?') => (0, 1, 1),
        Some('{') => {
            let end = letters[*at..].iter().position(|c| *c == '}').unwrap();
            let text: String = letters[*at + 1..*at + end].iter().collect();
            let (least, most) = text.split_once(',').unwrap_or((&text, &text));
            (least.parse().unwrap(), most.parse().unwrap(), end + 1)
        }
        Some(_) | None => (1, 1, 0),
    };
    *at += read;
    (least, most)
}

/// Where the pieces may end, begun at any of these places.
fn ends(pieces: &[Piece], text: &[char], from: BTreeSet<usize>) -> BTreeSet<usize> {
    pieces.iter().fold(from, |from, piece| {
        let (mut found, mut reached) = (BTreeSet::new(), from);
        for times in 0..=piece.most {
            if times >= piece.least {
                // From where it was before, nothing new is reached.
                reached.retain(|at| found.insert(*at));
            }
            if reached.is_empty() {
                break;
            }
            reached = one(&piece.what, text, &reached);
        }
        found
    })
}

fn one(what: &What, text: &[char], from: &BTreeSet<usize>) -> BTreeSet<usize> {
    match what {
        What::Class(ranges, excluded) => {
            let hit = |letter: &char| {
                let mut ranges = ranges.iter();
                ranges.any(|(from, to)| (from..=to).contains(&letter)) != *excluded
            };
            let hits = from.iter().filter(|at| text.get(**at).is_some_and(hit));
            hits.map(|at| at + 1).collect()
        }
        What::Group(pieces) => ends(pieces, text, from.clone()),
    }
}

#[test]
fn a_pattern_matches_what_it_says() {
    let cases = [
        ("^act_[0-7][0-9a-c]{2}$", "act_7ab", true),
        ("^act_[0-7][0-9a-c]{2}$", "act_8ab", false),
        ("^act_[0-7][0-9a-c]{2}$", "act_7abc", false),
        ("^[0-9]{1,3}(\\.[0-9]{0,2})?$", "12", true),
        ("^[0-9]{1,3}(\\.[0-9]{0,2})?$", "12.", true),
        ("^[0-9]{1,3}(\\.[0-9]{0,2})?$", "12.345", false),
        ("^[0-9]{1,3}(\\.[0-9]{0,2})?$", "12x34", false),
        ("^[^\\u0000-\\u001f]*[^ ][^\\u0000-\\u001f]*$", " a ", true),
        ("^[^\\u0000-\\u001f]*[^ ][^\\u0000-\\u001f]*$", "   ", false),
        ("^[^\\u0000-\\u001f]+$", "a\u{1}", false),
        ("^[a-z]{1,2}(-[a-z]{1,2})*$", "de-at-x", true),
        ("^[a-z]{1,2}(-[a-z]{1,2})*$", "de-", false),
    ];
    for (pattern, text, right) in cases {
        assert_eq!(matches(pattern, text), right, "{pattern}: {text:?}");
    }
}
