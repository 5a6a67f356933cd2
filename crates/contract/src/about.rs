//! What a contract says about itself: which version of the interface, when it was verified, what has to be set up.

use crate::claims::day;
use crate::contract::Contract;
use crate::parts::optional;
use crate::source::Section;

/// The members at the root that speak of the contract as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) api_version: Option<String>,
    pub(crate) verified_on: Option<String>,
    pub(crate) review_by: Option<String>,
    pub(crate) requires: Vec<String>,
}

impl About {
    pub(crate) fn read(root: &Section<'_>) -> Option<Self> {
        let api_version = root.words("api_version");
        let date = |name| optional(root.get(name), |node| node.checked(day(node.text()?)));
        let (verified_on, review_by) = (date("verified_on"), date("review_by"));
        let requires = optional(root.get("requires"), |node| {
            let list = node.list(true)?;
            let texts = list.iter().map(|node| node.words().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>()
        });
        let about = Self {
            api_version,
            verified_on: verified_on?,
            review_by: review_by?,
            requires: requires?.unwrap_or_default(),
        };
        // Days are written largest part first, so that their texts are in the order of time.
        if let Some((verified, review)) = about.verified_on.as_ref().zip(about.review_by.as_ref())
            && review <= verified
        {
            let message = "is not after the day on which the contract was verified";
            root.error("review_by", "review_by", message, "name a later day");
        }
        Some(about)
    }
}

impl Contract {
    /// The version of the destination's interface that it speaks of.
    #[must_use]
    pub fn api_version(&self) -> Option<&str> {
        self.about.api_version.as_deref()
    }

    /// The day on which its claims were last compared with their sources.
    #[must_use]
    pub fn verified_on(&self) -> Option<&str> {
        self.about.verified_on.as_deref()
    }

    /// The day by which that has to be done again.
    #[must_use]
    pub fn review_by(&self) -> Option<&str> {
        self.about.review_by.as_deref()
    }

    /// What has to be so at the destination for the contract to hold, in words: nothing in an answer shows it.
    pub fn requires(&self) -> impl Iterator<Item = &str> {
        self.about.requires.iter().map(String::as_str)
    }
}
