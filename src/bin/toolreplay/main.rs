//! The `toolreplay` command.

fn main() {}
