//! What an attestation needs besides a verdict: the digests of the files, and of what they were judged by.

use crate::args::ReportTarget;
use crate::base::Base;
use crate::inputs::Surroundings;
use anyhow::Context as _;
use std::fs::File;
use std::path::Path;
use toolreplay::audit::{Digested, Input, Report};
use toolreplay::report::Format;
use toolreplay::signature::digests;

/// Whether a report is wanted that has digests.
fn wanted(targets: &[ReportTarget]) -> bool {
    targets.iter().any(|target| matches!(target.format, Format::Attestation | Format::Subjects))
}

/// Notes in a report which files it is about, if that is wanted. What cannot be read is no subject.
pub(crate) fn subjects(report: &mut Report, inputs: &[Input], targets: &[ReportTarget]) {
    if !wanted(targets) {
        return;
    }
    for input in inputs.iter().flat_map(|input| [input].into_iter().chain(&input.more)) {
        let file = input.path.as_deref().filter(|path| path.is_file()).and_then(|path| File::open(path).ok());
        if let Some(Ok(digests)) = file.map(digests) {
            report.subjects.push(sha256(&input.from_root, &digests.sha256));
        }
    }
}

/// Notes in a report what the files were judged by, if that is wanted: the files at `paths`, as the base revision has them
/// where it has them, and that revision.
pub(crate) fn judged_by<'p>(
    report: &mut Report,
    place: &Surroundings,
    base: Option<&Base>,
    paths: impl IntoIterator<Item = &'p Path>,
    targets: &[ReportTarget],
) -> anyhow::Result<()> {
    if !wanted(targets) {
        return Ok(());
    }
    for path in paths {
        let name = place.input(path).from_root;
        let old = match (base, place.inside(path)) {
            (Some(base), Some(inside)) => base.read_policy(&inside)?,
            _ => None,
        };
        let digests = match old {
            Some(text) => digests(&text[..]),
            None if path.exists() => File::open(path).and_then(digests),
            // of neither revision: it judged nothing
            None => continue,
        };
        let digests = digests.with_context(|| format!("cannot read {}", path.display()))?;
        report.judged_by.push(sha256(&name, &digests.sha256));
    }
    report.judged_by.extend(base.map(|base| Digested {
        name: "base".to_owned(),
        algorithm: "gitCommit",
        digest: base.id().to_owned(),
    }));
    Ok(())
}

fn sha256(name: &str, digest: &[u8; 32]) -> Digested {
    let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Digested { name: name.to_owned(), algorithm: "sha256", digest: hex }
}
