//! The note beside a sealed file that was made of another recording: which files, by their SHA-256. It has the form of
//! `sha256sum`, so that program checks it, in the folder of the recording.

use crate::output;
use anyhow::{Context as _, bail};
use sha2::Digest as _;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The largest note that is taken for one of ours, in bytes.
const NOTE: u64 = 16 << 20;

/// Where the note of a sealed file stands.
pub(crate) fn note_path(sealed: &Path) -> PathBuf {
    let mut name: OsString = sealed.as_os_str().to_owned();
    name.push(".source");
    name.into()
}

/// The files of a recording with their digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sources(Vec<(String, String)>);

impl Sources {
    /// Reads the files. They are named from the folder of the first one.
    pub(crate) fn of(files: &[String]) -> anyhow::Result<Sources> {
        let folder = files.first().and_then(|first| Path::new(first).parent()).map(Path::to_owned).unwrap_or_default();
        let mut sources = Vec::new();
        for path in files {
            // an entry of an archive is a part of it
            let path = path.split_once('!').map_or(path.as_str(), |(archive, _)| archive);
            let name = Path::new(path).strip_prefix(&folder).unwrap_or(Path::new(path)).to_string_lossy().into_owned();
            if sources.iter().all(|(_, known)| *known != name) {
                sources.push((digest(Path::new(path)).with_context(|| format!("cannot read {path}"))?, name));
            }
        }
        Ok(Sources(sources))
    }

    /// Whether the files of others are among these, with the same content.
    pub(crate) fn hold(&self, others: &Sources) -> bool {
        others.0.iter().all(|other| self.0.contains(other))
    }

    /// Writes the note, over nothing but an older one.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        if path.symlink_metadata().is_ok() && !is_note(path)? {
            bail!("{} is there already and no list of digests; remove it", path.display());
        }
        let text: String = self.0.iter().map(|(digest, name)| line(digest, name)).collect();
        output::to_file(path, |out| out.write_all(text.as_bytes()))
    }
}

/// A line as `sha256sum` writes it.
fn line(digest: &str, name: &str) -> String {
    match name.contains(['\\', '\n', '\r']) {
        true => {
            let name = name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
            format!("\\{digest}  {name}\n")
        }
        false => format!("{digest}  {name}\n"),
    }
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut digest, mut buffer) = (sha2::Sha256::new(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize())),
            read => digest.update(&buffer[..read]),
        }
    }
}

fn is_note(path: &Path) -> anyhow::Result<bool> {
    let metadata = path.symlink_metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if !metadata.is_file() || metadata.len() > NOTE {
        return Ok(false);
    }
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_line = |line: &[u8]| {
        let line = line.strip_prefix(b"\\").unwrap_or(line);
        line.len() > 66 && line[..64].iter().all(u8::is_ascii_hexdigit) && line[64..].starts_with(b"  ")
    };
    Ok(text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).all(is_line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_sha256sum() {
        assert_eq!(line("00", "a b"), "00  a b\n");
        assert_eq!(line("00", "a\nb\\"), "\\00  a\\nb\\\\\n");
    }

    #[test]
    fn a_note_replaces_a_note_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("s.jsonl"), "x").unwrap();
        std::fs::create_dir_all(path("s/subagents")).unwrap();
        std::fs::write(path("s/subagents/a"), "y").unwrap();
        let files = ["s.jsonl", "s/subagents/a"].map(|name| path(name).display().to_string());
        let sources = Sources::of(&files).unwrap();
        let note = note_path(&path("s.sealed.jsonl"));
        sources.write(&note).unwrap();
        sources.write(&note).unwrap();
        let text = std::fs::read_to_string(&note).unwrap();
        assert_eq!(
            text.lines().map(|line| line[64..].to_owned()).collect::<Vec<_>>(),
            ["  s.jsonl", "  s/subagents/a"]
        );
        std::fs::write(&note, "my notes\n").unwrap();
        assert!(sources.write(&note).is_err());
    }
}
