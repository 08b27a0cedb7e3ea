//! Files of a revision, read from `git cat-file --batch` as they come: one process answers for many files.

use crate::git;
use anyhow::{Context as _, bail};
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

/// What is left of a file, in bytes, that is read to its end rather than thrown away with its process.
const DRAINED: u64 = 1 << 20;

/// The files of one revision.
#[derive(Debug)]
pub(crate) struct Blobs {
    pub(crate) root: PathBuf,
    /// The commit's object id.
    pub(crate) id: String,
    idle: Mutex<Option<Server>>,
}

/// One file. Reading it fails where git ends before the file does.
pub(crate) struct Blob {
    blobs: Arc<Blobs>,
    server: Option<Server>,
    left: u64,
}

#[derive(Debug)]
struct Server {
    /// Whether it can be asked again for any name of one line.
    plain: bool,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Blobs {
    pub(crate) fn new(root: &Path, id: &str) -> Blobs {
        Blobs { root: root.to_owned(), id: id.to_owned(), idle: Mutex::new(None) }
    }

    /// A file by its path from the root, if the revision has it. Links inside the tree are followed, as reading the file
    /// from disk would.
    pub(crate) fn open(self: &Arc<Blobs>, path: &Path) -> anyhow::Result<Option<Blob>> {
        let mut object = OsString::from(format!("{}:", self.id));
        object.push(git::as_git(path));
        let object = object.as_encoded_bytes();
        // a name of several lines needs a process that ends its questions otherwise
        let several_lines = object.contains(&b'\n');
        let idle = self.idle.lock().ok().filter(|_| !several_lines).and_then(|mut idle| idle.take());
        let mut server = match idle {
            Some(server) => server,
            None => Server::start(&self.root, several_lines)?,
        };
        let end: &[u8] = if several_lines { b"\0" } else { b"\n" };
        let asked = server.requests.write_all(&[object, end].concat()).and_then(|()| server.requests.flush());
        asked.context("cannot ask git")?;
        let mut header = Vec::new();
        server.answers.read_until(b'\n', &mut header).context("cannot read what git answers")?;
        let text = String::from_utf8_lossy(&header);
        let words: Vec<&str> = text.trim_end().rsplit(' ').collect();
        let size = match words[..] {
            ["missing", ..] if !several_lines => {
                self.keep(server);
                return self.not_there(path);
            }
            [size, "blob", ..] => size.parse().context("git cat-file gives no size")?,
            [_, "tree" | "commit", ..] | [_, "dangling" | "notdir"] => return Ok(None),
            [_, "symlink" | "loop"] => bail!("it is a link that leads out of the repository or nowhere"),
            _ if several_lines => return self.not_there(path),
            _ => bail!("git cat-file gives no answer; is the clone complete?"),
        };
        Ok(Some(Blob { blobs: self.clone(), server: Some(server), left: size }))
    }

    /// A partial clone may have left out the content of what the revision names, perhaps by way of a link.
    fn not_there(&self, path: &Path) -> anyhow::Result<Option<Blob>> {
        let names: Vec<&Path> = path.ancestors().filter(|name| !name.as_os_str().is_empty()).collect();
        let listed = git::tree(&self.root, &self.id, &names[..1])?;
        let by_link = || git::links(&self.root, &self.id, &names);
        if !listed.is_empty() || by_link()? {
            bail!("this clone does not have its content; do not filter the clone, or fetch it first")
        }
        Ok(None)
    }

    fn keep(&self, server: Server) {
        if server.plain
            && let Ok(mut idle) = self.idle.lock()
        {
            *idle = Some(server);
        }
    }
}

impl Server {
    fn start(root: &Path, several_lines: bool) -> anyhow::Result<Server> {
        let mut command = git::command(root);
        command.args(["cat-file", "--batch", "--follow-symlinks"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        if several_lines {
            command.arg("-z");
        }
        let mut child = command.stderr(Stdio::null()).spawn().context("cannot run git")?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => {
                let answers = BufReader::with_capacity(256 << 10, answers);
                Ok(Server { plain: !several_lines, child, requests, answers })
            }
            _ => bail!("git has no standard streams"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // it may still be writing what nobody reads
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(server) = self.server.as_mut().filter(|_| self.left > 0 && !buffer.is_empty()) else { return Ok(0) };
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = server.answers.read(&mut buffer[..room])?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "git ended before the file did"));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take().filter(|_| self.left <= DRAINED) else { return };
        // the file is followed by a newline
        let rest = self.left + 1;
        let drained = io::copy(&mut server.answers.by_ref().take(rest), &mut io::sink());
        if drained.is_ok_and(|drained| drained == rest) {
            self.blobs.keep(server);
        }
    }
}
