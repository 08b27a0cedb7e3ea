//! `toolreplay policy import`: an agent's own permission file as a scope.

use super::vendors::{self, Rules};
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::output;
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The largest permission file that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Whose file it is
    #[arg(value_enum)]
    agent: Agent,

    /// The agent's permission files, all of which hold at once
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What becomes of what the agent asks its user for
    #[arg(long, value_enum, default_value_t = Ask::Deny)]
    ask: Ask,

    /// Where the scope goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Agent {
    /// Claude Code: settings.json
    Claude,
    /// Codex: *.rules
    Codex,
    /// Gemini CLI: policies/*.toml
    Gemini,
    /// Cursor: cli.json or cli-config.json
    Cursor,
    /// Copilot CLI: a file of its --allow-tool and --deny-tool options
    Copilot,
    /// opencode: opencode.json
    Opencode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ask {
    /// It is allowed
    Allow,
    /// It is denied
    Deny,
}

impl ImportArgs {
    pub(super) fn run(self) -> Exit {
        let output = self.output.as_deref().filter(|path| *path != Path::new("-"));
        let written = output.map(|path| (path, Writes::Report));
        guard::outputs(written, self.files.iter().map(PathBuf::as_path))?;
        let mut rules = Rules::new(self.ask == Ask::Allow);
        for file in &self.files {
            let shown = file.display().to_string();
            let text = read(file)?;
            match self.agent {
                Agent::Claude => vendors::claude(&text, &mut rules),
                Agent::Codex => vendors::codex(&text, &mut rules),
                Agent::Gemini => vendors::gemini(&text, &mut rules),
                Agent::Cursor => vendors::cursor(&text, &mut rules),
                Agent::Copilot => vendors::copilot(&text, &mut rules),
                Agent::Opencode => vendors::opencode(&text, &mut rules),
            }
            .with_context(|| shown)?;
        }
        for note in &rules.notes {
            exit::print_warning(note);
        }
        let text = rules.lists.text()?;
        match output {
            Some(path) => output::to_file(path, |out| out.write_all(text.as_bytes()))?,
            None => drop(output::print(text.as_bytes())?),
        }
        Ok(exit::CLEAN)
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let shown = path.display().to_string();
    if !path.metadata().with_context(|| format!("cannot read {shown}"))?.is_file() {
        bail!("cannot read {shown}: it is no regular file");
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).with_context(|| format!("cannot open {shown}"))?;
    file.take(MAX_FILE + 1).read_to_string(&mut text).with_context(|| format!("cannot read {shown}"))?;
    if text.len() as u64 > MAX_FILE {
        bail!("{shown} is larger than {} MiB", MAX_FILE >> 20);
    }
    Ok(text)
}
