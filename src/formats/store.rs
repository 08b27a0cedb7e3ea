//! Bytes that must wait until the order of the calls is known: in memory up to a limit, beyond it in a temporary file
//! without a name.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

/// Bytes that wait in memory.
const IN_MEMORY: usize = 64 << 20;

/// Where stored bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Handle {
    at: u64,
    len: u32,
}

impl Handle {
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The store.
#[derive(Debug)]
pub(crate) struct Store {
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// Bytes behind those.
    memory: Vec<u8>,
    limit: usize,
}

impl Default for Store {
    fn default() -> Store {
        Store { file: None, written: 0, memory: Vec::new(), limit: IN_MEMORY }
    }
}

impl Store {
    /// Takes in bytes; none at all get the handle that says so.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<Handle> {
        if bytes.is_empty() {
            return Ok(Handle::default());
        }
        let at = self.written + self.memory.len() as u64;
        let len = u32::try_from(bytes.len()).map_err(|_| io::Error::other("a value of 4 GiB and more"))?;
        if self.memory.len() + bytes.len() > self.limit {
            let file = match &mut self.file {
                Some(file) => file,
                None => self.file.insert(tempfile::tempfile()?),
            };
            file.seek(SeekFrom::End(0))?;
            file.write_all(&self.memory)?;
            file.write_all(bytes)?;
            self.written = at + u64::from(len);
            self.memory.clear();
        } else {
            self.memory.extend_from_slice(bytes);
        }
        Ok(Handle { at, len })
    }

    /// Stored bytes, in place of what `out` held.
    pub(crate) fn get(&mut self, handle: Handle, out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        if handle.is_empty() {
            return Ok(());
        }
        let len = handle.len as usize;
        if handle.at >= self.written {
            let start = (handle.at - self.written) as usize;
            out.extend_from_slice(&self.memory[start..start + len]);
            return Ok(());
        }
        let Some(file) = &mut self.file else { return Err(io::Error::other("the temporary file is gone")) };
        out.resize(len, 0);
        file.seek(SeekFrom::Start(handle.at))?;
        file.read_exact(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_wherever_they_went() {
        let mut store = Store { limit: 100, ..Store::default() };
        let parts: Vec<Vec<u8>> = (0..40_u8).map(|n| vec![n; usize::from(n) * 3]).collect();
        let handles: Vec<Handle> = parts.iter().map(|part| store.put(part).unwrap()).collect();
        assert!(store.file.is_some() && !store.memory.is_empty() || store.written > 0);
        let mut out = Vec::new();
        for (part, handle) in parts.iter().zip(handles).rev() {
            store.get(handle, &mut out).unwrap();
            assert_eq!(&out, part);
        }
    }
}
