//! Writing: standard output with a closed reader, files whole or not at all, several reports of one run.

use crate::args::{Common, ReportTarget, Reports, When};
use crate::closed;
use crate::exit::{self, Exit};
use crate::inputs::resolved;
use crate::interrupt::{self, Removed};
use anyhow::{Context as _, bail};
use clap::error::ErrorKind;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use toolreplay::audit::{Command, Report};
use toolreplay::formats::Warning;
use toolreplay::report::{self, Format, PageOptions, Sessions, Style};
use toolreplay::sanitize::visible;

/// Settles which reports a command writes, and that no two go to one place.
pub(crate) fn targets(reports: &Reports) -> anyhow::Result<Vec<ReportTarget>> {
    let mut targets = reports.reports.clone();
    let to_stdout = |targets: &[ReportTarget]| targets.iter().any(|target| target.path.is_none());
    let asked = reports.format.is_some() || reports.output.is_some();
    if asked || !to_stdout(&targets) && reports.page.is_none() {
        let path = reports.output.clone().filter(|path| path.as_os_str() != "-");
        targets.push(ReportTarget { format: reports.format.unwrap_or(Format::Text), path });
    }
    let places: Vec<Option<PathBuf>> = targets.iter().map(|target| target.path.as_deref().map(resolved)).collect();
    for (place, target) in targets.iter().enumerate() {
        if places[..place].contains(&places[place]) {
            match &target.path {
                Some(path) => bail!("two reports would be written to {}; give each a path of its own", path.display()),
                None => bail!("two reports would be written to standard output; give one a path: --report FORMAT=PATH"),
            }
        }
    }
    Ok(targets)
}

/// Writes all reports of a run and says its exit code. Files that could not be judged are named on standard error.
pub(crate) fn finish(report: &Report, targets: &[ReportTarget], alone: bool, style: &Style) -> Exit {
    finish_showing(report, targets, alone, style, PageOptions::default(), &mut |_| None)
}

/// The same; a page among the reports shows the calls that `sessions` finds.
pub(crate) fn finish_showing(
    report: &Report,
    targets: &[ReportTarget],
    alone: bool,
    style: &Style,
    page: PageOptions,
    sessions: &mut Sessions<'_>,
) -> Exit {
    say_imports(report, alone || style.verbose);
    let told = tells(report, targets, style);
    for file in &report.files {
        let Some(failure) = &file.failure else { continue };
        if told && file.is_judged() {
            // what is missing is a finding like others, and is said where they are
            let shown = &file.path;
            exit::print_error(&format!("{shown}: not all of the recording can be read: see malformed-transcript"));
            continue;
        }
        let named = failure.file.is_none() && (!alone || failure.line == 0);
        exit::print_error(&if named { format!("{}: {failure}", file.path) } else { failure.to_string() });
        if !failure.help.is_empty() {
            exit::print_help(&format!("{}: {}", file.path, failure.help));
        }
    }
    let mut failure = None;
    for target in targets {
        let written = match &target.path {
            Some(path) if target.format == Format::Html => {
                to_file(path, |out| report::write_page(report, page, sessions, out))
            }
            None if target.format == Format::Html => to_stdout(|out| report::write_page(report, page, sessions, out)),
            Some(path) => {
                let Style { columns, .. } = Style::default();
                let plain = Style { color: false, terminal: false, columns, ..*style };
                to_file(path, |out| report::write(report, target.format, &plain, out))
            }
            None => to_stdout(|out| report::write(report, target.format, style, out)),
        };
        // one that cannot be written is no reason to keep the others back
        if let Err(error) = written
            && let Some(earlier) = failure.replace(error)
        {
            exit::print_error(&format!("{earlier:#}"));
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    Ok(report.verdict.exit_code())
}

/// Whether the text on standard output says what is wrong and what must be said besides, so that nobody hears it twice.
pub(crate) fn tells(report: &Report, targets: &[ReportTarget], style: &Style) -> bool {
    let text = |target: &ReportTarget| target.path.is_none() && matches!(target.format, Format::Text | Format::Concise);
    let shows = matches!(report.command, Command::Audit | Command::Seals | Command::SealAll);
    let judged = report.files.is_empty() || report.files.iter().any(|file| file.is_judged());
    shows && judged && !style.statistics && !style.quiet && targets.iter().any(text)
}

/// Says on standard error what must be said besides, unless a report on standard output has said it to people.
pub(crate) fn say_remarks(report: &Report, targets: &[ReportTarget], style: &Style) {
    let tells = |format| match format {
        Format::Text | Format::Concise => !style.quiet,
        format => matches!(format, Format::Github | Format::Markdown),
    };
    let told = |target: &ReportTarget| target.path.is_none() && tells(target.format);
    // the text of the other commands is fixed, and has no place for remarks
    if report.command == Command::Audit && targets.iter().any(told) {
        return;
    }
    for remark in report.short_remarks.iter().filter(|remark| remark.warns) {
        exit::print_warning(&remark.text);
    }
}

/// What recordings were taken for. Of a single one also why, and what could not be taken over as it was.
fn say_imports(report: &Report, alone: bool) {
    let mut formats: BTreeMap<&str, u64> = BTreeMap::new();
    for file in &report.files {
        let Some(import) = &file.import else { continue };
        *formats.entry(import.format).or_default() += 1;
        if alone {
            exit::print_note(&format!("read as {}: {}", import.format, import.reason));
            // losses that fail the file are its error
            let said = |warning: &&Warning| file.failure.is_none() || !warning.is_loss();
            import.warnings.iter().filter(said).for_each(|warning| {
                let own = import.paths.get(warning.first.file as usize);
                say_warning(warning, own.unwrap_or(&file.path));
            });
        }
    }
    if !alone && !formats.is_empty() {
        let counts: Vec<String> = formats.iter().map(|(format, count)| format!("{format} ({count})")).collect();
        exit::print_note(&format!("told by their content: {}; 'toolreplay import' says why", counts.join(", ")));
    }
}

/// One warning of an import, with the place it was met first.
pub(crate) fn say_warning(warning: &Warning, path: &str) {
    let place = if warning.first.line > 0 { format!("{path}:{}: ", warning.first.line) } else { String::new() };
    exit::print_warning(&format!("{place}{warning}"));
}

/// Whether text on a stream is coloured.
pub(crate) fn color(when: When, stream: &impl IsTerminal) -> bool {
    #[expect(clippy::disallowed_methods, reason = "colour is the terminal user's choice")]
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR").is_some() => false,
        When::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        When::Auto => set("TERM").is_some_and(|term| term != "dumb") && stream.is_terminal(),
    }
}

/// How text is laid out on standard output.
pub(crate) fn style(common: &Common) -> Style {
    let out = io::stdout();
    let terminal = out.is_terminal();
    #[expect(clippy::disallowed_methods, reason = "how wide a terminal is, is its user's choice")]
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| (20..=1_000).contains(columns));
    let measured = || terminal_size::terminal_size_of(&out).map(|(columns, _)| usize::from(columns.0).max(20));
    let usual = Style::default();
    // what is not read on a terminal is the same everywhere
    let columns = terminal.then(|| asked().or_else(measured)).flatten();
    Style {
        color: color(common.color, &out),
        columns: columns.unwrap_or(usual.columns),
        terminal,
        quiet: common.quiet,
        verbose: common.verbose,
        ..usual
    }
}

/// Help and versions that were asked for, or what is wrong with the command line.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    let styled = error.render();
    let color = if error.use_stderr() { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let text = if color { styled.ansi().to_string() } else { styled.to_string() };
    if !error.use_stderr() {
        return print(text.as_bytes());
    }
    let hint = hint(error.kind());
    let hostile = |argument: &std::ffi::OsString| matches!(visible(&argument.to_string_lossy()), Cow::Owned(_));
    if std::env::args_os().any(|argument| hostile(&argument)) {
        // the message repeats the argument: a file name must not be able to start a line of its own, or a command
        bail!("{}{}", styled.to_string().trim_start_matches("error: "), hint.unwrap_or_default());
    }
    let _ = io::stderr().write_all(text.as_bytes());
    if let Some(hint) = hint {
        exit::print_note(&hint);
    }
    Ok(exit::FAILED)
}

/// What somebody may have meant whose command line is none: an audit, or a path that looks like an option.
fn hint(kind: ErrorKind) -> Option<String> {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let there = |argument: &&std::ffi::OsString| Path::new(argument).symlink_metadata().is_ok();
    let dashed = arguments
        .iter()
        .filter(|_| kind == ErrorKind::UnknownArgument)
        .find(|argument| argument.as_encoded_bytes().starts_with(b"-") && there(argument));
    if let Some(dashed) = dashed {
        let dashed = dashed.to_string_lossy();
        return Some(format!(
            "a path that begins with '-' is taken for an option; write it as ./{dashed} (a glob as ./*)"
        ));
    }
    let first = arguments.first().filter(there).filter(|_| kind == ErrorKind::InvalidSubcommand)?.to_string_lossy();
    Some(format!("to audit it: toolreplay audit {first}"))
}

/// Prints text and nothing else.
pub(crate) fn print(text: &[u8]) -> Exit {
    to_stdout(|out| out.write_all(text))?;
    Ok(exit::CLEAN)
}

/// Writes to standard output. A reader that has gone is no error.
pub(crate) fn to_stdout(write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout());
    if closed::stdout() {
        bail!("cannot write to standard output: it is closed");
    }
    let written = write(&mut out).and_then(|()| out.flush());
    // what is still buffered must not be written again when the buffer goes
    let (_, _) = out.into_parts();
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all: into a temporary file beside it, then renamed. What is no regular file, such as a
/// pipe or a terminal, is written as it is.
pub(crate) fn to_file(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> anyhow::Result<()> {
    let context = || format!("cannot write {}", path.display());
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let mut out = BufWriter::new(File::options().write(true).open(path).with_context(context)?);
        return write(&mut out).and_then(|()| out.flush()).with_context(context);
    }
    // a link stays a link: what it points to is replaced
    let target = resolved(path);
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::metadata(folder).with_context(context)?;
    let (mut temporary, _removed) = temporary_file(folder, &target).map_err(without_path).with_context(context)?;
    // the file itself, whose errors do not name it
    let mut out = BufWriter::with_capacity(64 << 10, temporary.as_file_mut());
    write(&mut out).and_then(|()| out.flush()).with_context(context)?;
    let (_, _) = out.into_parts();
    temporary.persist(&target).map_err(|error| error.error).with_context(context)?;
    Ok(())
}

/// What went wrong, less the name of the temporary file, which is different every time and nobody's business.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.rsplit_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what),
        None => error,
    }
}

/// A file beside the one that is to be written, and what removes it should a signal end the process.
fn temporary_file(folder: &Path, target: &Path) -> io::Result<(tempfile::NamedTempFile, Removed)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".toolreplay-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // as any new file would have, less the umask
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let (file, removed) = interrupt::removing(|| builder.tempfile_in(folder))?;
    if let Ok(metadata) = fs::metadata(target) {
        fs::set_permissions(file.path(), metadata.permissions())?;
    }
    Ok((file, removed))
}
