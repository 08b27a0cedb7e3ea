//! The verdict as an in-toto predicate, for whoever attests what was audited: `https://in-toto.io/attestation/test-result/v0.1`.
//!
//! It says what came of the run, by what the files were judged, and which rules failed or warned. It does not say which
//! rules passed: a rule that finds nothing may have had nothing to look at. Which files it is about, `subjects` says.

use crate::audit::{Report, Verdict};
use crate::finding::Level;
use crate::sanitize::{InertJson, visible};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The predicate. The names of its fields are those of its specification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Predicate {
    result: &'static str,
    configuration: Vec<Resource>,
    warned_tests: Vec<String>,
    failed_tests: Vec<String>,
}

/// A thing that the files were judged by.
#[derive(Serialize)]
struct Resource {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    digest: BTreeMap<&'static str, String>,
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let (mut warned, mut failed) = (Vec::new(), Vec::new());
    for reported in report.findings() {
        let counts = reported.finding.level >= report.fail_on;
        let names: &mut Vec<String> = if counts { &mut failed } else { &mut warned };
        names.push(reported.finding.rule.id.to_owned());
    }
    // a run over nothing passed no test
    if report.verdict == Verdict::Inconclusive {
        failed.push("inconclusive".to_owned());
    }
    [&mut warned, &mut failed].into_iter().for_each(|names| {
        names.sort();
        names.dedup();
    });
    warned.retain(|name| !failed.contains(name));
    let left_out = report.suppressed + report.below_min_level;
    let result = match report.verdict {
        Verdict::Clean if warned.is_empty() && left_out == 0 && report.count(Level::Error) == 0 => "PASSED",
        Verdict::Clean => "WARNED",
        Verdict::Findings | Verdict::Inconclusive | Verdict::Failed => "FAILED",
    };
    let uri = Some(concat!("pkg:cargo/toolreplay@", env!("CARGO_PKG_VERSION")).to_owned());
    let mut configuration = vec![Resource { name: "toolreplay".to_owned(), uri, digest: BTreeMap::new() }];
    configuration.extend(report.judged_by.iter().map(|by| Resource {
        name: visible(&by.name).into_owned(),
        uri: None,
        digest: BTreeMap::from([(by.algorithm, by.digest.clone())]),
    }));
    let predicate = Predicate { result, configuration, warned_tests: warned, failed_tests: failed };
    predicate
        .serialize(&mut Serializer::with_formatter(&mut *out, InertJson(PrettyFormatter::new())))
        .map_err(io::Error::from)?;
    out.write_all(b"\n")
}
