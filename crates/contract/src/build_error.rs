//! Why a request cannot be built from a submission. Nothing was sent, and nothing may be.

/// What stands in the way, and where: `member` is a path into the submission (`/params/brand`, `/payload/ticket`), into the
/// contract (`/effect/path`), or one of the values made by the engine (`/key`, `/reference`, `/object`, `/cursor`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member} {rule}; {remedy}", rule = kind.rule(), remedy = kind.remedy())]
pub struct BuildError {
    /// Where it stands.
    pub member: String,
    /// What it is.
    pub kind: BuildErrorKind,
    /// What the operation's input schema wants there, where it is the schema that it does not fit: `has to be at most 255
    /// characters long`.
    pub wanted: Option<String>,
}

/// What stands in the way of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildErrorKind {
    /// A parameter that the contract names is not there.
    Missing,
    /// It is an empty text.
    Empty,
    /// It is a list, an object or null.
    NotScalar,
    /// The contract names no such parameter.
    Unknown,
    /// It would lead out of its segment of the path.
    LeavesPath,
    /// It holds a character that no header can carry.
    NotHeaderText,
    /// The payload is not JSON.
    NotJson,
    /// The payload is not one text.
    NotText,
    /// The payload lacks the text behind which the contract puts our mark.
    NoAnchor,
    /// There is a payload, and the operation sends none.
    NotWanted,
    /// The place to write to is neither an object nor the end of a list.
    NoPlace,
    /// The place to write to is taken by the submission.
    Taken,
    /// A name on the way to the place to write to occurs twice.
    Ambiguous,
    /// The body is larger than the provider takes.
    TooLarge,
    /// The contract has no such request.
    NotInContract,
    /// It has to be an object.
    NotObject,
    /// A list has to hold exactly one item here.
    NotSingle,
    /// It is no file: `filename`, and one of `text` and `base64`.
    NotFile,
    /// It is not of the type that the contract's schema names.
    WrongType,
    /// It is none of the values that the contract's schema lists.
    NotListed,
    /// It is shorter, or holds less, than the contract's schema allows.
    TooShort,
    /// It is longer, or holds more, than the contract's schema allows.
    TooLong,
    /// It is a number outside of what the contract's schema allows.
    OutOfRange,
}

impl BuildError {
    pub(crate) fn new(member: impl Into<String>, kind: BuildErrorKind) -> Self {
        Self {
            member: member.into(),
            kind,
            wanted: None,
        }
    }

    /// The same, against the operation's input schema, which wants this.
    pub(crate) fn wanting(self, wanted: impl Into<String>) -> Self {
        Self {
            wanted: Some(wanted.into()),
            ..self
        }
    }
}

impl BuildErrorKind {
    /// The rule that was broken.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::Empty => "is empty",
            Self::NotScalar => "is neither text, number nor boolean",
            Self::Unknown => "is no parameter of this operation",
            Self::LeavesPath => "would lead out of its place in the path",
            Self::NotHeaderText => "holds a character that no header can carry",
            Self::NotJson => "is not one JSON value in UTF-8",
            Self::NotText => "is not one text",
            Self::NoAnchor => "lacks the text behind which the contract puts our mark",
            Self::NotWanted => "is given, and this operation sends none",
            Self::NoPlace => "has no place for the contract's own member",
            Self::Taken => "is already set, and the contract sets it",
            Self::Ambiguous => "occurs twice",
            Self::TooLarge => "is larger than the provider takes",
            Self::NotInContract => "is not part of this contract",
            Self::NotObject => "is not an object",
            Self::NotSingle => "does not hold exactly one item",
            Self::NotFile => "is not a file that can be sent",
            Self::WrongType => "is not of the type that is wanted",
            Self::NotListed => "is none of the values that are taken",
            Self::TooShort => "is shorter than is taken",
            Self::TooLong => "is longer than is taken",
            Self::OutOfRange => "is outside of what is taken",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Missing => "add it",
            Self::Empty => "give it a value",
            Self::NotScalar => "give one plain value",
            Self::Unknown => "leave it out, or correct its name",
            Self::LeavesPath => "use a value without slashes, dots alone and control characters",
            Self::NotHeaderText => "use printable ASCII on one line",
            Self::NotJson => "send valid JSON",
            Self::NotText => "write it as one JSON string",
            Self::NoAnchor => "see `insert` in the contract; check line ends and capitals",
            Self::NotWanted => "leave the payload out",
            Self::NoPlace => "make it an object, or leave it out",
            Self::Taken => "leave it out of the payload",
            Self::Ambiguous => "name it once",
            Self::TooLarge => "send less",
            Self::NotInContract => "add the section to the contract",
            Self::NotObject => "send an object",
            Self::NotSingle => "submit one item at a time, each as an action of its own",
            Self::NotFile => "write `filename`, and its content as `text` or as `base64`",
            Self::WrongType
            | Self::NotListed
            | Self::TooShort
            | Self::TooLong
            | Self::OutOfRange => "see the operation's input schema",
        }
    }
}
