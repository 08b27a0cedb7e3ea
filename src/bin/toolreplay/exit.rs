//! Exit codes: 0 clean, 1 findings or a broken chain, 2 could not run. They never depend on the report format.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Writes `error: …` to standard error, made safe to print.
pub(crate) fn print_error(message: &str) {
    say("error", message);
}

/// Writes `warning: …` to standard error, made safe to print.
pub(crate) fn print_warning(message: &str) {
    say("warning", message);
}

/// Writes `note: …` to standard error, made safe to print.
pub(crate) fn print_note(message: &str) {
    say("note", message);
}

/// Whether a line about progress stands on the terminal, which the next message takes the place of.
pub(crate) static LINE: AtomicBool = AtomicBool::new(false);

fn say(level: &str, message: &str) {
    let clear = if LINE.swap(false, Ordering::Relaxed) { "\r\x1b[K" } else { "" };
    // a standard error that is closed is nobody's loss
    let _ = writeln!(io::stderr(), "{clear}{level}: {}", visible(message));
}
