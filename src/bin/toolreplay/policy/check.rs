//! `toolreplay policy check`: whether scope files are what they should be.

use crate::exit::{self, Exit};
use crate::{output, scope};
use clap::Args;
use std::path::PathBuf;
use toolreplay::sanitize::visible;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Scope files, of either version
    #[arg(value_name = "SCOPE", required = true)]
    files: Vec<PathBuf>,
}

impl CheckArgs {
    pub(super) fn run(self) -> Exit {
        let mut text = String::new();
        let mut code = exit::CLEAN;
        for file in &self.files {
            match scope::read(file) {
                Ok(policy) => {
                    let entries = policy.entries().len();
                    let plural = if entries == 1 { "y" } else { "ies" };
                    let shown = file.display().to_string();
                    text.push_str(&format!(
                        "{}: version {}, {entries} entr{plural}, SHA-256 {}\n",
                        visible(&shown),
                        policy.version,
                        hex::encode(policy.sha256)
                    ));
                    for remark in policy.pointless() {
                        let remark = format!("{shown}: line {}: {}: {}", remark.line, remark.entry, remark.text);
                        exit::print_warning(&remark);
                    }
                }
                // the others are still checked
                Err(error) => {
                    exit::print_error(&format!("{error:#}"));
                    code = exit::FAILED;
                }
            }
        }
        output::print(text.as_bytes())?;
        Ok(code)
    }
}
