//! `toolreplay audit`: every rule over many files, for CI.

use crate::args::{AuditArgs, Common};
use crate::exit::{self, Outcome};
use crate::inputs::{self, Place};
use crate::output::{self, ReportTarget};
use crate::{progress, scope};
use anyhow::{Context as _, anyhow, bail};
use std::path::{Path, PathBuf};
use toolreplay::audit::{self, Command, Plan, Progress, Report, Settings, Verdict};
use toolreplay::config::{Config, Date, FILE_NAME};
use toolreplay::finding::Level;
use toolreplay::judge::Ruleset;
use toolreplay::tools::ToolSet;

pub(crate) fn run(mut args: AuditArgs, common: &Common) -> Outcome {
    let place = Place::current()?;
    let config = Loaded::find(&args, &place)?;
    config.fill(&mut args)?;
    if args.paths.is_empty() {
        bail!("nothing to audit is named; give files, folders or globs, or set 'paths' in {FILE_NAME}");
    }
    let targets = output::targets(&args.reports)?;
    let found = inputs::find(&place, &args.paths)?;
    let scope = args.scope.as_deref().map(scope::read).transpose()?;
    let mut mutators = ToolSet::default_mutators();
    args.mutators.names.iter().for_each(|name| mutators.insert(name));
    let settings = Settings {
        fail_on: args.fail_on.unwrap_or(Level::Warning),
        min_level: args.min_level.unwrap_or(Level::Note),
        suppressions: config.config.suppressions,
        today: Some(today()),
        allow_empty: args.allow_empty,
    };
    let has_scope = scope.is_some();
    let plan = Plan::Audit(Ruleset::audit(mutators, scope), args.importing.options());
    let so_far = Progress::default();
    let outcomes =
        progress::shown(found.inputs.len(), &so_far, || audit::run(&found.inputs, &plan, common.threads(), &so_far));
    let mut report = Report::new(Command::Audit, &found.inputs, outcomes, has_scope, &settings);
    report.pass_over(found.passed_over);
    let code = output::finish(&report, &targets, found.alone, common)?;
    report.remarks.iter().for_each(|remark| exit::print_warning(remark));
    if report.verdict == Verdict::Empty {
        exit::print_error("found no call to audit; check the paths, or say --allow-empty if that is meant");
    }
    Ok(code)
}

/// A configuration, and the folder its paths are relative to.
struct Loaded {
    config: Config,
    folder: PathBuf,
}

impl Loaded {
    fn find(args: &AuditArgs, place: &Place) -> anyhow::Result<Loaded> {
        let path = match &args.config {
            Some(path) => Some(path.clone()),
            None if args.no_config => None,
            None => {
                let root = place.root.as_deref().unwrap_or(&place.folder);
                let folders = place.folder.ancestors().take_while(|folder| folder.starts_with(root));
                folders.map(|folder| folder.join(FILE_NAME)).find(|path| path.is_file())
            }
        };
        let Some(path) = path else {
            return Ok(Loaded { config: Config::default(), folder: PathBuf::new() });
        };
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        let config = Config::parse(&text).map_err(|error| anyhow!("{shown}: {error}"))?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        // a path below the working directory is shown without it
        let folder = folder.strip_prefix(&place.folder).map(Path::to_owned).unwrap_or(folder);
        Ok(Loaded { config, folder })
    }

    /// Takes from the configuration what the command line leaves open.
    fn fill(&self, args: &mut AuditArgs) -> anyhow::Result<()> {
        let Loaded { config, folder } = self;
        let beside = |path: &String| folder.join(path);
        if args.paths.is_empty() {
            args.paths = config.paths.iter().map(beside).collect();
        }
        args.scope = args.scope.take().or_else(|| config.scope.as_ref().map(beside));
        args.mutators.names.extend(config.mutators.iter().cloned());
        args.fail_on = args.fail_on.or(config.fail_on);
        args.min_level = args.min_level.or(config.min_level);
        args.allow_empty |= config.allow_empty.unwrap_or(false);
        let reports = &mut args.reports;
        if reports.reports.is_empty() && reports.format.is_none() && reports.output.is_none() {
            for report in &config.reports {
                let mut target =
                    ReportTarget::parse(report).map_err(|error| anyhow!("{FILE_NAME}: reports: {error}"))?;
                target.path = target.path.map(|path| folder.join(path));
                reports.reports.push(target);
            }
        }
        Ok(())
    }
}

/// The day it is, in UTC.
fn today() -> Date {
    #[expect(clippy::disallowed_methods, reason = "suppressions expire by the clock")]
    let now = std::time::SystemTime::now();
    let days = now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    Date::from_unix_days(days)
}
