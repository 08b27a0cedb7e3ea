//! Whose lists count: a sub-agent under its own name or kind where the recording gives one, else under those of the agent
//! that started it.

use crate::{Ran, toolreplay};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn run(folder: &Path, args: &[&str]) -> Ran {
    toolreplay().current_dir(folder).args(args).output().unwrap().into()
}

/// Records of a Claude Code session: who calls, what with, and the agent that the call starts.
#[derive(Default)]
struct Session {
    lines: String,
    number: u32,
}

impl Session {
    fn record(&mut self, agent: Option<&str>, mut record: Value) {
        self.number += 1;
        let number = self.number;
        record["uuid"] = json!(format!("u{number}"));
        record["sessionId"] = json!("s");
        record["cwd"] = json!("/repo");
        record["timestamp"] = json!(format!("2026-11-01T10:{:02}:{:02}Z", number / 60, number % 60));
        if let Some(agent) = agent {
            record["isSidechain"] = json!(true);
            record["agentId"] = json!(agent);
        }
        self.lines += &format!("{record}\n");
    }

    fn call(&mut self, agent: Option<&str>, tool: &str, input: &Value, starts: Option<&str>) {
        let id = format!("toolu_{}", self.number);
        let block = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.record(agent, json!({"type": "assistant", "message": {"role": "assistant", "content": [block]}}));
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": format!("done {}", self.number)});
        let mut result = json!({"type": "user", "message": {"role": "user", "content": [block]}});
        if let Some(started) = starts {
            result["toolUseResult"] = json!({"agentId": started, "status": "completed"});
        }
        self.record(agent, result);
    }
}

const SCOPE: &str = r#"{"version": 2, "agents": {
    "main": {"allowed_tools": ["Bash", "Task"]},
    "Explore": {"allowed_tools": ["Grep", "Task", "WebSearch"]},
    "*": {"allowed_tools": ["Read", {"tool": "Bash", "command": {"arg": "command", "prefixes": ["chmod"]}}]}}}"#;

/// Agents: of a kind that has lists, of none, of a kind without lists, and one of no kind that the first of them started.
fn session() -> String {
    let mut session = Session::default();
    let starts = [
        (None, "x1", json!({"prompt": "a", "subagent_type": "Explore"})),
        (None, "x2", json!({"prompt": "b"})),
        (None, "x3", json!({"prompt": "c", "subagent_type": "Plan"})),
        (Some("x1"), "x4", json!({"prompt": "d"})),
    ];
    let agents = ["x1", "x2", "x3", "x4"];
    // the calls stand before the call that started their agent is answered
    for agent in agents {
        for tool in ["Bash", "Grep", "Read"] {
            session.call(Some(agent), tool, &json!({"command": format!("ls {agent}"), "for": agent}), None);
        }
    }
    for (agent, started, input) in starts {
        session.call(agent, "Task", &input, Some(started));
    }
    session.lines
}

/// The findings of the scope: agent and tool.
fn overreach(folder: &Path, recording: &str) -> (Vec<String>, Vec<String>) {
    let ran = run(folder, &["audit", recording, "--scope", "scope.json", "--format", "json", "--no-config"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let findings = report["findings"].as_array().unwrap().iter();
    let mut found: Vec<String> = findings
        .filter(|finding| finding["kind"] == "permission-overreach")
        .map(|finding| format!("{} {}", finding["index"], finding["tool"].as_str().unwrap()))
        .collect();
    found.sort();
    let remarks = ran.stderr.lines().filter(|line| line.contains("allows nothing")).map(str::to_owned).collect();
    (found, remarks)
}

#[test]
fn a_sub_agent_is_judged_by_its_kind_or_by_who_started_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.jsonl"), session()).unwrap();
    fs::write(folder.path().join("scope.json"), SCOPE).unwrap();
    let mut expected = vec!["0 Bash", "2 Read"]; // Explore
    expected.extend(["4 Grep", "5 Read"]); // as the main agent
    expected.extend(["6 Bash", "7 Grep"]); // as all others
    expected.extend(["9 Bash", "11 Read"]); // as the one that started it
    expected.sort_unstable();
    let (found, remarks) = overreach(folder.path(), "s.jsonl");
    assert_eq!(found, expected);
    // an entry counts for those lists alone that apply
    let unused = ["agents.Explore.allowed_tools[2]", "agents.*.allowed_tools[1]"];
    assert_eq!(remarks.len(), unused.len(), "{remarks:?}");
    for entry in unused {
        assert!(remarks.iter().any(|remark| remark.contains(entry)), "{entry}: {remarks:?}");
    }
    // and the transcript says the same
    let ran = run(folder.path(), &["import", "s.jsonl", "-o", "t.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(overreach(folder.path(), "t.jsonl"), (found, remarks));
}

/// The records of an agent in a file of its own, whose kind the file beside it says.
#[test]
fn the_file_beside_an_agents_says_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let mut main = Session::default();
    main.call(None, "Task", &json!({"prompt": "a"}), None);
    let mut own = Session { number: 10, ..Session::default() };
    own.call(Some("x1"), "Grep", &json!({"pattern": "a"}), None);
    own.call(Some("x1"), "Bash", &json!({"command": "ls"}), None);
    let agents = folder.path().join("s/subagents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(folder.path().join("s.jsonl"), main.lines).unwrap();
    fs::write(folder.path().join("scope.json"), SCOPE).unwrap();
    fs::write(agents.join("agent-x1.jsonl"), own.lines).unwrap();
    assert_eq!(overreach(folder.path(), "s.jsonl").0, ["1 Grep"], "the main agent's lists");
    for beside in [json!({"agentType": "Explore", "toolUseId": "toolu_0"}), json!({"agentType": "Explore"})] {
        fs::write(agents.join("agent-x1.meta.json"), beside.to_string()).unwrap();
        assert_eq!(overreach(folder.path(), "s.jsonl").0, ["2 Bash"], "{beside}");
    }
}

/// What another agent's lists allow silences nothing.
#[test]
fn a_danger_is_silenced_by_the_lists_that_apply() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::default();
    for agent in [None, Some("x1"), Some("x3")] {
        let command = format!("chmod 777 {}", agent.unwrap_or("main"));
        session.call(agent, "Bash", &json!({ "command": command }), None);
    }
    session.call(None, "Task", &json!({"subagent_type": "Explore"}), Some("x1"));
    session.call(None, "Task", &json!({"subagent_type": "Plan"}), Some("x3"));
    fs::write(folder.path().join("s.jsonl"), session.lines).unwrap();
    fs::write(folder.path().join("scope.json"), SCOPE).unwrap();
    let ran = run(folder.path(), &["import", "s.jsonl", "-o", "t.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for recording in ["s.jsonl", "t.jsonl"] {
        let args = ["audit", recording, "--scope", "scope.json", "--format", "json", "--no-config"];
        let report: Value = serde_json::from_str(&run(folder.path(), &args).stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let dangers: Vec<&Value> =
            findings.filter(|finding| finding["kind"] == "dangerous-call").map(|finding| &finding["index"]).collect();
        // the main agent may run anything, all others but Explore may run this
        assert_eq!(dangers, [&json!(1)], "{recording}");
    }
}

/// An agent without lists, where none are for all others.
#[test]
fn whoever_has_no_lists_may_call_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.jsonl"), session()).unwrap();
    let scope = r#"{"version": 2, "agents": {"main": {"allowed_tools": ["*"]}, "Explore": {"allowed_tools": ["*"]}}}"#;
    fs::write(folder.path().join("scope.json"), scope).unwrap();
    assert_eq!(overreach(folder.path(), "s.jsonl").0, ["6 Bash", "7 Grep", "8 Read"]);
}

/// A sub-agent's hook names its kind; one that gives an id alone is the main agent's.
#[test]
fn a_hook_tells_agents_apart_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scope.json"), SCOPE).unwrap();
    for (agent, decision) in [
        (json!({}), "deny"),
        (json!({"agent_id": "x1", "agent_type": "Explore"}), "allow"),
        (json!({"agent_id": "x2"}), "deny"),
        (json!({"agent_id": "x2", "agent_type": "Plan"}), "deny"),
    ] {
        let mut call = json!({"tool_name": "Grep", "tool_input": {"pattern": "x"}, "cwd": "/repo"});
        call.as_object_mut().unwrap().extend(agent.as_object().unwrap().clone());
        let ran = crate::run_on(
            call.to_string().as_bytes(),
            ["policy", "hook", "claude", "--scope", folder.path().join("scope.json").to_str().unwrap()],
        );
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], decision, "{agent}");
    }
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/repo", "agent_id": "x2"});
    for decision in ["allow", "deny"] {
        let scope = folder.path().join("scope.json");
        let ran = crate::run_on(
            call.to_string().as_bytes(),
            ["policy", "hook", "claude", "--scope", scope.to_str().unwrap()],
        );
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], decision, "{call}");
        call["agent_type"] = json!("Plan");
    }
}
