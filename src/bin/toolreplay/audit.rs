//! `toolreplay audit`: every rule over many files, for CI.

use crate::args::{AuditArgs, Common, ReportTarget};
use crate::base::Base;
use crate::configuration;
use crate::exit::{self, Exit};
use crate::inputs::{self, Surroundings};
use crate::output;
use crate::{
    attest, calls, changes, checkout, guard, leave_out, progress, recordings, scope, signing, touched, unread,
};
use anyhow::{Context as _, anyhow, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolreplay::audit::{
    self, Baseline, Change, Command, FileReport, Input, MAX_BASELINE, Outcome, Plan, Policy, Progress, Report,
    Settings, Signing, Verdict,
};
use toolreplay::config::{Config, Date, FILE_NAME};
use toolreplay::engine::Ruleset;
use toolreplay::finding::Level;
use toolreplay::formats;
use toolreplay::limits::Limits;
use toolreplay::report::{Format, PageOptions, Style};
use toolreplay::rules::{self, PERMISSION_OVERREACH, guards_evidence};
use toolreplay::sanitize::visible;
use toolreplay::scope::{Applied, Policy as ScopePolicy};
use toolreplay::signature::Trust;
use toolreplay::tools::ToolSet;

pub(crate) fn run(mut args: AuditArgs, common: &Common) -> Exit {
    let place = Surroundings::current()?;
    let base = args.base.as_deref().map(|name| Base::open(&place, name, args.policy_base.as_deref())).transpose()?;
    let mut changes = Vec::new();
    let config = Loaded::find(&args, &place, base.as_ref(), &mut changes)?;
    config.fill(&mut args, &place)?;
    if args.paths.is_empty() {
        bail!("nothing to audit is named; give files, folders or globs, or set 'paths' in {FILE_NAME}");
    }
    let targets = output::targets(&args.reports)?;
    let mut found = inputs::find(&place, &args.paths, formats::may_be_recording, args.allow_empty)?;
    // what judges a change must see what the change would hide
    let gitignore = !args.no_gitignore && !args.strict && base.is_none();
    let left_out = leave_out::Rules::new(&args.exclude, gitignore)?.apply(&place, &args.paths, &mut found.inputs);
    if args.show_files {
        return show_files(&found.inputs, &left_out);
    }
    let others = [&args.scope, &args.signing.trust, &config.path].into_iter().flatten().map(PathBuf::as_path);
    guard::reports(&targets, found.inputs.iter().filter_map(|input| input.path.as_deref()).chain(others))?;
    found.inputs = audit::sessions(found.inputs, common.threads());
    let scope = match &args.scope {
        Some(path) => {
            let policy = read_scope(path, &place, base.as_ref(), &mut changes)?;
            Some(Arc::new(Applied { home: config.config.home.clone(), ..Applied::from(policy) }))
        }
        None => None,
    };
    let trust = match &args.signing.trust {
        Some(path) => Some(read_trust(path, &place, base.as_ref(), &mut changes)?),
        None => None,
    };
    let mut unknown = Vec::new();
    if let Some(base) = &base {
        let changed = changes::seals(base, &place, &args.paths, &found.inputs)?;
        changes.extend(changed.findings);
        unknown = changed.unknown;
        let more = recordings::changes(base, &place, &args.paths, &found.inputs, &changes, args.seals_only)?;
        changes.extend(more);
    }
    let untouched = match base.as_ref().filter(|_| args.changed_only) {
        Some(base) => touched::keep(base, &place, &mut found.inputs)?,
        None => Vec::new(),
    };
    if args.changed_only && args.baseline.is_some() {
        bail!("--changed-only judges a part, and a baseline covers all: take one of them");
    }
    let selected = rules::selection(&args.select, &args.ignore).map_err(|what| anyhow!("{what}"))?;
    if args.scope.is_none() && args.select.iter().any(|id| id == PERMISSION_OVERREACH.id) {
        bail!("'{}' is selected, and needs a scope; name one with --scope", PERMISSION_OVERREACH.id);
    }
    let traits = config.config.traits();
    let mut mutators = ToolSet::default_mutators();
    args.mutators.names.iter().for_each(|name| mutators.insert(name));
    let baseline = match &args.baseline {
        Some(path) => Some(read_baseline(path, &place, base.as_ref(), args.write_baseline.as_deref())?),
        None => None,
    };
    let settings = Settings {
        fail_on: args.fail_on.unwrap_or(Level::Warning),
        min_level: args.min_level.unwrap_or(Level::Note),
        rules: selected,
        suppressions: config.config.suppressions,
        allow_loss: config.config.allow_loss,
        today: Some(today()),
        // what was there and was not touched was found, so this is no run over nothing
        allow_empty: args.allow_empty || found.inputs.is_empty() && !untouched.is_empty(),
        baseline: baseline.flatten(),
        baseline_path: args.baseline.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
    };
    let has_scope = scope.is_some();
    let ruleset = Ruleset::audit(mutators, scope.clone()).with_traits(traits);
    let lossy = settings.allow_loss.iter().filter(|entry| entry.holds(settings.today));
    let allow_loss_in = lossy.filter_map(toolreplay::config::AllowLoss::pattern).collect();
    let plan = Plan::Audit(ruleset, formats::Options { allow_loss_in, ..args.importing.options() });
    let so_far = Progress::default();
    let mut outcomes =
        progress::shown(found.inputs.len(), &so_far, || audit::run(&found.inputs, &plan, common.threads(), &so_far));
    changes.extend(audit::mismatches(&found.inputs, &outcomes));
    let unjudged: Vec<Input> = untouched.iter().cloned().chain(left_out.inputs()).collect();
    let looking = formats::Options { from: None, ..args.importing.options() };
    changes.extend(unread::find(&place, &args.paths, &found.inputs, &outcomes, &unjudged, &looking, args.strict));
    // where git cannot be asked, that is said
    let checked_out = checkout::changes(&place, &found.inputs, &outcomes);
    let not_compared = checked_out.as_ref().err().map(ToString::to_string);
    changes.extend(checked_out.unwrap_or_default());
    let strangers = passed_over(&found.inputs, &outcomes);
    let required = args.signing.require_signature;
    if required && !args.allow_empty && untouched.is_empty() && !outcomes.iter().any(|outcome| outcome.chain.is_some())
    {
        bail!(
            "a signature is required, and no sealed transcript was found that could have one; check the paths, or say \
             --allow-empty if that is meant"
        );
    }
    audit::signatures(&found.inputs, &mut outcomes, &Signing { trust, required });
    if let Some(base) = &base {
        changes.extend(changes::lost_signatures(base, &place, &found.inputs, &outcomes)?);
    }
    let (command, outcomes) = match args.seals_only {
        true => (Command::Seals, seals_only(&mut found.inputs, outcomes)),
        false => (Command::Audit, outcomes),
    };
    let mut report = Report::with_changes(command, &found.inputs, outcomes, changes, has_scope, &settings);
    if let Some(scope) = &scope {
        report.held_against(scope);
    }
    report.pass_over(found.passed_over);
    report.untouched(untouched.len() as u64);
    report.source_url = args.source_url.take();
    if let Some(why) = not_compared {
        let what = format!("whether attributes of git changed what is checked out: {}", visible(&why));
        report.coverage.not_judged.push(what);
    }
    if args.strict {
        strangers.into_iter().for_each(|what| report.say(what));
    }
    left_out.say(&mut report, args.strict);
    unknown.iter().for_each(|submodule| report.no_base(&submodule.display().to_string()));
    if base.is_some() || targets.iter().any(|target| target.format == Format::Github) {
        changes::review(&mut report, &place, base.as_ref())?;
    }
    if let Some(path) = &args.write_baseline {
        let read = found.inputs.iter().filter_map(|input| input.path.as_deref());
        guard::outputs([(path.as_path(), guard::Writes::Baseline)], read)?;
        output::to_file(path, |out| out.write_all(report.renewed.to_json().as_bytes()))?;
    }
    attest::subjects(&mut report, &found.inputs, &targets);
    let policies = [&config.path, &args.scope, &args.signing.trust].into_iter().flatten().map(PathBuf::as_path);
    attest::judged_by(&mut report, &place, base.as_ref(), policies, &targets)?;
    let style = Style { statistics: args.statistics, ..output::style(common) };
    let options = PageOptions { unmasked: args.reports.page.is_some_and(|page| page.unmasked) };
    let mut sessions = |file: &FileReport| {
        let input = found.inputs.iter().find(|input| input.from_root == file.from_root)?;
        calls::of(input, &plan, common.threads())
    };
    let code = output::finish_showing(&report, &targets, found.alone, &style, options, &mut sessions)?;
    output::say_remarks(&report, &targets, &style);
    if report.verdict == Verdict::Inconclusive {
        exit::print_error(match (report.coverage.calls, &args.reports.page) {
            (0, Some(_)) => "found no call to show; check the paths",
            (0, None) => "found no call to audit; check the paths, or say --allow-empty if that is meant",
            _ => "nothing of the calls was judged: see the coverage, or say --allow-empty if that is meant",
        });
        left_out.way_out().iter().for_each(|how| exit::print_note(how));
    }
    Ok(code)
}

/// Lists the files that would be read, and says on standard error what would not, and why.
fn show_files(inputs: &[Input], left_out: &leave_out::LeftOut) -> Exit {
    left_out.all().for_each(|(input, why)| exit::print_note(&format!("left out: {}: {why}", input.shown)));
    let files = inputs.iter().flat_map(|input| std::iter::once(input).chain(&input.more));
    let mut lines: Vec<String> = files.map(|input| visible(&input.shown).into_owned()).collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() {
        bail!("there is no file to audit; check the paths");
    }
    output::print((lines.join("\n") + "\n").as_bytes())
}

/// Files in folders that are passed over and named, with --strict.
const NAMED: usize = 100;

/// What was passed over in folders for what it holds, and why.
fn passed_over(inputs: &[Input], outcomes: &[Outcome]) -> Vec<String> {
    let strangers =
        inputs.iter().zip(outcomes).filter_map(|(input, outcome)| Some((input, outcome.passed_over.as_ref()?)));
    let mut said: Vec<String> = strangers
        .map(|(input, stranger)| format!("{} is no recording, and was not read: {}", input.shown, stranger.why))
        .collect();
    let more = said.len().saturating_sub(NAMED);
    said.truncate(NAMED);
    if more > 0 {
        said.push(format!("{more} more files are no recordings, and were not read"));
    }
    said
}

/// Reads a baseline, with a base revision as that one has it: a revision must not bring what excuses it. `None`: there is
/// none yet, and this run writes it.
fn read_baseline(
    path: &Path,
    place: &Surroundings,
    base: Option<&Base>,
    writes: Option<&Path>,
) -> anyhow::Result<Option<Baseline>> {
    let shown = visible(&path.display().to_string()).into_owned();
    let text = match base.zip(place.inside(path)) {
        // a new baseline is reviewed as what it is; it changes no judgement of the revision that brings it
        Some((base, inside)) => match base.read_policy(&inside)? {
            Some(text) => text,
            None => return Ok(Some(Baseline::default())),
        },
        None => match path.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && writes == Some(path) => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
            Ok(metadata) if !metadata.is_file() => bail!("cannot read {shown}: it is no regular file"),
            Ok(metadata) if metadata.len() > MAX_BASELINE => {
                bail!("cannot read {shown}: it is larger than {} MiB", MAX_BASELINE >> 20)
            }
            Ok(_) => std::fs::read(path).with_context(|| format!("cannot read {shown}"))?,
        },
    };
    Baseline::parse(&text).map(Some).map_err(|what| anyhow!("{shown}: no baseline of toolreplay: {}", visible(&what)))
}

/// Reads the scope file as the base revision has it, where it has it.
fn read_scope(
    path: &Path,
    place: &Surroundings,
    base: Option<&Base>,
    changes: &mut Vec<Change>,
) -> anyhow::Result<ScopePolicy> {
    let Some(base) = base else { return scope::read(path) };
    let judged = changes::policy(base, place, path, Policy::Scope)?;
    changes.extend(judged.change);
    match judged.text {
        Some(text) => {
            let shown = format!("{} of '{}'", path.display(), base.policy_name());
            ScopePolicy::read(&text).map_err(|error| exit::at(&shown, &text, (error.line, error.column), &error.what))
        }
        None => scope::read(path),
    }
}

/// Reads the trusted keys as the base revision has them. Where it has none, nobody is trusted: a revision cannot name those
/// who vouch for it.
fn read_trust(
    path: &Path,
    place: &Surroundings,
    base: Option<&Base>,
    changes: &mut Vec<Change>,
) -> anyhow::Result<Trust> {
    let Some(base) = base.filter(|_| place.inside(path).is_some()) else { return signing::trust(path) };
    let judged = changes::policy(base, place, path, Policy::Trust)?;
    changes.extend(judged.change);
    match judged.text {
        Some(text) => signing::parsed(&text, &format!("{} of '{}'", path.display(), base.policy_name())),
        // a key that only this revision has, or that was taken back since it began, vouches for nothing
        None if path.exists() => Ok(Trust::default()),
        None => signing::trust(path),
    }
}

/// Leaves of a run what it says about seals.
fn seals_only(inputs: &mut Vec<Input>, outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let is_one = |outcome: &Outcome| outcome.chain.is_some() || outcome.failure.is_some();
    let mut kept = outcomes.iter().map(is_one);
    inputs.retain(|_| kept.next().unwrap_or(true));
    let mut outcomes: Vec<Outcome> = outcomes.into_iter().filter(is_one).collect();
    for outcome in &mut outcomes {
        outcome.judgement.findings.retain(|finding| guards_evidence(finding.rule));
        (outcome.judgement.divergence, outcome.judgement.pairs) = (None, 0);
    }
    outcomes
}

/// A configuration, and the folder its paths are relative to.
struct Loaded {
    config: Config,
    /// The file, if there is one.
    path: Option<PathBuf>,
    folder: PathBuf,
}

impl Loaded {
    fn find(
        args: &AuditArgs,
        place: &Surroundings,
        base: Option<&Base>,
        changes: &mut Vec<Change>,
    ) -> anyhow::Result<Loaded> {
        let candidates: Vec<PathBuf> = match &args.configuration.config {
            Some(path) => vec![path.clone()],
            None if args.configuration.no_config => Vec::new(),
            None => configuration::candidates(place),
        };
        let (path, text) = match base {
            Some(base) => {
                let nearest = changes::nearest_config(base, place, &candidates)?;
                changes.extend(nearest.changes);
                (nearest.path.or_else(|| args.configuration.config.clone()), nearest.text)
            }
            None if args.configuration.config.is_some() => (args.configuration.config.clone(), None),
            None => (configuration::nearest(place, candidates)?, None),
        };
        if let Some(path) = path.as_deref().filter(|_| args.configuration.config.is_none()) {
            guard::inside_stays_inside(place, path)?;
        }
        let Some(path) = path else {
            return Ok(Loaded { config: Config::default(), path: None, folder: PathBuf::new() });
        };
        let mut shown = path.display().to_string();
        let text = match text.zip(base) {
            Some((text, base)) => {
                shown = format!("{shown} of '{}'", base.policy_name());
                String::from_utf8(text).with_context(|| format!("cannot read {shown}"))?
            }
            None => configuration::text(&path)?,
        };
        let config = Config::parse(&text).map_err(|error| {
            exit::at(&shown, text.as_bytes(), (error.line as u64, error.column as u64), &error.what)
        })?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        // a path below the working directory is shown without it
        let folder = folder.strip_prefix(&place.folder).map(Path::to_owned).unwrap_or(folder);
        Ok(Loaded { config, path: Some(path), folder })
    }

    /// Takes from the configuration what the command line leaves open.
    fn fill(&self, args: &mut AuditArgs, place: &Surroundings) -> anyhow::Result<()> {
        let Loaded { config, path, folder } = self;
        let shown = path.as_deref().map_or_else(String::new, |path| path.display().to_string());
        let reach = guard::Reach { place, shown: &shown, folder, named: args.configuration.config.is_some() };
        if args.paths.is_empty() {
            args.paths = config.paths.iter().map(|path| reach.read("paths", path)).collect::<anyhow::Result<_>>()?;
        }
        if let (None, Some(scope)) = (&args.scope, &config.scope) {
            args.scope = Some(reach.read("scope", scope)?);
        }
        if let (None, Some(baseline)) = (&args.baseline, &config.baseline) {
            args.baseline = Some(reach.read("baseline", baseline)?);
        }
        if let (None, Some(trust)) = (&args.signing.trust, &config.trust) {
            args.signing.trust = Some(reach.read("trust", trust)?);
        }
        args.signing.require_signature |= config.require_signature.unwrap_or(false);
        args.mutators.names.extend(config.mutators.iter().cloned());
        args.exclude.extend(config.exclude.iter().cloned());
        for (own, configured) in [(&mut args.select, &config.select), (&mut args.ignore, &config.ignore)] {
            if own.is_empty() {
                own.clone_from(configured);
            }
        }
        args.fail_on = args.fail_on.or(config.fail_on);
        args.min_level = args.min_level.or(config.min_level);
        args.allow_empty |= config.allow_empty.unwrap_or(false);
        args.strict |= config.strict.unwrap_or(false);
        let limits = Limits::default();
        let importing = &mut args.importing;
        for (key, text, most, taken) in [
            ("max-line", &config.max_line, limits.line, &mut importing.lines.max_line),
            ("max-document", &config.max_document, limits.document, &mut importing.max_document),
            ("max-unpacked", &config.max_unpacked, limits.unpacked, &mut importing.max_unpacked),
        ] {
            let Some(text) = text else { continue };
            let size = Limits::size(text).map_err(|error| anyhow!("{shown}: {key}: {error}"))?;
            // whoever wrote what is audited may have written this too
            if size > most {
                bail!("{shown}: {key}: a configuration can lower the limit, not raise it; --{key} can");
            }
            taken.get_or_insert(size);
        }
        let reports = &mut args.reports;
        if reports.reports.is_empty() && reports.format.is_none() && reports.output.is_none() {
            for report in &config.reports {
                let mut target = ReportTarget::parse(report).map_err(|error| anyhow!("{shown}: reports: {error}"))?;
                target.path = target.path.map(|path| reach.write(&path)).transpose()?;
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
