//! `toolreplay formats`: what can be read besides transcripts.

use crate::args::FormatsArgs;
use crate::exit::Exit;
use crate::output;
use std::fmt::Write as _;
use toolreplay::formats::FORMATS;

pub(crate) fn run(args: &FormatsArgs) -> Exit {
    let mut text = String::new();
    for importer in FORMATS.iter().filter(|importer| args.format.as_deref().is_none_or(|id| id == importer.id)) {
        if args.format.is_none() {
            let _ = writeln!(text, "{:<20} {}", importer.id, importer.title);
            let _ = writeln!(text, "{:<20} {}", "", importer.found_in);
        } else {
            let _ = writeln!(
                text,
                "{}: {}\nwhere: {}\ntools: {}",
                importer.id,
                importer.title,
                importer.found_in,
                importer.tools()
            );
        }
    }
    output::print(text.as_bytes())
}
