//! What is told of a chain that does not hold.

/// What a chain does not hold up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// A link does not follow from what stands before it.
    Link,
    /// A link is not that of the chain this one must extend.
    Extends,
    /// The last digest is not the expected one.
    Head,
    /// Another chain goes on from the link that this one goes on from.
    Fork,
}

/// What stands in the place of a digest where a chain ends too early.
pub const END: &str = "the end of the chain";

/// The first link that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// What it does not hold up to.
    pub kind: Break,
    /// The position of the link, from 0.
    pub index: u64,
    /// Its line, from 1. Where the chain ends before the link: that of the last link, 0 if there is none.
    pub line: u64,
    /// The length of its line in UTF-16 code units.
    pub width: u32,
    /// The digest that would hold.
    pub expected: String,
    /// The digest that stands there, made safe to print.
    pub found: String,
    /// In which way the chain is broken, where that was looked at and can be told.
    pub damage: Option<Damage>,
}

/// In which way a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The link says something else than when it was sealed.
    Edited,
    /// The link before it is not the one it was chained to, and was given a digest that fits it.
    Resealed,
    /// So many links before it are missing.
    Missing(u64),
    /// The same link stands in the chain before.
    Doubled,
    /// The link that belongs here stands further behind.
    Swapped,
    /// Two chains go on from one link.
    Forked,
    /// The chain ends too early.
    Cut,
    /// The chain goes on from another file.
    Continues,
}

impl Damage {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Damage::Edited | Damage::Resealed => "edited",
            Damage::Missing(_) => "missing",
            Damage::Doubled => "doubled",
            Damage::Swapped => "swapped",
            Damage::Forked => "forked",
            Damage::Cut => "cut",
            Damage::Continues => "continues",
        }
    }

    /// What happened, in words that go on behind the place.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Damage::Edited => "the link was edited".to_owned(),
            Damage::Resealed => "the link before it was edited and given a new digest".to_owned(),
            Damage::Missing(1) => "a link before it is missing".to_owned(),
            Damage::Missing(count) => format!("{count} links before it are missing"),
            Damage::Doubled => "it is a link that stands in the chain before".to_owned(),
            Damage::Swapped => "links were swapped: the one that belongs here stands further behind".to_owned(),
            Damage::Forked => "the chain forks: two links go on from the same one".to_owned(),
            Damage::Cut => "the chain was cut".to_owned(),
            Damage::Continues => {
                "it goes on from another file, which is not among these: name that with 'verify --continues'".to_owned()
            }
        }
    }
}
