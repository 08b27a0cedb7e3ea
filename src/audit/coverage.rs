//! What a run looked at, and what it could not judge.

use super::command::Command;
use super::file_report::FileReport;
use super::outcome::Import;
use super::words::plural;
use crate::formats::Code;
use crate::rules::Selection;
use crate::signature::Standing;

/// What a run looked at, and what it could not judge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Files, also those that could not be read.
    pub files: u64,
    /// Calls.
    pub calls: u64,
    /// Calls whose answer was compared with an earlier identical call's.
    pub pairs: u64,
    /// Calls that were made before, whether the two answers could be compared or not.
    pub repeated: u64,
    /// Whether it was judged what the agent was allowed to call, or nobody would expect it.
    pub permissions: bool,
    /// What could not be judged and why, one reason an entry.
    pub not_judged: Vec<String>,
}

impl Coverage {
    pub(super) fn of(command: Command, files: &[FileReport], scope: bool) -> Coverage {
        let judged = || files.iter().filter(|file| file.is_judged() && !file.aside);
        let calls = judged().filter(|file| file.repeats.is_none()).map(|file| file.calls).sum();
        let pairs = judged().filter(|file| file.repeats.is_none()).map(|file| file.pairs).sum();
        let repeated = judged().filter(|file| file.repeats.is_none()).map(|file| file.repeated).sum();
        let mut not_judged = Vec::new();
        let mut say = |count: u64, what: &str, why: &str| {
            if count > 0 {
                not_judged.push(format!("{} {why}", plural(count, what)));
            }
        };
        say(files.iter().filter(|file| !file.is_judged()).count() as u64, "file", "that cannot be read");
        say(judged().filter(|file| file.calls == 0).count() as u64, "file", "without a call");
        say(
            judged().filter(|file| file.repeats.is_some()).count() as u64,
            "sealed file",
            "with the calls of an audited transcript",
        );
        if matches!(command, Command::Audit | Command::Replay) {
            say(calls - pairs, "call", NOT_COMPARED);
        }
        let unchecked = |file: &&FileReport| {
            file.signature.as_ref().is_some_and(|checked| checked.standing == Standing::NotChecked)
        };
        say(judged().filter(unchecked).count() as u64, "signed seal", "whose signatures no trusted key was given for");
        let imports = || judged().filter_map(|file| file.import.as_ref());
        let sum = |count: fn(&Import) -> u64| imports().map(count).sum::<u64>();
        if matches!(command, Command::Audit | Command::Replay) {
            say(sum(|import| import.unjudged.no_result), "call", "whose result was not recorded");
            say(sum(|import| import.unjudged.truncated), "call", "whose result the recorder cut");
            say(sum(|import| import.unjudged.receipts), "call", "whose result is only a receipt");
            say(sum(|import| import.unjudged.more_results), "call", "with more than one result");
            say(sum(|import| import.unjudged.redacted), "call", "whose result had secrets in it");
            say(sum(|import| import.unjudged.args_unknown), "call", "whose arguments were not recorded");
            say(sum(|import| import.unjudged.not_executed), "call", "that never ran");
            say(sum(|import| import.unjudged.failed), "call", "that failed");
            say(sum(|import| import.unjudged.pairs), "pair", "of which one result is not known");
        }
        say(sum(|import| import.balance.orphans), "result", "without a call");
        say(sum(|import| import.unjudged.unobserved), "call", "that nobody saw run: a model asked, its agent reported");
        let lines = |import: &Import| {
            import.warnings.iter().filter(|w| w.code == Code::BadLine && w.is_loss()).map(|w| w.count).sum()
        };
        say(sum(lines), "line", "that cannot be read");
        fn warned(import: &Import, code: Code) -> u64 {
            import.warnings.iter().filter(|warning| warning.code == code).map(|warning| warning.count).sum()
        }
        say(sum(|import| warned(import, Code::UnreadRecord)), "value", "not understood that may hold a call");
        say(sum(|import| warned(import, Code::SpanLeftOut)), "span", "called like a tool by no known convention");
        let permissions = command != Command::Audit || scope;
        if !permissions {
            not_judged.push("permissions, for no scope was given".to_owned());
        }
        let read = |file: &FileReport| file.import.as_ref().map_or(1, |import| import.files);
        let files = files.iter().filter(|file| !file.aside).map(read).sum();
        Coverage { files, calls, pairs, repeated, permissions, not_judged }
    }
}

/// Why the answer of a call was not compared.
const NOT_COMPARED: &str = "without an earlier identical call to compare with";

impl Coverage {
    /// What was looked at, in words for people.
    #[must_use]
    pub fn looked_at(&self) -> String {
        let (files, calls) = (plural(self.files, "file"), plural(self.calls, "call"));
        let compared = match self.pairs {
            0 if self.calls == 0 => String::new(),
            0 if self.repeated == 0 => "; none was made twice, so there was nothing to compare".to_owned(),
            0 => "; no answer could be compared with an earlier one".to_owned(),
            1 => "; 1 answer was compared with that of an earlier identical call".to_owned(),
            pairs => format!("; {pairs} answers were compared with those of earlier identical calls"),
        };
        format!("{files}, {calls}{compared}")
    }

    /// What was not judged, in words for people.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let said = |what: &&String| !(self.repeated == 0 && what.ends_with(NOT_COMPARED));
        self.not_judged.iter().filter(said).cloned().collect()
    }
}

impl Coverage {
    /// Says which rules did not judge.
    pub(super) fn turned_off(&mut self, rules: &Selection, judges_calls: bool) {
        let off: Vec<&str> = rules.off().collect();
        if !off.is_empty() {
            self.not_judged.push(format!("what is turned off: {}", off.join(", ")));
        }
        if !judges_calls {
            self.not_judged.push("calls, for no rule that judges them is on".to_owned());
        }
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (files, calls, pairs) =
            (plural(self.files, "file"), plural(self.calls, "call"), plural(self.pairs, "pair"));
        write!(f, "{files}, {calls}, {pairs} compared")?;
        if self.not_judged.is_empty() { Ok(()) } else { write!(f, "; not judged: {}", self.not_judged.join("; ")) }
    }
}
