"""The comment on a pull request, against an API on this machine: comments.py BINARY WORK"""

import http.server
import json
import re
import sys
import threading

from scenarios import CLEAN, DIRTY, Repository, machine, pull_request, run, script, workflow

TOKEN = "secret-token-0123"


class Api:
    """As much of GitHub's API as is asked: comments of one pull request, and what code scanning says."""

    def __init__(self):
        self.comments = []
        self.requests = []
        self.writable = True
        self.scanning = (200, [])
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, value):
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                api.requests.append((self.command, self.path, self.headers.get("Authorization")))
                self.answer(*api.answer(self.command, self.path, body))

            do_GET = do_POST = do_PATCH = handle_any

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def add(self, body, kind="Bot", foreign=False):
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"type": kind}, "foreign": foreign})
        return self.comments[-1]

    def answer(self, method, path, body):
        refused = (403, {"message": "Resource not accessible by integration"})
        listing = re.fullmatch(r"/repos/o/r/issues/7/comments\?per_page=100&page=(\d+)", path)
        one = re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", path)
        if method == "GET" and listing:
            page = int(listing[1])
            return 200, [{name: comment[name] for name in ("id", "body", "user")} for comment in self.comments[100 * (page - 1):100 * page]]
        if method == "GET" and path.startswith("/repos/o/r/code-scanning/"):
            return self.scanning
        if not self.writable:
            return refused
        if method == "PATCH" and one:
            comment = self.comments[int(one[1]) - 1]
            if comment["foreign"]:
                return refused
            comment["body"] = body["body"]
            return 200, comment
        if method == "POST" and path == "/repos/o/r/issues/7/comments":
            return 201, self.add(body["body"])
        return 404, {"message": "Not Found"}


def step(api, name, text="", **more):
    file = machine.home / "comment.md"
    file.write_text(text)
    environment = {
        "GITHUB_API_URL": api.address, "GITHUB_REPOSITORY": "o/r", "TOKEN": TOKEN, "COMMENT_FILE": str(file), "EVENT_NUMBER": "7",
        "COMMENT_CATEGORY": "toolreplay", "GITHUB_EVENT_NAME": "pull_request",
    }
    return script(name, machine.home, environment | more)


def in_place():
    api = Api()
    assert "commented on" in step(api, "comment", "first\n").log
    done = step(api, "comment", "second \"quoted\" \\n \u00fc\n")
    assert done.code == 0 and "brought up to date" in done.log, done.log
    assert [comment["body"] for comment in api.comments] == ['<!-- toolreplay: toolreplay -->\nsecond "quoted" \\n \u00fc\n'], api.comments
    assert all(header == f"Bearer {TOKEN}" for _, _, header in api.requests), api.requests
    assert TOKEN not in done.log
    # another use of the action has a comment of its own
    step(api, "comment", "third\n", COMMENT_CATEGORY="nightly -->\n<b>")
    assert len(api.comments) == 2 and api.comments[1]["body"].startswith("<!-- toolreplay: nightly_--"), api.comments
    assert "-->" not in api.comments[1]["body"].splitlines()[0].removesuffix(" -->"), api.comments


def of_others():
    """A person's comment with our mark is not ours, and one that may not be written is passed over."""
    api = Api()
    for number in range(120):
        api.add(f"comment {number}", kind="User")
    api.add("<!-- toolreplay: toolreplay -->\nforged", kind="User")
    api.add("<!-- toolreplay: toolreplay -->\nanother bot's", foreign=True)
    step(api, "comment", "ours\n")
    assert len(api.comments) == 123 and api.comments[-1]["body"].endswith("ours\n"), api.comments[-2:]
    assert api.comments[120]["body"].endswith("forged") and api.comments[121]["body"].endswith("bot's")
    step(api, "comment", "again\n")
    assert len(api.comments) == 123 and api.comments[-1]["body"].endswith("again\n"), api.comments[-2:]


def refused():
    api = Api()
    api.writable = False
    done = step(api, "comment", "x\n")
    assert done.code == 0 and "::notice" in done.log and "Resource not accessible by integration" in done.log, done.log
    done = step(api, "comment", "x\n", EVENT_NUMBER="")
    assert done.code == 0 and "is about no pull request" in done.log, done.log
    done = step(api, "comment", "x\n", GITHUB_API_URL="http://127.0.0.1:9")
    assert done.code == 0 and "GitHub answers 000" in done.log, done.log


def long():
    api = Api()
    step(api, "comment", "".join(f"line {number} {'x' * 80}\n" for number in range(2_000)))
    body = api.comments[0]["body"]
    assert 50_000 < len(body) < 65_536 and body.endswith("The rest is in the summary of the job.\n"), len(body)


def uploads():
    """A failed upload is blamed on what it was."""
    api = Api()
    for scanning, words in [
        ((200, []), "the upload itself failed"),
        ((403, {"message": "Code scanning is not enabled for this repository."}), "Code scanning is not enabled"),
        ((404, {"message": "no analysis found"}), "has no code scanning"),
        ((500, {"message": "x"}), "GitHub answers 500"),
    ]:
        api.scanning = scanning
        done = step(api, "not-uploaded")
        assert done.code == 0 and words in done.log and "::notice" in done.log, done.log
        assert words in (done.records / "summary").read_text()
    done = step(api, "not-uploaded", EVENT_FORK="true")
    assert "from a fork may not upload" in done.log, done.log
    done = step(api, "not-uploaded", GITHUB_API_URL="http://127.0.0.1:9")
    assert "could not be asked" in done.log, done.log
    api.scanning = (403, {"message": "x\n::error::forged"})
    done = step(api, "not-uploaded")
    assert not [line for line in done.log.splitlines() if line.startswith("::error")], done.log


def in_a_workflow():
    """The whole way: the action runs, and its step asks the API."""
    for text, words in [(CLEAN, "## toolreplay audit: passed"), (DIRTY, "redundant-call")]:
        api = Api()
        repository = Repository(machine)
        repository.write({"README": "x\n"})
        first = repository.commit("base")
        repository.write({"runs/a.jsonl": text})
        second = repository.commit("head")
        inputs = {"paths": "runs", "binary": str(machine.binary), "comment": True, "github-token": TOKEN, "summary": False}
        payload = pull_request(first, second)
        payload["pull_request"]["number"] = payload["number"] = 7
        ran = run(repository, workflow(inputs, "pull_request"), "pull_request", payload,
                  environment={"GITHUB_API_URL": api.address, "GITHUB_REPOSITORY": "o/r"})
        assert ran.passed == (text is CLEAN), ran.described()
        assert len(api.comments) == 1 and words in api.comments[0]["body"], (api.requests, api.comments, ran.described())
        assert ran.summary == "", ran.summary


if __name__ == "__main__":
    for scenario in [in_place, of_others, refused, long, uploads, in_a_workflow]:
        if sys.argv[3:] and scenario.__name__ not in sys.argv[3:]:
            continue
        scenario()
        print(f"action: comment {scenario.__name__}: ok", flush=True)
