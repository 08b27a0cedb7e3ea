//! What the tools of Model Context Protocol servers that many people use do, by the names that agents give them:
//! `mcp__<server>__<tool>`, and what agents put between the two. A recording's own annotations and the configuration say
//! more than this; of servers that are not here nothing is assumed.

use super::event::Effect;

/// A server: names it goes by, starts of the names of tools that read only, tools that keep notes of the agent's own, and
/// whether its answers come from something that others change all the time.
struct Server {
    names: &'static [&'static str],
    reads: &'static [&'static str],
    session: &'static [&'static str],
    varies: bool,
}

const SERVERS: [Server; 14] = [
    Server {
        names: &["filesystem"],
        reads: &["read_", "list_", "directory_tree", "search_files", "get_file_info"],
        session: &[],
        varies: false,
    },
    Server {
        names: &["github", "github-mcp-server"],
        reads: &["get_", "list_", "search_", "issue_read", "pull_request_read", "download_workflow_run_artifact"],
        session: &[],
        varies: true,
    },
    Server { names: &["gitlab"], reads: &["get_", "list_", "search_"], session: &[], varies: true },
    Server {
        names: &["git"],
        reads: &["git_status", "git_diff", "git_log", "git_show", "git_branch"],
        session: &[],
        varies: false,
    },
    Server {
        names: &["context7", "plugin_context7_context7"],
        reads: &["resolve-library-id", "get-library-docs", "query-docs"],
        session: &[],
        varies: true,
    },
    Server { names: &["fetch"], reads: &["fetch"], session: &[], varies: true },
    Server { names: &["time"], reads: &["get_current_time", "convert_time"], session: &[], varies: true },
    Server {
        names: &["memory"],
        reads: &["read_graph", "search_nodes", "open_nodes"],
        session: &["create_", "add_", "delete_"],
        varies: false,
    },
    Server {
        names: &["sequential-thinking", "sequentialthinking"],
        reads: &[],
        session: &["sequentialthinking"],
        varies: false,
    },
    Server {
        names: &["playwright", "plugin_playwright_playwright"],
        reads: &["browser_snapshot", "browser_take_screenshot", "browser_console_messages", "browser_network_requests"],
        session: &[],
        varies: true,
    },
    Server {
        names: &["chrome-devtools"],
        reads: &["list_", "get_", "take_snapshot", "take_screenshot"],
        session: &[],
        varies: true,
    },
    Server {
        names: &["linear", "linear-server", "claude_ai_Linear"],
        reads: &["get_", "list_", "search_"],
        session: &[],
        varies: true,
    },
    Server {
        names: &["slack", "claude_ai_Slack"],
        reads: &["slack_get_", "slack_list_", "slack_read_", "slack_search_"],
        session: &[],
        varies: true,
    },
    Server {
        names: &["notion", "claude_ai_Notion"],
        reads: &["notion-fetch", "notion-search", "API-get", "API-retrieve", "API-post-search"],
        session: &[],
        varies: true,
    },
];

/// The server and the tool of a joined name.
fn parts(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?.split_once("__")
}

fn server(name: &str) -> Option<&'static Server> {
    SERVERS.iter().find(|server| server.names.contains(&name))
}

/// What a tool of a known server does.
pub(super) fn effect(tool: &str) -> Option<Effect> {
    let (name, tool) = parts(tool)?;
    let server = server(name)?;
    let starts = |names: &[&str]| names.iter().any(|start| tool.starts_with(start));
    Some(match () {
        () if starts(server.reads) => Effect::ReadOnly,
        () if starts(server.session) => Effect::Session,
        () => Effect::Mutates,
    })
}

/// Whether what a tool of a known server reads changes by others' doing.
pub(super) fn varies(tool: &str) -> bool {
    parts(tool).and_then(|(name, _)| server(name)).is_some_and(|server| server.varies)
}

/// The servers, for `toolreplay explain`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SERVERS.iter().map(|server| server.names[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_servers_are_judged_by_the_tool() {
        for (tool, expected) in [
            ("mcp__github__get_issue", Some(Effect::ReadOnly)),
            ("mcp__github__create_issue", Some(Effect::Mutates)),
            ("mcp__memory__add_observations", Some(Effect::Session)),
            ("mcp__own__get_issue", None),
            ("get_issue", None),
        ] {
            assert_eq!(effect(tool), expected, "{tool}");
        }
        assert!(varies("mcp__fetch__fetch") && !varies("mcp__filesystem__read_file"));
    }
}
