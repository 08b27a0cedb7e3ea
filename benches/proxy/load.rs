//! A model stand-in, a load generator and a yardstick for the recording proxy, on loopback only.
//!
//! ```text
//! proxy_load upstream                                prints its port, then answers until it is killed
//! proxy_load relay PORT                              prints its port, then passes on to PORT and looks at nothing
//! proxy_load json PORT CLIENTS REQUESTS [BYTES]      requests one after another on each client's connection
//! proxy_load sse PORT STREAMS CHUNKS RATE            streams at RATE chunks a second each
//! ```
//!
//! The stand-in stamps every chunk with the time it was sent, and the load generator compares: both run on one
//! machine with one clock, so each chunk's way through a proxy is measured and not only the distance between two.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measuring tool: it fails loudly"
)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

type Connection = BufReader<TcpStream>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<usize>().ok());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    match (arguments.first().map(String::as_str), number(1), number(2), number(3)) {
        (Some("upstream"), ..) => runtime.block_on(upstream()),
        (Some("relay"), Some(port), ..) => runtime.block_on(relay(port)),
        (Some("json"), Some(port), Some(clients), Some(requests)) => {
            runtime.block_on(json(port, clients, requests, number(4).unwrap_or(0)));
        }
        (Some("sse"), Some(port), Some(streams), Some(chunks)) => {
            runtime.block_on(sse(port, streams, chunks, number(4).unwrap()));
        }
        _ => {
            println!("usage: upstream | relay PORT | json PORT CLIENTS REQUESTS [BYTES] | sse PORT STREAMS CHUNKS RATE")
        }
    }
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// The least that a proxy made of the same parts has to do: times in microseconds are the machine's, and a proxy is measured
/// in multiples of this.
async fn relay(port: usize) {
    use hyper_util::client::legacy::Client;
    use hyper_util::client::legacy::connect::HttpConnector;
    use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    let client: Client<_, hyper::body::Incoming> = Client::builder(TokioExecutor::new()).build(http);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let client = client.clone();
        let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            *request.uri_mut() = format!("http://127.0.0.1:{port}{path}").parse().unwrap();
            request.headers_mut().remove("host");
            client.request(request)
        });
        let server = hyper::server::conn::http1::Builder::new();
        tokio::spawn({
            let mut server = server;
            server.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service)
        });
    }
}

/// The head's lines in lower case, and the length of the body that follows.
async fn read_head(stream: &mut Connection) -> Option<(String, usize)> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
        if head.len() - before <= 2 {
            break;
        }
    }
    head.make_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |text| text.trim().parse().unwrap());
    Some((head, length))
}

const REPLY: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"A short answer to a short question."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}"#;

async fn upstream() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(serve(BufReader::new(stream)));
    }
}

async fn serve(mut stream: Connection) -> Option<()> {
    loop {
        let (_, length) = read_head(&mut stream).await?;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        // A stream's request carries its rate where others carry text: "chunks/rate".
        let plan = body
            .windows(6)
            .position(|part| part == b"\"plan ")
            .map(|at| String::from_utf8_lossy(&body[at + 6..]).into_owned());
        let Some(plan) = plan else {
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{REPLY}",
                REPLY.len()
            );
            stream.get_mut().write_all(reply.as_bytes()).await.ok()?;
            continue;
        };
        let (chunks, rate) = plan.split_once('"')?.0.split_once('/')?;
        let (chunks, rate): (u32, u32) = (chunks.parse().ok()?, rate.parse().ok()?);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.get_mut().write_all(head.as_bytes()).await.ok()?;
        let start = Instant::now();
        for number in 0..chunks {
            let due = start + Duration::from_secs(1) / rate * number;
            tokio::time::sleep_until(due.into()).await;
            let data = format!(
                r#"data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{{"content":"at {} "}},"finish_reason":null}}]}}{}"#,
                now(),
                "\n\n"
            );
            send_chunk(&mut stream, &data).await?;
        }
        send_chunk(
            &mut stream,
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        )
        .await?;
        stream.get_mut().write_all(b"0\r\n\r\n").await.ok()?;
    }
}

async fn send_chunk(stream: &mut Connection, data: &str) -> Option<()> {
    stream.get_mut().write_all(format!("{:x}\r\n{data}\r\n", data.len()).as_bytes()).await.ok()
}

fn request(port: usize, text: &str, stream: bool) -> Vec<u8> {
    let body = format!(
        r#"{{"model":"gpt-4o","stream":{stream},"messages":[{{"role":"system","content":"You are brief."}},{{"role":"user","content":"{text}"}}]}}"#
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\nauthorization: Bearer sk-bench-0123456789abcdef\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

async fn connect(port: usize) -> Connection {
    let stream = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).await.unwrap();
    stream.set_nodelay(true).unwrap();
    BufReader::with_capacity(16 << 10, stream)
}

async fn json(port: usize, clients: usize, requests: usize, bytes: usize) {
    let start = Instant::now();
    let text = if bytes == 0 { "A short question?".to_owned() } else { "word ".repeat(bytes / 5) };
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let bytes = request(port, &text, false);
            tokio::spawn(async move {
                let mut stream = connect(port).await;
                let mut times = Vec::with_capacity(requests);
                for _ in 0..requests {
                    let start = Instant::now();
                    stream.get_mut().write_all(&bytes).await.unwrap();
                    read_reply(&mut stream).await;
                    times.push(u64::try_from(start.elapsed().as_nanos()).unwrap());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    report(times, start.elapsed());
}

async fn read_reply(stream: &mut Connection) {
    let (head, length) = read_head(stream).await.unwrap();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    if length == 0 {
        // Chunked: some proxies change the framing.
        while read_chunk(stream).await.is_some_and(|chunk| !chunk.is_empty()) {}
    }
}

async fn read_chunk(stream: &mut Connection) -> Option<Vec<u8>> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let size = usize::from_str_radix(line.trim(), 16).ok()?;
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).await.ok()?;
    chunk.truncate(size);
    Some(chunk)
}

async fn sse(port: usize, streams: usize, chunks: usize, rate: usize) {
    let start = Instant::now();
    let tasks: Vec<_> = (0..streams)
        .map(|number| {
            tokio::spawn(async move {
                // Spread over one interval, as independent clients would be.
                tokio::time::sleep(
                    Duration::from_secs(1) / u32::try_from(rate * streams).unwrap() * u32::try_from(number).unwrap(),
                )
                .await;
                let mut stream = connect(port).await;
                stream.get_mut().write_all(&request(port, &format!("plan {chunks}/{rate}"), true)).await.unwrap();
                let (head, _) = read_head(&mut stream).await.unwrap();
                assert!(head.starts_with("http/1.1 200"), "{head}");
                let mut times = Vec::with_capacity(chunks);
                loop {
                    let chunk = read_chunk(&mut stream).await.unwrap();
                    let arrived = now();
                    if chunk.is_empty() {
                        return times;
                    }
                    // A proxy may join or split chunks: every stamp counts for itself.
                    let text = String::from_utf8_lossy(&chunk).into_owned();
                    for part in text.split("\"at ").skip(1) {
                        let sent: u64 = part.split(' ').next().unwrap().parse().unwrap();
                        times.push(arrived.saturating_sub(sent));
                    }
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    assert!(times.len() >= streams * chunks * 9 / 10, "chunks are missing: {} of {}", times.len(), streams * chunks);
    report(times, start.elapsed());
}

/// One JSON line: microseconds at the usual places, how many, and how long all took.
fn report(mut times: Vec<u64>, all: Duration) {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 1000] as f64 / 1000.0;
    println!(
        "{{\"p50\":{:.1},\"p99\":{:.1},\"max\":{:.1},\"count\":{},\"seconds\":{:.3}}}",
        at(500),
        at(990),
        at(1000),
        times.len(),
        all.as_secs_f64()
    );
}
