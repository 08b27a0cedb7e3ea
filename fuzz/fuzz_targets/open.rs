//! Opening a file: compression, archives, encodings, telling formats apart. No panic on any bytes, and no more comes out
//! than the limits allow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read as _};
use std::path::Path;
use toolreplay::finding::SourceFile;
use toolreplay::formats::{self, Opening, Options, Recording, Unknown};
use toolreplay::limits::{Budget, Exceeded, Limits};

const LIMITS: Limits = Limits { line: 64 << 10, document: 128 << 10, unpacked: 1 << 20 };

fuzz_target!(|bytes: &[u8]| {
    let Some((name, bytes)) = bytes.split_first() else { return };
    let options = || Options { budget: Budget::new(LIMITS), ..Options::default() };
    let source = || Box::new(Cursor::new(bytes.to_vec()));
    let names = ["a.json", "a.jsonl", "a.jsonl.gz", "a.json.zst", "a.eval", "a.traj"];
    let found = Path::new(names[usize::from(*name) % names.len()]);
    let _ = formats::open_found(source(), found, &options());
    let options = options();
    match formats::open(source(), None, &options) {
        Ok(Opening::Native(mut text) | Opening::Unknown(Unknown { source: mut text, .. })) => {
            let mut out = Vec::new();
            let read = text.read_to_end(&mut out);
            if read.as_ref().err().and_then(Exceeded::of).is_none() {
                // UTF-16 is half as much again as UTF-8, and what is not compressed is bounded by its lines alone
                let most = LIMITS.unpacked as usize * 2 + bytes.len() * 2;
                assert!(out.len() <= most, "{} bytes", out.len());
                let longest = out.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0);
                assert!(read.is_err() || longest <= LIMITS.line as usize + 3, "a line of {longest}");
            }
        }
        Ok(Opening::Foreign(foreign)) => {
            let file = || SourceFile { shown: "it".to_owned(), from_root: "it".to_owned() };
            let _ = Recording::to_write(&options).add(foreign, file(), &|_| file(), 2);
        }
        Ok(Opening::Other(_)) | Err(_) => {}
    }
});
