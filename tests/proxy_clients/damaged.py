"""Damaged replies, and what real clients read of them: whatever calls a client finds are in the capture, or the audit fails.

usage: damaged.py BINARY FOLDER    (called by run.sh)
"""

import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai

HERE = pathlib.Path(__file__).parent
BINARY, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
NODE = FOLDER / "node_modules/.bin/node"
JSON, EVENTS, TEXT = "application/json", "text/event-stream", "text/plain"


def call(number=1, name="look", **more):
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps({"n": number})}} | more


def message(*calls):
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": list(calls)}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def chunk(delta, reason=None):
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return f"data: {json.dumps(body)}\n\n"


WHOLE = json.dumps(message(call())).encode()
PIECES = [
    {"tool_calls": [call(index=0) | {"function": {"name": "look", "arguments": ""}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '{"n": '}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]},
]
STREAM = "".join([*map(chunk, PIECES), chunk({}, "tool_calls"), "data: [DONE]\n\n"]).encode()
LATE = (chunk({"tool_calls": [call(2, "late", index=1)]}) + chunk({}, "tool_calls")).encode()
WAITING = chunk(PIECES[0]) + chunk({"tool_calls": [{"index": 1, "function": {"arguments": '{"n": 1}'}}]})
STRAYED = (WAITING + chunk({}, "tool_calls") + "data: [DONE]\n\n").encode()

# Each: whether a stream is asked for, the label, the encoding, and the body in the pieces that it is sent in.
CASES = {
    "json": (False, JSON, None, [WHOLE]),
    "json-as-text": (False, TEXT, None, [WHOLE]),
    "json-without-type": (False, None, None, [WHOLE]),
    "json-as-events": (False, EVENTS, None, [WHOLE]),
    "json-with-mark": (False, JSON, None, [b"\xef\xbb\xbf" + WHOLE]),
    "json-utf16": (False, JSON, None, [WHOLE.decode().encode("utf-16")]),
    "json-nan": (False, JSON, None, [WHOLE.replace(b"{", b'{"score": NaN, ', 1)]),
    "json-deep": (False, JSON, None, [WHOLE.replace(b"{", b'{"deep": ' + b"[" * 200 + b"]" * 200 + b", ", 1)]),
    "json-bad-utf8": (False, JSON, None, [WHOLE.replace(b'"c"', b'"\xff"', 1)]),
    "json-unknown-encoding": (False, JSON, "x-own", [WHOLE]),
    "json-not-gzip": (False, JSON, "gzip", [WHOLE]),
    "json-gzip-cut": (False, JSON, "gzip", [gzip.compress(WHOLE)[:-8]]),
    "json-gzip-half": (False, JSON, "gzip", [gzip.compress(WHOLE)[:60]]),
    "json-cut": (False, JSON, None, [WHOLE[:-4]]),
    "json-page": (False, JSON, None, [b"<html>busy</html>"]),
    "stream": (True, EVENTS, None, [STREAM]),
    "stream-as-json": (True, JSON, None, [STREAM]),
    "stream-as-text": (True, TEXT, None, [STREAM]),
    "stream-without-type": (True, None, None, [STREAM]),
    "stream-with-mark": (True, EVENTS, None, [b"\xef\xbb\xbf" + STREAM]),
    "stream-unknown-encoding": (True, EVENTS, "x-own", [STREAM]),
    "stream-gzip-cut": (True, EVENTS, "gzip", [gzip.compress(STREAM)[:-8]]),
    "stream-without-end": (True, EVENTS, None, [STREAM.replace(b"data: [DONE]\n\n", b"")]),
    "stream-unterminated": (True, EVENTS, None, [STREAM.rstrip()]),
    "stream-late-call": (True, EVENTS, None, [STREAM, LATE]),
    "stream-strayed": (True, EVENTS, None, [STRAYED]),
    "stream-broken-event": (True, EVENTS, None, [b"data: {'a\n\n" + STREAM]),
    "stream-of-json": (True, EVENTS, None, [WHOLE]),
}


class Standin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        _, label, encoding, pieces = CASES[body["model"].split("/")[-1]]
        self.send_response(200)
        for name, value in (("content-type", label), ("content-encoding", encoding), ("transfer-encoding", "chunked")):
            if value:
                self.send_header(name, value)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def python_reads(base, case, stream):
    """The names of the calls that the client hands to its program."""
    client = openai.OpenAI(base_url=base, api_key="sk-key-of-python-0123456789", max_retries=0, timeout=30)
    ask = {"model": case, "messages": [{"role": "user", "content": "hello"}]}
    found = {}
    try:
        if not stream:
            reply = client.chat.completions.create(**ask)
            return [one.function.name for one in reply.choices[0].message.tool_calls or []], None
        for part in client.chat.completions.create(stream=True, **ask):
            for one in (part.choices[0].delta.tool_calls if part.choices else None) or []:
                found[one.index] = found.get(one.index) or one.function.name
    except Exception as error:
        return [name for name in found.values() if name], type(error).__name__
    return [name for name in found.values() if name], None


def main():
    temporary = pathlib.Path(tempfile.mkdtemp())
    standin = ThreadingHTTPServer(("127.0.0.1", 0), Standin)
    threading.Thread(target=standin.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{standin.server_address[1]}/v1"
    shutil.copy(HERE / "damaged.mjs", FOLDER / "damaged.mjs")
    failed = 0
    print(f"{'reply':26} {'openai, Python':22} {'openai, npm':22} {'ai':22} {'captured':16} audit")
    try:
        for case, (stream, *_) in CASES.items():
            folder = temporary / case
            proxy = subprocess.Popen([BINARY, "trace", "proxy", "--upstream-base-url", upstream, "--port", "0", "--output-dir", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            try:
                base = re.search(r"http://\S+", proxy.stdout.readline())[0]
                read = {"python": python_reads(base, case, stream)}
                ran = subprocess.run([NODE, FOLDER / "damaged.mjs", base, case, "stream" if stream else ""], capture_output=True, text=True)
                read |= {name: tuple(value) for name, value in json.loads(ran.stdout).items()} if ran.returncode == 0 else sys.exit(ran.stderr)
            finally:
                proxy.send_signal(signal.SIGTERM)
                proxy.wait(timeout=30)
            ends = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
            replies = [[one["name"] for one in end["data"]["model_requested_tools"]] for end in ends if end.get("phase") == "end"]
            audit = subprocess.run([BINARY, "audit", "--no-config", "--allow-empty", "--fail-on", "error", folder], capture_output=True, text=True)
            lost = any(name not in captured for names, _ in read.values() for name in names for captured in replies)
            fine = len(replies) == len(read) and audit.returncode in (0, 2) and (audit.returncode == 2 or not lost)
            failed += not fine
            shown = [",".join(names) or error or "-" for names, error in read.values()]
            print(f"{case:26} " + " ".join(f"{text[:21]:22}" for text in shown), f"{','.join(replies[0]) or '-':16} {'fails' if audit.returncode == 2 else 'passes'}{'' if fine else '   WRONG'}", flush=True)
    finally:
        standin.shutdown()
        if "KEEP" not in os.environ:
            shutil.rmtree(temporary, ignore_errors=True)
    print(f"{len(CASES)} damaged replies, {failed} wrong")
    sys.exit(1 if failed else 0)


main()
