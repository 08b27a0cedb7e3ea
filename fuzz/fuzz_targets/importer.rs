//! An importer: no panic on any bytes; the books balance or a loss is named; what it writes is a transcript. The variable
//! FORMAT names the format; without it the bytes tell.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::sync::LazyLock;
use toolreplay::finding::SourceFile;
use toolreplay::formats::{self, From, Opening, Options, Recording};
use toolreplay::limits::{Budget, Limits};
use toolreplay::seal;

static FORMAT: LazyLock<Option<From>> = LazyLock::new(|| {
    let id = std::env::var("FORMAT").ok()?;
    Some(From::named(&id).expect("FORMAT is the id of a format"))
});

fuzz_target!(|text: &[u8]| {
    let budget = Budget::new(Limits { unpacked: 4 << 20, ..Limits::default() });
    let options = Options { from: *FORMAT, budget, ..Options::default() };
    let Ok(Opening::Foreign(foreign)) = formats::open(Box::new(Cursor::new(text.to_vec())), None, &options) else {
        return;
    };
    let file = || SourceFile { shown: "it".to_owned(), from_root: "it".to_owned() };
    let mut recording = Recording::to_write(&options);
    if recording.add(foreign, file(), &|_| file(), 1).is_err() {
        return;
    }
    let mut imported = recording.finish().expect("what waits fits into memory");
    for part in imported.parts() {
        let mut transcript = Vec::new();
        imported.write(&part, &mut transcript).expect("memory takes everything");
        seal::check(&transcript[..], 1).expect("what was imported is a transcript");
    }
});
