//! `toolreplay schema`: the published JSON Schemas.

use crate::args::SchemaArgs;
use crate::exit::Exit;
use crate::output;
use anyhow::Context as _;

pub(crate) fn run(args: &SchemaArgs) -> Exit {
    let text = toolreplay::schema::text(&args.name).with_context(|| format!("no schema is called '{}'", args.name))?;
    output::print(text.as_bytes())
}
