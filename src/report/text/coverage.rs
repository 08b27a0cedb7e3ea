//! What was looked at and what was not: one line where programs may read it, a short table on a terminal.

use super::palette::Palette;
use crate::audit::Coverage;
use crate::report::style::Style;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr as _;

/// The columns of the titles.
const TITLE: usize = 14;

pub(super) fn write(coverage: &Coverage, style: &Style, palette: Palette, out: &mut dyn Write) -> io::Result<()> {
    if !style.terminal {
        return writeln!(out, "coverage: {coverage}");
    }
    let mut rows = vec![("looked at", coverage.looked_at())];
    rows.extend(coverage.in_words().into_iter().map(|what| ("not judged", what)));
    let mut last = "";
    for (title, what) in rows {
        let shown = if title == last { "" } else { title };
        last = title;
        for (at, line) in wrapped(&what, style.columns.saturating_sub(TITLE).max(20)).iter().enumerate() {
            let title = format!("{:TITLE$}", if at == 0 { shown } else { "" });
            writeln!(out, "{}{line}", palette.dim(&title))?;
        }
    }
    Ok(())
}

/// A text on lines of so many columns, broken between words.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(coverage: &Coverage, columns: usize) -> String {
        let style = Style { terminal: true, columns, ..Style::default() };
        let mut out = Vec::new();
        write(coverage, &style, Palette { color: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_in_plain_words() {
        let coverage = Coverage {
            files: 1,
            calls: 31,
            not_judged: vec![
                "31 calls without an earlier identical call to compare with".to_owned(),
                "permissions, for no scope was given".to_owned(),
            ],
            ..Coverage::default()
        };
        assert_eq!(
            shown(&coverage, 100),
            "looked at     1 file, 31 calls; none was made twice, so there was nothing to compare\n\
             not judged    permissions, for no scope was given\n"
        );
        let narrow = shown(&coverage, 40);
        assert!(narrow.lines().all(|line| line.len() <= 40) && narrow.lines().count() > 3, "{narrow}");
    }
}
