//! The languages that there are words in, and which of them a reader gets.

use factum_engine::{Code, Problem};
use unic_langid::{LanguageIdentifier, langid};

/// A language that every message exists in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locale {
    /// English.
    #[default]
    English,
    /// German.
    German,
    /// Spanish.
    Spanish,
    /// French.
    French,
    /// Japanese.
    Japanese,
    /// Polish.
    Polish,
}

impl Locale {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::English,
        Self::German,
        Self::Spanish,
        Self::French,
        Self::Japanese,
        Self::Polish,
    ];

    /// Its tag, which is also the name of its message file.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::Spanish => "es",
            Self::French => "fr",
            Self::Japanese => "ja",
            Self::Polish => "pl",
        }
    }

    /// The one of a BCP 47 tag, by its language alone: `de-AT` is read in German.
    #[must_use]
    pub fn of(tag: &str) -> Option<Self> {
        let language = tag.split(['-', '_']).next().unwrap_or_default().trim();
        Self::ALL
            .into_iter()
            .find(|locale| locale.tag().eq_ignore_ascii_case(language))
    }

    /// The one that a configuration names.
    pub(crate) fn configured(member: &str, tag: &str) -> Result<Self, Problem> {
        Self::of(tag).ok_or_else(|| {
            let tags = Self::ALL.map(Self::tag);
            let rule = format!("there are no words in {tag:?}");
            let remedy = format!("use one of: {}", tags.join(", "));
            Problem::new(Code::BadConfig, member, rule, remedy)
        })
    }

    /// The one that the header `Accept-Language` prefers among those that there are. None where it prefers nothing.
    #[must_use]
    pub fn accepted(header: &str) -> Option<Self> {
        let mut wanted: Vec<(f32, Self)> = header
            .split(',')
            .filter_map(|item| {
                let (tag, weight) = item.split_once(';').unwrap_or((item, "q=1"));
                let weight = weight.trim().strip_prefix("q=")?.parse().ok()?;
                Some((weight, Self::of(tag)?))
            })
            .filter(|(weight, _)| *weight > 0.0)
            .collect();
        // Stable: of two that are equally welcome, the first.
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        wanted.first().map(|(_, locale)| *locale)
    }

    pub(super) fn identifier(self) -> LanguageIdentifier {
        match self {
            Self::English => langid!("en"),
            Self::German => langid!("de"),
            Self::Spanish => langid!("es"),
            Self::French => langid!("fr"),
            Self::Japanese => langid!("ja"),
            Self::Polish => langid!("pl"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_by_its_language() {
        for (tag, locale) in [
            ("de", Some(Locale::German)),
            ("de-AT", Some(Locale::German)),
            ("PL_pl", Some(Locale::Polish)),
            ("ja-JP-u-ca-japanese", Some(Locale::Japanese)),
            ("nl", None),
            ("den", None),
            ("", None),
        ] {
            assert_eq!(Locale::of(tag), locale, "{tag:?}");
        }
    }

    #[test]
    fn the_header_is_read_by_weight_and_what_there_is() {
        for (header, locale) in [
            ("de", Some(Locale::German)),
            ("nl, fr;q=0.5, pl;q=0.8", Some(Locale::Polish)),
            ("fr;q=0.8,en-GB", Some(Locale::English)),
            ("es , fr", Some(Locale::Spanish)),
            ("fr;q=0, ja;q=0.1", Some(Locale::Japanese)),
            ("*", None),
            ("nl", None),
            ("de;q=often", None),
            ("", None),
        ] {
            assert_eq!(Locale::accepted(header), locale, "{header:?}");
        }
    }
}
