//! `toolreplay view`: recordings as a page to be looked at. It is an audit whose one report is the page.

use crate::args::{AuditArgs, Common, Page, ReportTarget, Reports, ViewArgs};
use crate::exit::{self, Exit};
use crate::{audit, guard, output};
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toolreplay::report::Format;

pub(crate) fn run(args: ViewArgs, common: &Common) -> Exit {
    if args.paths.iter().any(|path| path.as_os_str() == "-") {
        bail!("a page is made in two readings, and standard input can be read only once; save it to a file first");
    }
    let path = match &args.output {
        Some(path) => Some(path.clone()).filter(|path| path.as_os_str() != "-"),
        None => Some(of_recording(&args.paths)?),
    };
    if args.open && path.is_none() {
        bail!("--open shows a file, and the page goes to standard output; name a file with --output");
    }
    let ViewArgs { paths, unmasked, scope, mutators, importing, configuration, .. } = args;
    let reports = Reports {
        reports: vec![ReportTarget { format: Format::Html, path: path.clone() }],
        page: Some(Page { unmasked }),
        ..Reports::default()
    };
    let audit = AuditArgs { paths, scope, mutators, importing, configuration, reports, ..AuditArgs::default() };
    let code = audit::run(audit, common)?;
    if let Some(path) = path {
        output::print(format!("{}\n", toolreplay::sanitize::visible(&path.display().to_string())).as_bytes())?;
        if args.open {
            open(&path)?;
        }
    }
    // what was found is on the page; what could not be read makes it less than the whole
    Ok(if code == exit::FAILED { code } else { exit::CLEAN })
}

/// The page's name where none is given: in the working directory, and nothing else is replaced than a page.
fn of_recording(paths: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let name = match paths {
        [one] => one.file_stem(),
        _ => None,
    };
    let mut name = name.map_or_else(|| "toolreplay".into(), std::ffi::OsStr::to_owned);
    name.push(".html");
    let path = PathBuf::from(name);
    if path.symlink_metadata().is_ok() && !guard::is_page(&path) {
        bail!("{} is there already and no page of toolreplay; name another file with --output", path.display());
    }
    Ok(path)
}

/// Shows a file as the desktop does.
fn open(path: &Path) -> anyhow::Result<()> {
    let full = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let started =
        Command::new(program).arg(&full).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.with_context(|| format!("the page is written, and '{program}', which shows it, cannot be started"))?;
    Ok(())
}
