//! What `stats` and `diff` have in common: words and shapes for time, tokens and money, and a table.

use crate::formats::Usage;
use crate::sanitize::{clip, visible};
use serde::Serialize;
use std::io::{self, Write};

/// The version of the shapes of `stats` and `diff`.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// The program that made a report.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "JsonProgram", deny_unknown_fields)]
pub(super) struct JsonTool {
    /// `toolreplay`
    name: &'static str,
    /// Its version.
    version: &'static str,
}

impl JsonTool {
    pub(super) const OURS: JsonTool = JsonTool { name: "toolreplay", version: env!("CARGO_PKG_VERSION") };
}

/// What models used, as far as the recording says it.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct JsonUsage {
    /// Tokens that the models read, those from a cache included.
    input_tokens: u64,
    /// Tokens of the input that came from a cache.
    cached_input_tokens: u64,
    /// Tokens that the models wrote.
    output_tokens: u64,
    /// The cost in dollars; null: it is not recorded.
    cost_usd: Option<f64>,
}

impl JsonUsage {
    /// `None`: nothing is recorded.
    pub(super) fn of(used: Usage) -> Option<JsonUsage> {
        used.is_known().then(|| JsonUsage {
            input_tokens: used.input,
            cached_input_tokens: used.cached,
            output_tokens: used.output,
            cost_usd: used.cost.map(dollars),
        })
    }
}

/// Billionths of a dollar as dollars.
fn dollars(billionths: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "nobody's run costs so much that a cent of it is lost")]
    let billionths = billionths as f64;
    billionths / 1e9
}

/// Nanoseconds as milliseconds.
pub(super) fn millis(nanos: u64) -> u64 {
    nanos / 1_000_000
}

/// A time in the units that people use.
pub(super) fn time(nanos: u64) -> String {
    let (millis, seconds) = (nanos / 1_000_000, nanos / 1_000_000_000);
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{} s", millis / 100 % 10),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A count with its thousands apart.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// An amount of money, to a hundredth of a cent.
pub(super) fn money(billionths: u64) -> String {
    format!("${}.{:04}", count(billionths / 1_000_000_000), billionths % 1_000_000_000 / 100_000)
}

/// The longest name in a table, in characters.
const NAME: usize = 48;

/// A table: names on the left, numbers on the right. Columns in which every row is empty are left out.
pub(super) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&'static str]) -> Table {
        Table { head: head.to_vec(), rows: Vec::new() }
    }

    /// A row. Its first cell is a name from outside, which is made safe to print.
    pub(super) fn row(&mut self, name: &str, cells: impl IntoIterator<Item = String>) {
        let name = clip(&visible(name), NAME).into_owned();
        self.rows.push(std::iter::once(name).chain(cells).collect());
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            let widest = cells.max().unwrap_or(0);
            (widest > 0).then(|| widest.max(self.head.get(column).map_or(0, |head| head.len())))
        };
        let widths: Vec<Option<usize>> = (0..self.head.len()).map(width).collect();
        let head: Vec<String> = self.head.iter().map(|&head| head.to_owned()).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let Some(width) = width else { continue };
                match column {
                    0 => line.push_str(&format!("{cell:<width$}")),
                    _ => line.push_str(&format!("  {cell:>width$}")),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"].map(str::to_owned));
        let second = 1_000_000_000;
        assert_eq!(
            [5_000_000, 1_250_000_000, 61 * second, 3_720 * second].map(time),
            ["5 ms", "1.2 s", "1 min 01 s", "1 h 02 min"].map(str::to_owned)
        );
        assert_eq!(money(1_234_567_890), "$1.2345");
    }

    #[test]
    fn a_name_from_outside_starts_no_line_and_empty_columns_are_left_out() {
        let mut table = Table::new(&["tool", "calls", "time"]);
        table.row("a\n::error::b\u{202e}", ["1".to_owned(), String::new()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "tool                 calls\na\\n::error::b\\u202e      1\n");
    }
}
