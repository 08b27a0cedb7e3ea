//! Zip archives, as far as logs need them: the names of the entries, and one entry at a time, stored, deflated or as
//! Zstandard. Names are only names here: nothing is ever written to where they point.

use crate::limits::Budget;
use flate2::Crc;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// A source that can be read anywhere.
pub(crate) trait Anywhere: Read + Seek + Send {}
impl<T: Read + Seek + Send> Anywhere for T {}

/// The largest archive, in bytes: room is made for as many entries as would fit into it.
const LARGEST: u64 = 1 << 30;
/// Bytes that are read of the list of entries, which take about ten times that in memory.
const LIST: u64 = 4 << 20;

/// An archive.
pub(crate) struct Archive {
    zip: ZipArchive<Metered>,
    budget: Budget,
}

/// A source of which only so much may be read.
struct Metered {
    source: Box<dyn Anywhere>,
    left: Arc<AtomicU64>,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        let left = self.left.load(Ordering::Relaxed);
        if left < read as u64 {
            return Err(broken(&format!("its list of entries is longer than {} MiB", LIST >> 20)));
        }
        self.left.store(left - read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Seek for Metered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.source.seek(to)
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged zip archive: {what}"))
}

fn failed(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => broken(&other.to_string()),
    }
}

impl Archive {
    pub(crate) fn open(mut source: Box<dyn Anywhere>, budget: &Budget) -> io::Result<Archive> {
        if source.seek(SeekFrom::End(0))? > LARGEST {
            return Err(io::Error::other(format!(
                "a zip archive of more than {} GiB; unpack it and name the files",
                LARGEST >> 30
            )));
        }
        let left = Arc::new(AtomicU64::new(LIST));
        let mut zip = ZipArchive::new(Metered { source, left: Arc::clone(&left) }).map_err(failed)?;
        if zip.has_duplicate_names() {
            return Err(broken("two of its entries have one name"));
        }
        // files over each other are many times as long as the archive
        if zip.has_overlapping_files().map_err(failed)? {
            return Err(broken("its entries overlap"));
        }
        // entries are read one after the other, and bounded each
        left.store(u64::MAX, Ordering::Relaxed);
        Ok(Archive { zip, budget: budget.clone() })
    }

    /// The names, in the order of the directory.
    pub(crate) fn names(&self) -> Vec<String> {
        self.zip.file_names_raw().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// The bytes of an entry, which its checksum holds for.
    pub(crate) fn read(&mut self, place: usize) -> io::Result<Vec<u8>> {
        let entry = self.zip.by_index_data(place).map_err(failed)?;
        let (method, expected) = (entry.compression(), entry.crc32());
        let zip = &mut self.zip;
        let zstd = method == ZSTD;
        let entry = if zstd { zip.by_index_raw(place) } else { zip.by_index(place) };
        let entry = entry.map_err(failed)?;
        if !zstd {
            return whole(&self.budget, entry);
        }
        let decoder = StreamingDecoder::new(entry).map_err(|error| broken(&error.to_string()))?;
        let text = whole(&self.budget, decoder)?;
        let mut crc = Crc::new();
        crc.update(&text);
        if crc.sum() != expected {
            return Err(broken("the checksum of an entry does not hold"));
        }
        Ok(text)
    }
}

#[expect(deprecated, reason = "the method is known to us, not to the build of the crate")]
const ZSTD: CompressionMethod = CompressionMethod::Unsupported(93);

fn whole(budget: &Budget, source: impl Read) -> io::Result<Vec<u8>> {
    let mut source = budget.unpacked(source);
    let mut text = Vec::new();
    loop {
        budget.document(text.len() as u64)?;
        if source.by_ref().take(STEP).read_to_end(&mut text)? == 0 {
            return Ok(text);
        }
    }
}

/// How much is unpacked at once, in bytes.
const STEP: u64 = 4 << 20;
