//! Exit codes: 0 clean, 1 findings or a broken chain, 2 could not run. They never depend on the report format. And what is
//! said on standard error besides a report.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use toolreplay::excerpt;
use toolreplay::sanitize::visible;

/// What a subcommand comes to: its exit code, or why it could not run.
pub(crate) type Exit = anyhow::Result<u8>;

/// It ran and found nothing.
pub(crate) const CLEAN: u8 = 0;
/// It could not run.
pub(crate) const FAILED: u8 = 2;

pub(crate) fn code(outcome: Exit) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print_error(&format!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

/// How standard error is spoken to.
#[derive(Clone, Copy, Default)]
struct Voice {
    color: bool,
    quiet: bool,
}

static VOICE: OnceLock<Voice> = OnceLock::new();

/// Settles how standard error is spoken to.
pub(crate) fn speak(color: bool, quiet: bool) {
    let _ = VOICE.set(Voice { color, quiet });
}

fn print(word: &str, code: &str, message: &str) {
    let voice = VOICE.get().copied().unwrap_or_default();
    let word = if voice.color { format!("\x1b[{code}m{word}:\x1b[0m") } else { format!("{word}:") };
    // a message may have an excerpt of a file below it: each line is made safe by itself
    let mut lines = message.split(BETWEEN);
    let first = visible(lines.next().unwrap_or_default()).into_owned();
    let rest: String = lines.map(|line| format!("\n   | {}", visible(line))).collect();
    // a standard error that is closed is nobody's loss
    let _ = writeln!(io::stderr(), "{}{word} {first}{rest}", clear());
}

/// Parts the lines of a message that has an excerpt. Where it comes from outside it begins a line as well, and no line
/// begins with anything but our own words.
const BETWEEN: char = '\u{1e}';

/// What is wrong at a place of a file, with its line and a mark under the place.
pub(crate) fn at(shown: &str, text: &[u8], (line, column): (u64, u64), what: &str) -> anyhow::Error {
    let mut message = format!("{shown}: line {line}: column {column}: {what}");
    if let Some(excerpt) = excerpt::of_source(text, line, column).map(|line| line.fit(100))
        && let Some((before, width)) = excerpt.columns()
    {
        message.push_str(&format!("{BETWEEN}{}{BETWEEN}{}{}", excerpt.text, " ".repeat(before), "^".repeat(width)));
    }
    anyhow::anyhow!(message)
}

/// Writes `error: …` to standard error, made safe to print.
pub(crate) fn print_error(message: &str) {
    print("error", "1;31", message);
}

/// Writes `warning: …` to standard error, made safe to print, unless somebody asked for quiet.
pub(crate) fn print_warning(message: &str) {
    if !is_quiet() {
        print("warning", "1;33", message);
    }
}

/// Writes `note: …` to standard error, made safe to print, unless somebody asked for quiet.
pub(crate) fn print_note(message: &str) {
    if !is_quiet() {
        print("note", "1;36", message);
    }
}

/// Writes `help: …`, what to do about an error, likewise.
pub(crate) fn print_help(message: &str) {
    if !is_quiet() {
        print("help", "1;36", message);
    }
}

fn is_quiet() -> bool {
    VOICE.get().is_some_and(|voice| voice.quiet)
}

/// Whether a line about progress stands on the terminal, which the next message takes the place of.
pub(crate) static LINE: AtomicBool = AtomicBool::new(false);

fn clear() -> &'static str {
    if LINE.swap(false, Ordering::Relaxed) { "\r\x1b[K" } else { "" }
}
