//! The commands that make reports.

/// Which command made a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// All rules over many files.
    Audit,
    /// A transcript against itself.
    Replay,
    /// A transcript against a scope.
    Scope,
    /// A sealed transcript against itself.
    Verify,
    /// Sealed transcripts against themselves, their transcripts and a base revision, and no calls: `audit --seals-only`.
    Seals,
    /// Transcripts sealed beside themselves.
    SealAll,
}

impl Command {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Command::Audit => "audit",
            Command::Replay => "replay",
            Command::Scope => "scope",
            Command::Verify => "verify",
            Command::Seals => "audit --seals-only",
            Command::SealAll => "seal-all",
        }
    }
}
