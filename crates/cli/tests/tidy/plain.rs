//! Rust source without what it only says: comments and the contents of strings are blanked, lines stay where they are.

/// The code alone. Comments, and what stands between quotation marks, become spaces.
pub(crate) fn code(source: &str) -> String {
    blank(source, true)
}

/// The code with its strings, without comments.
pub(crate) fn uncommented(source: &str) -> String {
    blank(source, false)
}

fn blank(source: &str, strings: bool) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let after_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (length, blanked) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), true)
        } else if rest.starts_with("/*") {
            (block_comment(rest), true)
        } else if let Some(length) = (!after_word).then(|| raw_string(rest)).flatten() {
            (length, strings)
        } else if first == '"' {
            (string(rest), strings)
        } else if let Some(length) = character(rest) {
            (length, strings)
        } else {
            (first.len_utf8(), false)
        };
        let (piece, left) = rest.split_at(length);
        if blanked {
            out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(piece);
        }
        rest = left;
    }
    out
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#` and the same of bytes.
fn raw_string(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = body.bytes().take_while(|byte| *byte == b'#').count();
    let opened = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - opened.len();
    Some(
        opened
            .find(&close)
            .map_or(rest.len(), |end| start + end + close.len()),
    )
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character literal; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('\'')?;
    if body.starts_with('\\') {
        let end = body.char_indices().skip(2).find(|(_, c)| *c == '\'')?.0;
        return Some(end + 2);
    }
    let inner = body.chars().next()?.len_utf8();
    body[inner..].starts_with('\'').then_some(inner + 2)
}

/// The words of a text: letters, digits and underscores.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

#[test]
fn only_the_code_is_left() {
    let source = r##"let a = "tokio"; // serde
/* rand /* nested */ still */ let b: &'static str = r#"SystemTime "quoted" "#; let c = '"'; let d = '\''; env"##;
    let left = code(source);
    let kept: Vec<&str> = words(&left).collect();
    let expected = [
        "let", "a", "let", "b", "static", "str", "let", "c", "let", "d", "env",
    ];
    assert_eq!(kept, expected);
    assert_eq!(left.lines().count(), source.lines().count());
    let said = uncommented(source);
    assert!(said.contains("tokio") && said.contains("SystemTime"));
    assert!(!said.contains("serde") && !said.contains("nested"));
}
