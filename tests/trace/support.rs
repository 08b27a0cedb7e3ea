//! A scripted upstream, a raw client and the proxy's process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolreplay::trace::event::{Event, Phase};
use toolreplay::trace::read;

/// What an upstream received.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

type Script = Arc<dyn Fn(&Received, &mut TcpStream) + Send + Sync>;

/// An HTTP server on loopback that answers with whatever bytes its script writes. A connection is kept for more
/// requests while the script leaves it open.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) received: Arc<Mutex<Vec<Received>>>,
}

impl Upstream {
    pub(crate) fn start(script: impl Fn(&Received, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (log, script): (_, Script) = (received.clone(), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (log, script) = (log.clone(), script.clone());
                std::thread::Builder::new().stack_size(256 << 10).spawn(move || serve(stream, &log, &script)).unwrap();
            }
        });
        Self { address, received }
    }

    /// One that answers every request with these bytes.
    pub(crate) fn fixed(reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        Self::start(move |_, stream| drop(stream.write_all(&reply)))
    }

    /// One that answers with these bytes and closes, as if it had been cut off.
    pub(crate) fn closing(reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        Self::start(move |_, stream| {
            let _ = stream.write_all(&reply);
            let _ = stream.shutdown(Shutdown::Both);
        })
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}/base/v1", self.address)
    }

    pub(crate) fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Received {
        self.received.lock().unwrap().last().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<Received>>, script: &Script) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = receive(&mut reader) {
        log.lock().unwrap().push(request.clone());
        script(&request, &mut stream);
    }
}

fn receive(reader: &mut impl BufRead) -> Option<Received> {
    let mut request = Received::default();
    reader.read_line(&mut request.line).ok().filter(|&n| n > 0)?;
    request.line.truncate(request.line.trim_end().len());
    request.headers = read_headers(reader)?;
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    if request.header("transfer-encoding").is_some() {
        request.body = read_chunked(reader).ok()?;
    }
    Some(request)
}

fn read_headers(reader: &mut impl BufRead) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
        let line = line.trim_end();
        if line.is_empty() {
            return Some(headers);
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn read_chunked(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Ok(size) = usize::from_str_radix(line.trim(), 16) else {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        };
        let start = body.len();
        body.resize(start + size, 0);
        if let Err(error) = reader.read_exact(&mut body[start..]) {
            body.truncate(start);
            return Err(error);
        }
        let mut end = String::new();
        reader.read_line(&mut end)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Waits until the other side has closed the connection.
pub(crate) fn wait_closed(stream: &mut TcpStream) {
    stream.set_read_timeout(None).unwrap();
    while matches!(stream.read(&mut [0; 512]), Ok(1..)) {}
}

/// A reply as the client got it.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The body ended as its framing says.
    pub(crate) whole: bool,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn request_id(&self) -> String {
        self.header("x-toolreplay-request-id").unwrap().to_owned()
    }
}

/// The bytes of a request. `head` is the request line without its version, then header lines.
pub(crate) fn request(head: &str, address: SocketAddr, body: &[u8]) -> Vec<u8> {
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let mut text = format!("{line} HTTP/1.1\r\n");
    if !headers.to_ascii_lowercase().contains("host:") {
        text += &format!("host: {address}\r\n");
    }
    for header in headers.lines() {
        text += &format!("{header}\r\n");
    }
    if !body.is_empty() {
        text += &format!("content-length: {}\r\n", body.len());
    }
    text += "\r\n";
    [text.as_bytes(), body].concat()
}

/// Sends and reads one reply.
pub(crate) fn exchange(address: SocketAddr, head: &str, body: impl AsRef<[u8]>) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&request(head, address, body.as_ref())).unwrap();
    read_reply(&mut BufReader::new(stream))
}

/// Reads one reply.
pub(crate) fn read_reply(reader: &mut impl BufRead) -> Reply {
    let (status, headers) = read_head(reader);
    let mut reply = Reply { status, headers, body: Vec::new(), whole: true };
    if reply.header("transfer-encoding").is_some() {
        let mut body = Vec::new();
        reply.whole = read_chunks(reader, &mut body).is_ok();
        reply.body = body;
    } else if let Some(length) = reply.header("content-length").map(|length| length.parse::<u64>().unwrap()) {
        reply.whole = reader.take(length).read_to_end(&mut reply.body).is_ok_and(|read| read as u64 == length);
    } else if !matches!(status, 204 | 304) {
        reply.whole = reader.read_to_end(&mut reply.body).is_ok();
    }
    reply
}

/// Reads the head of one reply.
pub(crate) fn read_head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status line: {line:?}")).parse().unwrap();
    (status, read_headers(reader).unwrap())
}

/// Reads chunks up to the last one, keeping what came when they break off.
pub(crate) fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> std::io::Result<()> {
    while read_chunk(reader, body)? {}
    Ok(())
}

/// Reads one chunk; false at the last.
pub(crate) fn read_chunk(reader: &mut impl BufRead, body: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let size = usize::from_str_radix(line.trim(), 16).map_err(|_| std::io::ErrorKind::UnexpectedEof)?;
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk)?;
    body.extend_from_slice(&chunk[..size]);
    Ok(size > 0)
}

/// Chunked transfer coding of these pieces, ended.
pub(crate) fn chunked<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

pub(crate) const SSE_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// A whole chunked event stream.
pub(crate) fn sse(body: &[u8]) -> Vec<u8> {
    [SSE_HEAD, &chunked([body])].concat()
}

/// A whole JSON reply that closes its connection.
pub(crate) fn json_reply(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// One Chat Completions stream frame.
pub(crate) fn frame(delta: &Value, finish: Option<&str>) -> String {
    format!(
        "data: {}\n\n",
        json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    )
}

/// A stream that asks for `read_file` twice, and is finished.
pub(crate) fn tool_stream() -> String {
    let call = |index: u32, id: &str, part: &str| {
        let mut call = json!({"index": index, "function": {"arguments": part}});
        if !id.is_empty() {
            call["id"] = id.into();
            call["type"] = "function".into();
            call["function"]["name"] = "read_file".into();
        }
        frame(&json!({"tool_calls": [call]}), None)
    };
    [
        frame(&json!({"role": "assistant", "content": ""}), None),
        call(0, "call_a", ""),
        call(0, "", "{\"path\":\"é"),
        call(1, "call_b", "{\"path\":"),
        call(0, "", "東🌦.md\"}"),
        call(1, "", "\"b.md\"}"),
        frame(&json!({}), Some("tool_calls")),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

pub(crate) const CHAT: &str =
    "POST /v1/chat/completions\ncontent-type: application/json\nauthorization: Bearer sk-test-0123456789abcdefghij";

pub(crate) fn chat_body() -> String {
    json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hello"}]}).to_string()
}

/// The proxy's process and its folder.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    pub(crate) folder: PathBuf,
    pub(crate) child: Child,
    log: Arc<Mutex<String>>,
    _temporary: tempfile::TempDir,
}

impl Proxy {
    pub(crate) fn start(upstream: &Upstream, flags: &[&str]) -> Self {
        Self::with(&upstream.base(), flags, &[])
    }

    pub(crate) fn with(base: &str, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("captures");
        Self::at(base, flags, environment, folder, temporary)
    }

    pub(crate) fn at(
        base: &str,
        flags: &[&str],
        environment: &[(&str, &str)],
        folder: PathBuf,
        temporary: tempfile::TempDir,
    ) -> Self {
        // With a soft limit of descriptors as some systems set it.
        let mut child = Command::new("bash")
            .args(["-c", "ulimit -Sn 256; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_toolreplay")])
            .args(["trace", "proxy", "--upstream-base-url", base, "--port", "0", "--output-dir"])
            .arg(&folder)
            .args(flags)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (mut stderr, copy) = (child.stderr.take().unwrap(), log.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut buffer) {
                copy.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next())
            .map(|address| address.parse().unwrap());
        let address = address.unwrap_or_else(|| panic!("no address: {line:?} {}", log.lock().unwrap()));
        Self { address, folder, child, log, _temporary: temporary }
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn send(&self, head: &str, body: impl AsRef<[u8]>) -> Reply {
        exchange(self.address, head, body)
    }

    pub(crate) fn chat(&self, body: &Value) -> Reply {
        self.send(CHAT, body.to_string())
    }

    /// The finished capture of a reply.
    pub(crate) fn capture_of(&self, reply: &Reply) -> Captured {
        self.capture(&reply.request_id())
    }

    /// Waits for a capture to be finished, and checks it against the schema.
    pub(crate) fn capture(&self, id: &str) -> Captured {
        let path = self.folder.join(format!("{id}.jsonl"));
        eventually("the capture is finished", || read::read(&path).is_ok_and(|capture| capture.summary.is_some()));
        Captured::read(&path)
    }

    /// The only capture there is, finished.
    pub(crate) fn only_capture(&self) -> Captured {
        eventually("there is one capture", || self.files().len() == 1);
        let name = self.files()[0].file_stem().unwrap().to_string_lossy().into_owned();
        self.capture(&name)
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.folder)
            .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
            .unwrap_or_default();
        files.sort();
        files
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(
            Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status().unwrap().success()
        );
    }

    /// Resident memory in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A finished capture.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) start: Event,
    pub(crate) end: Event,
    pub(crate) text: String,
}

impl Captured {
    pub(crate) fn read(path: &Path) -> Self {
        let capture = read::read(path).unwrap();
        assert_eq!(capture.errors, [], "{}", path.display());
        let text = std::fs::read_to_string(path).unwrap();
        super::schema::check(&text);
        let of = |phase: Phase| capture.events.iter().find(|(_, event)| event.phase == phase).unwrap().1.clone();
        Self { start: of(Phase::Start), end: of(Phase::End), text }
    }

    pub(crate) fn issues(&self) -> Vec<&str> {
        self.end.data["capture_issues"].as_array().unwrap().iter().map(|issue| issue.as_str().unwrap()).collect()
    }

    pub(crate) fn status(&self) -> String {
        serde_json::to_value(self.end.status).unwrap().as_str().unwrap().to_owned()
    }

    pub(crate) fn error_type(&self) -> &str {
        self.end.data["error_type"].as_str().unwrap_or("none")
    }

    /// `name(arguments)` of each call asked for.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.end.data["model_requested_tools"].as_array().unwrap();
        calls.iter().map(|call| format!("{}({})", call["name"].as_str().unwrap_or("?"), call["arguments"])).collect()
    }

    pub(crate) fn session(&self) -> &str {
        self.start.data["session_id"].as_str().unwrap()
    }

    pub(crate) fn association(&self) -> &str {
        self.start.data["association"].as_str().unwrap()
    }
}

/// Waits for something to become true, as long as the machine takes. What never comes is told after minutes.
pub(crate) fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if check() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("still waiting: {what}");
}

/// Files of a folder by name.
pub(crate) fn texts(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(entry.path()).unwrap()))
        .collect()
}
