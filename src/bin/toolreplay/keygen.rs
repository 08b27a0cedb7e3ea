//! `toolreplay keygen`: a key that signs sealed transcripts.

use crate::args::KeygenArgs;
use crate::exit::Exit;
use crate::output;
use anyhow::{Context as _, anyhow, bail};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use toolreplay::signature::{NAMESPACE, SigningKey, ssh};
use zeroize::Zeroizing;

pub(crate) fn run(args: &KeygenArgs) -> Exit {
    let stem = args.name.file_name().and_then(|name| name.to_str());
    let stem = stem.with_context(|| format!("'{}' does not end in the name of a key", args.name.display()))?;
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut_slice()).map_err(|error| anyhow!("the system has no randomness for a key: {error}"))?;
    let key = SigningKey::from_seed(args.key_name.as_deref().unwrap_or(stem), &seed)?;
    let (secret, public) = match args.ssh {
        true => {
            let line = format!("{} namespaces=\"{NAMESPACE}\" {}\n", key.name(), ssh::public(&key).line());
            (key.openssh(), line)
        }
        false => (key.secret_line(), key.public().vkey() + "\n"),
    };
    let (private_path, public_path) = (with_ending(&args.name, ".key"), with_ending(&args.name, ".pub"));
    for path in [&private_path, &public_path] {
        if path.symlink_metadata().is_ok() {
            bail!("{} is there already, and a key is never overwritten; choose another name", path.display());
        }
    }
    write_new(&private_path, secret.as_bytes(), 0o600)?;
    if let Err(error) = write_new(&public_path, public.as_bytes(), 0o644) {
        // half a pair is of no use; the private half was made by this very run
        let _ = std::fs::remove_file(&private_path);
        return Err(error);
    }
    output::print(public.as_bytes())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Writes a file that must not be there yet, not even as a link.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let context = || format!("cannot write {}", path.display());
    let written = create(path, mode).and_then(|mut file| {
        file.write_all(bytes).and_then(|()| file.sync_all()).inspect_err(|_| drop(std::fs::remove_file(path)))
    });
    written.with_context(context)
}

fn create(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}
