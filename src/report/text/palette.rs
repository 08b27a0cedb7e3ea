//! Colours, or none.

use crate::finding::Level;
use std::fmt;

#[derive(Clone, Copy)]
pub(super) struct Palette {
    pub(super) color: bool,
}

impl Palette {
    fn paint(self, code: &str, text: impl fmt::Display) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    pub(super) fn level(self, level: Level, text: &str) -> String {
        let code = match level {
            Level::Error => "1;31",
            Level::Warning => "1;33",
            Level::Note => "1;36",
        };
        self.paint(code, text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}
