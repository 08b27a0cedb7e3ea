"""Starts the stand-in, a relay that remembers its bytes, and the proxy; runs the clients; checks the captures.

usage: check.py BINARY FOLDER    (called by run.sh)
"""

import collections
import http.client
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
BINARY, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
NODE = FOLDER / "node_modules/.bin/node"
passed = failed = 0


def check(name, ok, why=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    print("ok  " if ok else "FAIL", name, "" if ok else why, flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(what, ready, seconds=20):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            sys.exit(f"gave up waiting: {what}")
        time.sleep(0.02)


class Relay:
    """Passes connections on to the stand-in and keeps what comes back: what a client gets without the proxy."""

    def __init__(self, target):
        self.target, self.reply_bytes = target, bytearray()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            upstream = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.pump, args=(client, upstream, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(upstream, client, True), daemon=True).start()

    def forget(self):
        self.reply_bytes = bytearray()

    def reply(self):
        """The bytes of the one exchange since `forget`."""
        return self.reply_bytes

    def pump(self, source, sink, is_reply):
        try:
            while data := source.recv(65536):
                if is_reply:
                    self.reply_bytes += data
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def parse(data):
    class Source:
        def makefile(self, *_):
            return io.BytesIO(bytes(data))

    reply = http.client.HTTPResponse(Source())
    reply.begin()
    return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()


def exchange(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"content-type": "application/json", "authorization": "Bearer key-of-the-byte-check", "x-api-key": "k", "anthropic-version": "2023-06-01"}
    connection.request("POST", path, json.dumps(body), headers)
    reply = connection.getresponse()
    result = reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    connection.close()
    return result


def byte_checks(relay, port):
    """What the client gets equals what the stand-in sent: status, headers, body."""
    user = lambda text: [{"role": "user", "content": text}]
    for path, body in [
        ("/v1/chat/completions", {"messages": user("one city")}),
        ("/v1/chat/completions", {"messages": user("hello")}),
        ("/v1/chat/completions", {"messages": user("too many")}),
        ("/v1/responses", {"input": user("two cities")}),
        ("/v1/messages", {"messages": user("two cities"), "max_tokens": 9}),
        ("/v1/embeddings", {"input": "passed through"}),
    ]:
        for stream in (False, True):
            relay.forget()
            status, headers, got = exchange(port, path, dict(body, model="m", stream=stream))
            sent_status, sent_headers, sent = parse(relay.reply())
            own = {"connection", "keep-alive", "transfer-encoding", "set-cookie"}
            differ = {k for k, v in sent_headers.items() if k not in own and headers.get(k) != v}
            differ |= {k for k in headers if k not in sent_headers and k not in own and not k.startswith("x-toolreplay-")}
            same = (status, got) == (sent_status, sent) and not differ
            check(f"same bytes {path} {json.dumps(body)} stream={stream}", same, f"{status} {differ} {got[:300]} {sent[:300]}")


CALLS = {"one": [("call_lisbon", "Lisbon")], "two": [("call_lisbon", "Lisbon"), ("call_osaka", "大阪 ☔")]}


def shown(folder):
    out = subprocess.run([BINARY, "trace", "show", str(folder)], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def session_checks(folder):
    """Every tool loop is one session of two requests, its calls and results in their places."""
    loops = collections.defaultdict(list)
    whole = shown(folder)
    for session in whole["sessions"]:
        for capture in session["captures"]:
            text = json.dumps(capture["spans"][0]["input"]["request"], ensure_ascii=False)
            case = re.search(r"\[case:([\w-]+)\]", text)
            if case:
                loops[case[1]].append((session["session_id"], capture))
    for case, found in sorted(loops.items()):
        spans = [capture["spans"][0] for _, capture in found]
        unfinished = [capture["path"] for _, capture in found if capture["capture_summary"] is None or capture["errors"]]
        if case == "openai_many_at_once":
            check(case, len(found) == 30 and not unfinished and all(span["status"] == "ok" for span in spans), f"{len(found)} {unfinished}")
        elif case == "openai_rate_limited":
            check(case, [span["output"]["http_status"] for span in spans] == [429] and spans[0]["status"] == "error", spans)
        elif case == "openai_closed_early":
            check(case, [span["status"] for span in spans] == ["cancelled"] and spans[0]["output"]["error_type"] == "client_disconnected", spans)
        else:
            want = CALLS[case[-3:]]
            asked = [(call["id"], call["arguments"]["city"]) for call in spans[0]["output"]["model_requested_tools"]]
            told = [result["id"] for result in spans[-1]["input"]["agent_reported_tool_results"]]
            linked = len({session for session, _ in found}) == 1 and spans[-1]["input"]["association"] in ("tool_call_reference", "response_reference")
            fine = len(found) == 2 and linked and asked == want and told == [i for i, _ in want] and not unfinished
            fine = fine and all(span["status"] == "ok" and not span["output"]["capture_issues"] for span in spans)
            check(case, fine, json.dumps([span["input"] | span["output"] for span in spans], ensure_ascii=False)[:3000])
    return len(loops)


def toolreplay(*arguments, **options):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, **options)


def audit_checks(folder, temporary):
    """What was recorded is audited, sealed and verified; an edit of the evidence is found."""
    requests = [capture["spans"][0] for session in shown(folder)["sessions"] for capture in session["captures"]]
    asked = sum(len(span["output"]["model_requested_tools"]) for span in requests)
    told = sum(len(span["input"]["agent_reported_tool_results"]) for span in requests)
    scope = temporary / "scope.json"
    for allowed, code in ((["temperature"], 0), (["read_file"], 1)):
        scope.write_text(json.dumps({"agent": "weather", "allowed_tools": allowed}))
        ran = toolreplay("audit", "--no-config", "--format", "json", "--scope", scope, folder)
        report = json.loads(ran.stdout)
        found = collections.Counter(finding["kind"] for finding in report["findings"])
        check(f"audit of the captures, {allowed}", ran.returncode == code and (found["permission-overreach"] == asked) == (code == 1), f"{ran.returncode} {ran.stderr} {ran.stdout[:3000]}")
        books = [file["import"] for file in report["files"]]
        sums = [sum(book[name] for book in books) for name in ("files", "records", "results_in", "orphans")]
        check("every call and result is in the books", sums == [len(requests), asked, told, 0], f"{sums} {len(requests)} {asked} {told}")
        seen = sum(warning["count"] for book in books for warning in book["warnings"] if warning["code"] == "NOT_OBSERVED")
        check("no execution is claimed", seen == asked, seen)

    transcript, sealed = temporary / "session.jsonl", temporary / "session.sealed.jsonl"
    ran = toolreplay("import", folder, "--output", transcript)
    records = [json.loads(line) for line in transcript.read_text().splitlines()]
    marked = all(record["response"]["$import"]["execution"] == "not_observed" for record in records)
    check("import", ran.returncode == 0 and len(records) == asked and marked, f"{ran.stderr} {records[:3]}")
    answered = sum("content" in record["response"] for record in records)
    check("the results are the ones that were reported", answered == len([1 for record in records if record["response"]["$import"].get("status") != "no_result"]) and 0 < answered <= told, answered)
    ran = toolreplay("seal", transcript, "--output", sealed)
    check("seal", ran.returncode == 0, ran.stderr)
    ran = toolreplay("verify", sealed)
    check("verify", ran.returncode == 0 and "chain: intact" in ran.stdout, ran.stdout + ran.stderr)
    sealed.write_text(sealed.read_text().replace("Lisbon", "Boston", 1))
    check("an edit is found", toolreplay("verify", sealed).returncode == 1)

    silent = next(capture["path"] for session in shown(folder)["sessions"] for capture in session["captures"] if len(session["captures"]) == 1 and not capture["spans"][0]["output"]["model_requested_tools"])
    ran = toolreplay("audit", "--no-config", "--format", "json", silent)
    check("captures without a call prove nothing", ran.returncode == 2 and json.loads(ran.stdout)["verdict"] == "inconclusive", ran.stdout[:2000])


def secret_checks(folder, log):
    texts = [path.read_text() for path in folder.glob("*.jsonl")] + [log.read_text()]
    check("no key in any capture or in the log", not any("sk-key-of" in text for text in texts))


def main():
    temporary = pathlib.Path(tempfile.mkdtemp())
    processes = []

    def start(command, log, **options):
        process = subprocess.Popen(command, stdout=open(log, "w"), stderr=subprocess.STDOUT, **options)
        processes.append(process)
        return process

    try:
        mock = free_port()
        start([NODE, FOLDER / "node_modules/.bin/llmock", "-h", "127.0.0.1", "-p", str(mock), "-f", HERE / "fixtures.json", "--validate-on-load"], temporary / "mock.log")

        def listening():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", mock)) == 0

        wait_until("the stand-in listens", listening)
        relay = Relay(mock)
        folder, log = temporary / "captures", temporary / "proxy.log"
        proxy = start([BINARY, "trace", "proxy", "--upstream-base-url", f"http://127.0.0.1:{relay.port}/v1", "--port", "0", "--output-dir", folder], log)
        wait_until("the proxy listens", lambda: "listening on" in log.read_text())
        port = int(re.search(r"127\.0\.0\.1:(\d+)/v1 ->", log.read_text())[1])

        byte_checks(relay, port)
        base = f"http://127.0.0.1:{port}/v1"
        python = subprocess.run([sys.executable, HERE / "clients.py", base])
        check("Python clients", python.returncode == 0)
        # Modules are looked up beside the script, so it has to lie beside what is installed.
        shutil.copy(HERE / "clients.mjs", FOLDER / "clients.mjs")
        node = subprocess.run([NODE, FOLDER / "clients.mjs", base])
        check("Node clients", node.returncode == 0)

        proxy.send_signal(signal.SIGTERM)
        check("the proxy ends in order", proxy.wait(timeout=20) == 0)
        count = session_checks(folder)
        check("every case left captures", count == 15 * 2 + 3 + 4 * 2, count)
        audit_checks(folder, temporary)
        secret_checks(folder, log)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        if "KEEP" in os.environ:
            print("kept in", temporary)
        else:
            shutil.rmtree(temporary, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
