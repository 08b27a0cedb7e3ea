//! How text for people is laid out.

/// How text is laid out. Other formats know none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether the reader shows ANSI colours.
    pub color: bool,
    /// The columns of a line.
    pub columns: usize,
    /// A person reads it on a terminal: what programs may look for can be said in plainer words.
    pub terminal: bool,
    /// Nothing but the findings.
    pub quiet: bool,
    /// All files and all rows of tables.
    pub verbose: bool,
    /// How many findings there are by rule, tool and file, in place of the findings.
    pub statistics: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { color: false, columns: 100, terminal: false, quiet: false, verbose: false, statistics: false }
    }
}
