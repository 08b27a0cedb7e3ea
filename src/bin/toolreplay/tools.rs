//! `toolreplay tools`: the tools of recordings, what is assumed of each, and why.

use crate::args::{Common, ToolsArgs};
use crate::configuration;
use crate::exit::Exit;
use crate::inputs::{self, Surroundings};
use crate::output;
use anyhow::{Context as _, anyhow, bail};
use std::fmt::Write as _;
use toolreplay::audit::{Input, detect_layout};
use toolreplay::config::FILE_NAME;
use toolreplay::engine::Ruleset;
use toolreplay::formats::{self, Inventory, Opening, Options, Recording, Why, open, open_found};
use toolreplay::sanitize::visible;
use toolreplay::tools::ToolSet;

pub(crate) fn run(args: &ToolsArgs, common: &Common) -> Exit {
    let place = Surroundings::current()?;
    let config = configuration::read(&place, args.config.as_deref(), false)?;
    let mut mutators = ToolSet::default_mutators();
    config.mutators.iter().chain(&args.mutators.names).for_each(|name| mutators.insert(name));
    let ruleset = Ruleset::audit(mutators, None).with_traits(config.traits());
    let options = args.importing.options();
    let mut inventory = Inventory::default();
    let found = inputs::find(&place, &args.paths, formats::may_be_recording, false)?;
    for input in &found.inputs {
        add(&mut inventory, input, &ruleset, &options, common).with_context(|| visible(&input.shown).into_owned())?;
    }
    if inventory.tools.is_empty() {
        bail!("not a single call was found; check the paths");
    }
    output::print(shown(&inventory).as_bytes())
}

fn add(
    inventory: &mut Inventory,
    input: &Input,
    ruleset: &Ruleset,
    options: &Options,
    common: &Common,
) -> anyhow::Result<()> {
    let source = input.open().context("cannot be opened")?;
    let opening = match input.path.as_deref().filter(|_| !input.named) {
        Some(path) => open_found(source, path, options),
        None => open(source, input.path.as_deref(), options),
    };
    match opening? {
        Opening::Foreign(foreign) => {
            let mut recording = Recording::to_write(options);
            recording.add(foreign, input.source_file(), &|path| input.beside(path), common.threads())?;
            Ok(inventory.add_recording(&mut recording.finish()?, ruleset)?)
        }
        Opening::Native(source) => {
            let (layout, source) = detect_layout(source).map_err(|failure| anyhow!("{failure}"))?;
            Ok(inventory.add_transcript(source, layout, ruleset)?)
        }
        Opening::Other(_) => Ok(()),
        Opening::Unknown(unknown) => {
            Err(anyhow!("in no format that 'toolreplay formats' lists: {}", visible(&unknown.why)))
        }
    }
}

/// The table, and what to paste for tools that nobody described.
fn shown(inventory: &Inventory) -> String {
    let name = |name: &str| visible(name).into_owned();
    let width = inventory.tools.keys().map(|tool| name(tool).chars().count()).max().unwrap_or(0).clamp(4, 60);
    let mut out = format!("{:<width$}  {:>7}  {:<28}  why\n", "tool", "calls", "effect");
    let mut open = Vec::new();
    for (tool, seen) in &inventory.tools {
        let mut effect: Vec<String> = match seen.effects.len() {
            1 => seen.effects.keys().map(|effect| (*effect).to_owned()).collect(),
            _ => seen.effects.iter().map(|(effect, calls)| format!("{effect} {calls}")).collect(),
        };
        if seen.polls > 0 {
            effect.push(if seen.polls == seen.calls { "poll".to_owned() } else { format!("poll {}", seen.polls) });
        }
        if seen.varies {
            effect.push("varies".to_owned());
        }
        let why = seen.why.map_or("", Why::words);
        let _ = writeln!(out, "{:<width$}  {:>7}  {:<28}  {why}", name(tool), seen.calls, effect.join(", "));
        if seen.why == Some(Why::Nobody) {
            open.push(tool);
        }
    }
    if !open.is_empty() {
        let _ = writeln!(out, "\n# nobody described these: paste into {FILE_NAME} and say what they do");
        for tool in open {
            let key = toml_string(tool);
            let _ = writeln!(out, "[tools.{key}]\neffect = \"unknown\" # read-only, mutates or session");
        }
    }
    out
}

/// A name as a key of TOML, which takes the escapes of JSON; what a glob would read otherwise stands for itself.
fn toml_string(name: &str) -> String {
    let literal: String = name
        .chars()
        .map(|char| if matches!(char, '*' | '?' | '[' | ']') { format!("[{char}]") } else { char.to_string() })
        .collect();
    let quoted = serde_json::Value::from(literal).to_string();
    visible(&quoted).into_owned()
}
