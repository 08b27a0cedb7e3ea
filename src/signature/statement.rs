//! What is signed about a sealed transcript.

use super::encoding::{from_base64, to_base64};
use crate::sanitize::{clip, visible};

/// The namespace of SSH signatures over seals.
pub const NAMESPACE: &str = "toolreplay-seal";

/// The first line of every statement.
const HEADER: &str = "toolreplay/seal/v2";

/// Whether a recording had ended when it was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It had: nothing may follow.
    Complete,
    /// It had not: calls may have followed that this seal does not have.
    Open,
}

impl State {
    /// The name in statements and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Open => "open",
        }
    }
}

/// What is signed about a sealed transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// How many links it has.
    pub links: u64,
    /// The last digest.
    pub head: [u8; 32],
    /// SHA-256 of the sealed file's bytes.
    pub file: [u8; 32],
    /// Whether the recording had ended.
    pub state: State,
}

impl Statement {
    /// The text, which ends in a newline.
    #[must_use]
    pub fn text(&self) -> String {
        let (links, head, file) = (self.links, to_base64(&self.head), hex::encode(self.file));
        format!("{HEADER}\n{links}\n{head}\nfile sha256:{file}\nstate {}\n", self.state.name())
    }

    /// Reads a text as strictly as it is written: there is one way to say each thing.
    ///
    /// # Errors
    /// What is wrong, with the line, safe to print.
    pub fn parse(text: &str) -> Result<Statement, String> {
        let mut lines = text.split('\n');
        let mut next = |number: usize, expected: &str| match lines.next() {
            Some(line) => Ok(line),
            None => Err(format!("line {number} is missing; expected {expected}")),
        };
        let wrong = |number: usize, found: &str, expected: &str| {
            format!("line {number} is '{}'; expected {expected}", visible(&clip(found, 100)))
        };
        let header = next(1, HEADER)?;
        if header != HEADER {
            return Err(wrong(1, header, &format!("'{HEADER}'")));
        }
        let expected = "the number of links";
        let line = next(2, expected)?;
        let links = line.parse().ok().filter(|links: &u64| links.to_string() == line);
        let links = links.ok_or_else(|| wrong(2, line, expected))?;
        let expected = "the last digest, 32 bytes in base64";
        let line = next(3, expected)?;
        let head = from_base64(line).and_then(|head| head.try_into().ok()).ok_or_else(|| wrong(3, line, expected))?;
        let expected = "'file sha256:' and 64 lower-case hexadecimal digits";
        let line = next(4, expected)?;
        let file = line.strip_prefix("file sha256:").filter(|digits| !digits.bytes().any(|b| b.is_ascii_uppercase()));
        let file = file.and_then(|digits| hex::decode(digits).ok()).and_then(|file| file.try_into().ok());
        let file = file.ok_or_else(|| wrong(4, line, expected))?;
        let expected = "'state complete' or 'state open'";
        let line = next(5, expected)?;
        let state = [State::Complete, State::Open].into_iter().find(|state| line == format!("state {}", state.name()));
        let state = state.ok_or_else(|| wrong(5, line, expected))?;
        match (lines.next(), lines.next()) {
            (Some(""), None) => Ok(Statement { links, head, file, state }),
            (None, _) => Err("line 5 does not end in a newline".to_owned()),
            (Some(line), _) => Err(wrong(6, line, "the end of the statement")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_read_back_and_nothing_else_is_one() {
        let statement = Statement { links: 6, head: [1; 32], file: [0xab; 32], state: State::Complete };
        let text = statement.text();
        let head = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
        let file = "ab".repeat(32);
        assert_eq!(text, format!("toolreplay/seal/v2\n6\n{head}\nfile sha256:{file}\nstate complete\n"));
        assert_eq!(Statement::parse(&text).unwrap(), statement);
        let open = Statement { state: State::Open, ..statement };
        assert_eq!(Statement::parse(&open.text()).unwrap(), open);
        for (from, to, words) in [
            ("seal/v2", "seal/v3", "line 1 is 'toolreplay/seal/v3'; expected 'toolreplay/seal/v2'"),
            ("\n6\n", "\n06\n", "line 2 is '06'; expected the number of links"),
            ("\n6\n", "\n-6\n", "line 2 is '-6'"),
            ("\n6\n", "\n+6\n", "line 2 is '+6'"),
            ("\n6\n", "\n99999999999999999999\n", "line 2 is '99999999999999999999'"),
            ("QE=", "QE", "line 3 is"),
            ("QE=", "QF=", "line 3 is"),
            ("QE=", "=", "line 3 is"),
            ("sha256:ab", "sha256:AB", "line 4 is"),
            ("sha256:ab", "sha256:", "line 4 is"),
            ("file sha256", "file sha512", "line 4 is"),
            ("complete", "Complete", "line 5 is 'state Complete'"),
            ("complete\n", "complete", "line 5 does not end"),
            ("complete\n", "complete\nmore\n", "line 6 is 'more'; expected the end"),
            ("complete\n", "complete\n\n", "line 6 is ''"),
            ("\n", "\r\n", "line 1 is 'toolreplay/seal/v2\\r'"),
        ] {
            let error = Statement::parse(&text.replace(from, to)).unwrap_err();
            assert!(error.contains(words), "{from} -> {to}: {error}");
        }
        for cut in 0..text.len() {
            assert!(Statement::parse(&text[..cut]).is_err(), "{cut}");
        }
    }
}
