//! `toolreplay trace run`: a Python function, recorded while it runs. The Python module does the work; this starts it.

use crate::exit::Exit;
use anyhow::{Context as _, bail};
use clap::Args;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Exits with 0 where the module can be started, with 3 where it is missing.
const PROBE: &str = "import importlib.util as u, sys; \
    sys.exit(0 if u.find_spec('toolreplay') and u.find_spec('toolreplay.run') else 3)";

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The function to run, as the interpreter finds it from here: package.module:function.
    #[arg(value_name = "MODULE:FUNCTION")]
    entry: String,
    /// A file with one JSON object: the keyword arguments of the function.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The recording. The file must not exist yet.
    #[arg(long, value_name = "NEW")]
    output: PathBuf,
    /// A function or method whose calls are recorded as model requests; repeatable.
    #[arg(long = "model", value_name = "MODULE:ATTR")]
    models: Vec<String>,
    /// A function or method (Class.method) whose calls are recorded as tool executions; repeatable.
    #[arg(long = "tool", value_name = "MODULE:ATTR")]
    tools: Vec<String>,
    /// A function or method whose calls are recorded as turns of the agent's loop; repeatable.
    #[arg(long = "loop", value_name = "MODULE:ATTR")]
    loops: Vec<String>,
    /// A field whose value is redacted wherever it stands; repeatable.
    #[arg(long = "redact-field", value_name = "NAME")]
    redact_fields: Vec<String>,
    /// The most events that are recorded; spans that began have room for their ends.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    max_events: u64,
    /// The Python interpreter, with the module toolreplay installed.
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
}

impl RunArgs {
    /// Runs it; the exit code is that of the interpreter.
    pub(super) fn run(self) -> Exit {
        let shown = self.python.display();
        let mut probe = Command::new(&self.python);
        probe.args(["-c", PROBE]).stdin(Stdio::null()).stdout(Stdio::null());
        let probed = match probe.status() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no interpreter '{shown}'; install Python 3.10 or later, or name one with --python")
            }
            probed => probed.with_context(|| format!("cannot start '{shown}'"))?,
        };
        if probed.code() == Some(3) {
            bail!(
                "'{shown}' has no module toolreplay; run '{shown} -m pip install toolreplay', or name another \
                 interpreter with --python"
            );
        }
        if !probed.success() {
            bail!("'{shown}' is no interpreter that works: it ended with {probed}");
        }
        let mut command = Command::new(&self.python);
        command.args(["-m", "toolreplay.run"]).args(self.arguments());
        start(command).with_context(|| format!("cannot start '{shown}'"))
    }

    fn arguments(&self) -> Vec<OsString> {
        // `--option=value`: no value can be taken for an option
        let joined = |option: &str, value: &std::ffi::OsStr| {
            let mut argument = OsString::from(option);
            argument.push("=");
            argument.push(value);
            argument
        };
        let mut arguments =
            vec![joined("--input", self.input.as_os_str()), joined("--output", self.output.as_os_str())];
        let repeated = [
            ("--model", &self.models),
            ("--tool", &self.tools),
            ("--loop", &self.loops),
            ("--redact-field", &self.redact_fields),
        ];
        for (option, values) in repeated {
            arguments.extend(values.iter().map(|value| joined(option, value.as_ref())));
        }
        arguments.push(joined("--max-events", self.max_events.to_string().as_ref()));
        arguments.extend(["--".into(), self.entry.as_str().into()]);
        arguments
    }
}

/// Becomes the interpreter, so that signals reach it and its end is the end of the command.
#[cfg(unix)]
fn start(mut command: Command) -> Exit {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec().into())
}

#[cfg(not(unix))]
fn start(mut command: Command) -> Exit {
    let code = command.status()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(crate::exit::FAILED))
}
