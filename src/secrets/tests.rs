use super::*;
use proptest::prelude::*;
use std::ops::Range;

/// Sixty-odd characters that nobody would take for words; tests cut them to length.
const RANDOM: &str = "kQ7vZ2mXr9TbW4nYc8HdLp3FsJ6gUaE5oKiVq1RtMxNzBwGyDhCe7Pf0SjAu9Lk2XwQ4rTz8VbN6mHc3";
const HEX: &str = "9f3a7c12be5d08e4617ac9d3f2b85e0471d6ca3928fbe05d74a1c63e9b82f057d4";

fn upper(length: usize) -> String {
    RANDOM.to_uppercase().chars().filter(|c| !matches!(c, '0' | '1' | '8' | '9')).take(length).collect()
}

/// A body of 30 characters with the checksum of GitHub's and npm's tokens.
fn checked() -> String {
    (0_u64..)
        .map(|number| format!("{}{}", &RANDOM[..30], digits(number)))
        .find(|body| checks::crc_holds(body.as_bytes()))
        .unwrap()
}

fn digits(mut number: u64) -> String {
    // start where the sum is: the search is over before it has begun
    let mut crc = !0_u32;
    for byte in RANDOM.as_bytes()[..30].iter() {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    number += u64::from(!crc);
    let alphabet: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
    let mut out = vec!['0'; 6];
    for place in out.iter_mut().rev() {
        *place = alphabet[(number % 62) as usize];
        number /= 62;
    }
    out.into_iter().collect()
}

fn base64(text: &str) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']).collect();
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let padded = format!("{bits}{}", "0".repeat((6 - bits.len() % 6) % 6));
    (0..padded.len() / 6).map(|at| alphabet[usize::from_str_radix(&padded[6 * at..6 * at + 6], 2).unwrap()]).collect()
}

fn token(claims: &str) -> String {
    format!("{}.{}.{}", base64(r#"{"alg":"HS256","typ":"JWT"}"#), base64(claims), &RANDOM[..43])
}

fn key_block(body: &str) -> String {
    format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----")
}

/// The id of the shape, a text, the secret in it, how sure it is.
fn table() -> Vec<(&'static str, String, String, Certainty)> {
    use Certainty::{Certain, Likely, Possible};
    let whole = |id, secret: String, certainty| (id, secret.clone(), secret, certainty);
    let within = |id, before: &str, secret: &str, after: &str, certainty| {
        (id, format!("{before}{secret}{after}"), secret.to_owned(), certainty)
    };
    let r = |length: usize| &RANDOM[..length];
    let mut table = vec![
        whole("github-token", format!("ghp_{}", checked()), Certain),
        whole("github-token", format!("gho_{}", r(36)), Possible),
        whole("github-token", format!("github_pat_{}_{}", r(22), r(59)), Likely),
        whole("npm-token", format!("npm_{}", checked()), Certain),
        whole("npm-token", format!("npm_{}", r(36)), Possible),
        whole("openai-key", format!("sk-proj-{}T3BlbkFJ{}", r(40), r(40)), Certain),
        whole("openai-key", format!("sk-{}T3BlbkFJ{}", r(20), r(20)), Certain),
        whole("openai-key", format!("sk-{}", r(24)), Possible),
        whole("anthropic-key", format!("sk-ant-api03-{}{}AA", r(60), r(33)), Likely),
        whole("anthropic-key", format!("sk-ant-api03-{}", r(20)), Possible),
        whole("openrouter-key", format!("sk-or-v1-{}", &HEX[..64]), Likely),
        whole("groq-key", format!("gsk_{}", r(52)), Likely),
        whole("hugging-face-token", format!("hf_{}", r(34)), Likely),
        whole("google-key", format!("AIza{}", r(35)), Likely),
        whole("google-secret", format!("GOCSPX-{}", r(28)), Likely),
        whole("aws-key-id", format!("AKIA{}", upper(16)), Likely),
        whole("aws-key-id", "AKIAIOSFODNN7EXAMPLE".to_owned(), Possible),
        whole("gitlab-token", format!("glpat-{}", r(20)), Likely),
        whole("slack-token", format!("xoxb-{}-{}-{}", "2847561930471", "3958672041582", r(24)), Likely),
        within(
            "webhook-url",
            "https://hooks.slack.com/",
            &format!("services/T{}/B{}/{}", upper(9), upper(9), r(24)),
            "",
            Likely,
        ),
        within(
            "webhook-url",
            "https://discord.com/api/webhooks/",
            &format!("918273645546372819/{}", r(68)),
            " x",
            Likely,
        ),
        whole("stripe-key", format!("sk_{}_{}", "live", r(24)), Likely),
        whole("stripe-test-key", format!("sk_{}_{}", "test", r(24)), Likely),
        whole("sendgrid-key", format!("SG.{}.{}", r(22), r(43)), Likely),
        whole("pypi-token", format!("pypi-AgEIcHlwaS5vcmc{}", r(70)), Likely),
        whole("databricks-token", format!("dapi{}", &HEX[..32]), Likely),
        whole("jwt", token(r#"{"sub":"u-73","exp":1893456000,"scope":"repo"}"#), Likely),
        whole("jwt", token(r#"{"sub":"1234567890","name":"John Doe"}"#), Possible),
        whole("jwt", token(r#"{"iss":"supabase","role":"anon"}"#), Possible),
        whole("private-key", key_block(&format!("{}\n{}", r(64), r(64))), Certain),
        whole("private-key", key_block("MIIE..."), Possible),
        within(
            "azure-key",
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=",
            &format!("{}{}==", r(80), r(6)),
            ";EndpointSuffix=y",
            Likely,
        ),
        within("url-password", "postgres://app:", "kQ7vZ2mXr9", "@db.prod.company.io:5432/x", Likely),
        within("url-password", "postgres://app:", "kQ7vZ2mXr9", "@localhost:5432/x", Possible),
        within("url-password", "amqp://app:", "guest", "@db.prod.company.io/x", Possible),
        within("authorization", "Authorization: Bearer ", r(40), "", Likely),
        within("authorization", "authorization: token ", r(40), "\nAccept: x", Likely),
        within("authorization", "-H 'Authorization: ", r(32), "'", Likely),
        within("authorization", "Bearer ", r(40), " x", Likely),
        within("cookie", "Cookie: ", &format!("session={}; theme=dark", r(20)), "\nHost: h", Possible),
        within("cookie", "curl -H 'Set-Cookie: ", &format!("sid={}; Path=/", r(20)), "' https://h", Possible),
        within("url-secret", "https://h/p?a=1&key=", "s3cr3tvalue", "&b=2", Possible),
        within("url-secret", "https://h/p?X-Amz-Signature=", &HEX[..64], "", Likely),
    ];
    for name in NAMES {
        table.push(within("assigned-secret", &format!("{name}="), r(40), "", Likely));
        table.push(within("assigned-secret", &format!("export {name}=\""), r(40), "\"", Likely));
        if name != "GH_TOKEN" {
            table.push(within("assigned-secret", &format!("{name}: "), "Tr0ub4dor&x", "\nnext", Possible));
        }
        table.push(within("assigned-secret", &format!("deploy --{name} "), r(40), " now", Likely));
        table.push(within("assigned-secret", &format!("<{name}>"), r(40), &format!("</{name}>"), Likely));
        table.push(within("assigned-secret", &format!("<ns:{name} a=\"b\">\n"), r(40), "\n</ns", Likely));
        table.push(within("assigned-secret", &format!("const {name}: string = '"), r(40), "';", Likely));
        table.push(within("assigned-secret", &format!("{{\\\"{name}\\\": \\\""), r(40), "\\\"}", Likely));
    }
    for (before, secret) in [
        ("docker login -u me -p ", "kQ7vZ2mXr9"),
        ("echo x; docker login -p '", "kQ7vZ2mXr9"),
        ("mysql -h h -u root -p", "kQ7vZ2mXr9"),
        ("/usr/bin/mysqldump -p\"", "kQ7vZ2mXr9"),
        ("sshpass -p ", "kQ7vZ2mXr9"),
        ("redis-cli -a ", "kQ7vZ2mXr9"),
        ("curl -u admin:", "kQ7vZ2mXr9"),
        ("curl --user \"admin:", "kQ7vZ2mXr9"),
    ] {
        table.push(within("assigned-secret", before, secret, "", Likely));
    }
    table
}

const NAMES: [&str; 12] = [
    "AWS_SECRET_ACCESS_KEY",
    "DJANGO_SECRET_KEY",
    "STRIPE_SECRET_KEY",
    "OPENAI_API_KEY",
    "password",
    "PGPASSWORD",
    "clientSecret",
    "db-password",
    "x-api-key",
    "my_access_token",
    "GH_TOKEN",
    "encryption_key",
];

fn mask(text: &[u8], json: bool) -> String {
    let (finder, masker) = (Finder::default(), Masker::new([3; 32]));
    let mut text = text.to_vec();
    for _ in 0..8 {
        let found = if json { finder.find_in_json(&text) } else { finder.find(&text) };
        let mut out = Vec::new();
        masked(&text, &found, &masker, &mut out);
        if out == text {
            break;
        }
        text = out;
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn every_shape_is_found_for_what_it_is() {
    for (id, text, secret, certainty) in table() {
        for text in [text.clone(), format!("line\n{text}\nnext"), format!("中{text} 東"), format!("\u{1b}[32m{text}")]
        {
            // nobody paints the name of a command
            if text.starts_with('\u{1b}') && text.contains(" -") {
                continue;
            }
            let found = Finder::default().find(text.as_bytes());
            let at = text.find(&secret).unwrap();
            let one = found.iter().find(|one| one.range.start <= at && one.range.end >= at + secret.len());
            let one = one.unwrap_or_else(|| panic!("{id}: {text}: {found:?}"));
            assert!(one.range.start + 12 >= at && one.range.end <= at + secret.len(), "{id}: {text}: {found:?}");
            assert_eq!((one.id, one.certainty), (id, certainty), "{text}");
            let clean = mask(text.as_bytes(), false);
            assert!(!clean.contains(&secret), "{clean}");
        }
    }
}

/// The same secrets where agents put them: however deep, in lines, in prose, cut.
#[test]
fn every_shape_is_found_wherever_it_stands() {
    for (id, text, secret, _) in table() {
        let one = serde_json::json!({"note": text, "n": 1}).to_string();
        let two = serde_json::json!({"inner": one, "list": [text]}).to_string();
        let three = serde_json::json!({"text": format!("see {two}")}).to_string();
        let inner = serde_json::to_string(&secret).unwrap();
        let secret = inner.trim_matches('"');
        for json in [&one, &two, &three] {
            for text in [
                json.clone(),
                format!("{json}\n{json}\n"),
                format!("{json}{json}"),
                format!("\n {json}"),
                format!("The answer is {json}, as I said."),
                json[..json.len() - 1].to_owned(),
            ] {
                for strict in [false, true] {
                    let clean = mask(text.as_bytes(), strict);
                    let plain = String::from_utf8(view::peeled(clean.as_bytes(), 3).into_owned()).unwrap();
                    assert!(!clean.contains(secret) && !plain.contains(secret), "{id}: {clean}");
                }
            }
            let clean = mask(json.as_bytes(), true);
            assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{clean}");
        }
    }
}

#[test]
fn members_are_found_by_name() {
    let names =
        ["password", "dbPassword", "X-Api-Key", "aws_secret_access_key", "client_secret", "Cookie", "pass\\u0077ord"];
    let values = [
        ("\"q-1\"", "q-1"),
        ("\"with \\\"marks\\\" and\\nlines\"", "marks"),
        ("[\"q-1\", {\"user\": \"u-2\"}]", "u-2"),
        ("{\"deep\": {\"er\": [\"q-1\"]}}", "q-1"),
        ("86412", "86412"),
    ];
    for name in names {
        for (value, secret) in values {
            let object = format!("{{\"a\": \"kept\", \"{name}\" : {value}, \"z\": \"also\"}}");
            for text in [
                object.clone(),
                format!("{object}\n{object}"),
                format!("{object}{object}"),
                format!("\n{object}"),
                format!("prose with \"quotes\" and {object} in it"),
                object[..object.len() - 16].to_owned(),
                object[..object.find(secret).unwrap() + secret.len()].to_owned(),
                serde_json::json!({"arguments": object}).to_string(),
                serde_json::json!({"arguments": serde_json::json!({"x": object}).to_string()}).to_string(),
            ] {
                for strict in [false, true] {
                    let clean = mask(text.as_bytes(), strict);
                    assert!(!clean.contains(secret) && clean.contains("kept"), "{text}: {clean}");
                }
                if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
                    let clean = mask(text.as_bytes(), true);
                    let value: serde_json::Value = serde_json::from_str(&clean).unwrap_or_else(|_| panic!("{clean}"));
                    let mut inner = value;
                    while let Some(text) =
                        ["arguments", "x"].iter().find_map(|name| inner[name].as_str().map(str::to_owned))
                    {
                        inner = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
                    }
                    assert_eq!(inner["z"], "also");
                }
            }
        }
    }
    for kept in [
        r#"{"max_tokens": 5, "token": "t", "session_id": "s", "password_policy": "long", "signature": "sig"}"#,
        r#"{"properties": {"password": {"type": "string", "minLength": 8}}, "required": ["password"]}"#,
        r#"{"logprobs": [{"token": " unbelievably", "logprob": -1.5}], "password": "", "secret": null}"#,
        r#"{"headers": [{"name": "Accept", "value": "text/html"}]}"#,
        r#"["run", "--password-file", "/run/secrets/x", "--token-count", "5"]"#,
    ] {
        assert_eq!(mask(kept.as_bytes(), true), kept);
        assert_eq!(mask(kept.as_bytes(), false), kept);
    }
    for (text, secret) in [
        (r#"{"GH_TOKEN": "kQ7vZ2mXr9TbW4nYc8HdLp3F", "next_page_token": "CAUQAA9TbW4nYc8HdLp3F"}"#, "kQ7vZ2"),
        (r#"{"headers": [{"name": "Authorization", "value": "opaque"}]}"#, "opaque"),
        (r#"{"env": [{"value": "opaque", "name": "DB_PASSWORD"}]}"#, "opaque"),
        (r#"["deploy", "--password", "opaque"]"#, "opaque"),
        (r#"["docker", "login", "-p", "opaque"]"#, "opaque"),
    ] {
        assert!(!mask(text.as_bytes(), true).contains(secret), "{text}");
    }
}

#[test]
fn what_only_resembles_a_secret_stays() {
    for text in [
        "<task-notification>",
        "claude-sonnet-4-5-20250929",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha512-9fceb02d0ae598e95dc970b74767f19372d61af8ZZZZ==",
        "Bearer token required",
        "Authorization: required",
        "Cookie: we like them",
        "password: required",
        "api_key=settings.api_key",
        "api_key: str = None",
        "if password == expected_password:",
        "api_key = os.environ[\"X\"]",
        "OPENAI_API_KEY=$OPENAI_API_KEY",
        "token=<token>",
        "https://example.com:8080/a@b",
        "https://user@example.com/",
        "risk-management-framework-for-large-organizations",
        "primary_key = user_account_identifier_v2",
        "https://h/list?next_page_token=abcdefghij",
        "basic understanding of the matter",
        "deploy --token required --fast",
        "deploy --password-file /etc/secrets/p4ssw0rd",
        "docker run -u 100000:100000 -p 8080:80 image",
        "docker exec -u $USER:$GROUPS image",
        "mkdir -p some/folder4/x",
        "mysql -p production1",
        "sort -u file:name",
        "one-time-token 12345678",
        "-----BEGIN CERTIFICATE-----\nMIIE",
        "<password>${PASSWORD}</password>",
        "the keys of the map, tokens: 8000000000",
        "--- PASS: TestE2E_AutoCommitStrategy",
        "signature: a8Xk-ghp_oZt5dwp3GXAOasMCb4wYfRg0xK9mZb",
    ] {
        assert_eq!(mask(text.as_bytes(), false), text);
    }
}

#[test]
fn equal_secrets_have_equal_marks_at_any_depth() {
    let secret = "kQ7v/Z2mXr9+Tb";
    let text = serde_json::json!({"password": secret, "inner": serde_json::json!({"password": secret}).to_string()});
    let text = text.to_string().replace('/', "\\/");
    let clean = mask(text.as_bytes(), true);
    let tags: Vec<&str> = clean.split("[REDACTED:").skip(1).map(|rest| rest.split(']').next().unwrap()).collect();
    assert!(tags.len() == 2 && tags[0] == tags[1], "{clean}");
}

#[test]
fn a_private_key_goes_whole_even_when_its_end_is_missing() {
    let cut = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\nAAAAB3NzaC1";
    assert!(!mask(cut.as_bytes(), false).contains("b3Blb"));
    // but never more than the string that holds it
    let json = serde_json::json!({"a": cut, "z": "kept"}).to_string();
    assert!(mask(json.as_bytes(), true).ends_with(r#","z":"kept"}"#));
    let nested = serde_json::json!({"x": json}).to_string();
    assert!(mask(nested.as_bytes(), true).contains("kept"));
}

/// Texts that make a careless search look at the same bytes again and again.
#[test]
fn no_text_is_gone_through_many_times() {
    for part in [
        "-eyJ",
        "-eyJaaaaaaaa.",
        "sk-",
        "AKIA",
        "-----BEGIN PRIVATE KEY-----(",
        "-----BEGIN ",
        "://a:b",
        "hooks.slack.com/",
        "password=*",
        "x_token=",
        "authorization:$",
        "?key=$",
        "cookie:",
        "<password>",
        " -p",
        "{\"password\":",
        "\"password\":[",
        "[REDACTED:a:",
        "\\\\\\\"",
        "bearer ",
        "secret_",
        "\"-",
        "{\"name\":\"password\",\"value\":",
        "\"token\":\"",
    ] {
        let text = part.repeat((1 << 18) / part.len());
        for json in [false, true] {
            let finder = Finder::default();
            let found = if json { finder.find_in_json(text.as_bytes()) } else { finder.find(text.as_bytes()) };
            let mut out = Vec::new();
            masked(text.as_bytes(), &found, &Masker::new([0; 32]), &mut out);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_bytes_are_searched(bytes in prop::collection::vec(any::<u8>(), 0..120), text in "[\\[\\]{}\",:=a-e\\\\u0 -]{0,60}", name in "(\"?(password|api_key|token|Cookie|--secret|-p |://|eyJ|-----BEGIN |AKIA|\\\\u00)\"?){0,6}") {
        for input in [&bytes[..], text.as_bytes(), name.as_bytes(), format!("{name}{text}{name}").as_bytes()] {
            for found in [Finder::default().find(input), Finder::default().find_in_json(input)] {
                prop_assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start));
                prop_assert!(found.iter().all(|one| one.range.end <= input.len()));
            }
        }
    }

    #[test]
    fn json_stays_json(text in any::<String>(), name in "(pass|password|token|note)", number in any::<i64>(), deep in any::<bool>()) {
        let secret = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6";
        let mut value = serde_json::json!({&name: &text, "a": [number, secret], "credentials": {"n": number, "t": [&text]}, "text": format!("{text} {secret} {text}")});
        if deep {
            value = serde_json::json!({"x": value.to_string(), "y": format!("{text}{value}")});
        }
        let clean = mask(value.to_string().as_bytes(), true);
        let again: serde_json::Value = serde_json::from_str(&clean).unwrap();
        prop_assert!(!clean.contains("aB3dE6gH9j"));
        prop_assert_eq!(mask(clean.as_bytes(), true), clean);
        if deep {
            prop_assert!(serde_json::from_str::<serde_json::Value>(again["x"].as_str().unwrap()).is_ok());
        }
    }
}

/// What is likely and stands in a text, by its id and place.
fn likely(found: Vec<Match>) -> Vec<(&'static str, Range<usize>)> {
    found.into_iter().filter(|one| one.certainty >= Certainty::Likely).map(|one| (one.id, one.range)).collect()
}

/// A large text is gone over in leaps, and nothing is leapt over.
#[test]
fn leaps_miss_nothing() {
    assert!(shapes::are_long_runs());
    let mut found = 0;
    for (id, secret, ..) in table() {
        for (before, behind) in
            [("", ""), ("x ", " y"), ("(\\n", "\\n)"), ("a=\"", "\","), ("a/b:", "/"), ("\u{e9}", "\u{e9}")]
        {
            let filler = "word and /some/longer/path/of/a/file.rs, ".repeat(3);
            let text = format!("{filler}{before}{secret}{behind} {filler}");
            let expected = likely(find_shapes(text.as_bytes()));
            assert_eq!(likely(find_likely(text.as_bytes())), expected, "{id}: {before}…{behind}");
            found += expected.len();
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn every_shape_has_words() {
    assert!(NAMED.is_sorted_by_key(|named| named.id));
    assert!(NAMED.iter().all(|named| named.rule == format!("secret-exposed/{}", named.id)));
    for id in shapes::ids().chain(["assigned-secret", "authorization", "cookie", "field", "known-secret", "url-secret"])
    {
        assert!(describe(id) != "a secret", "{id}");
    }
}
