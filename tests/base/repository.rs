//! A scratch git repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) struct Repository {
    folder: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Repository {
    pub(crate) fn new() -> Repository {
        let repository = Repository { folder: tempfile::tempdir().unwrap() };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Makes the working tree that of a folder.
    pub(crate) fn replace_by(&self, source: &Path) {
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with(".git") => {}
                true => std::fs::remove_dir_all(path).unwrap(),
                false => std::fs::remove_file(path).unwrap(),
            }
        }
        let status = Command::new("cp").arg("-R").arg(source.join(".")).arg(self.folder.path()).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.try_git(arguments).unwrap_or_else(|said| panic!("git {arguments:?}: {said}"))
    }

    /// What git prints, or what it says where it fails.
    pub(crate) fn try_git(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.prepared("git").args(arguments).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_in("", arguments)
    }

    pub(crate) fn run_in(&self, folder: &str, arguments: &[&str]) -> Ran {
        let mut command = self.prepared(env!("CARGO_BIN_EXE_toolreplay"));
        command.current_dir(self.path(folder)).args(arguments).output().unwrap().into()
    }

    /// A program in the repository that sees none of the user's settings.
    fn prepared(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@example.com");
        }
        command
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
