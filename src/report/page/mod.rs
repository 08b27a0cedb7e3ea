//! The page: a run as one HTML file, to be looked at. It shows what went wrong and where before anything else, then every
//! call on a timeline and in a list, with what was called and what was answered when somebody asks for it.
//!
//! The file stands alone: its policy lets it load nothing, run no script but the one that is compiled in, and make no
//! markup of anything. What was recorded is in it as compressed data, with secrets masked, and becomes text nodes only.
//! While the page is written one recording at a time is read; the texts of its calls go out in chunks, and the index of all
//! calls comes last.

mod mask;
mod pack;
mod index;

use crate::audit::Report;
use crate::sanitize::html;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use index::Index;
pub use index::{PageOptions, Sessions};
use pack::Packer;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write};

/// How a page begins, by which it is known again.
pub(super) const START: &str = "<!doctype html>\n<html lang=\"en\" data-made-by=\"toolreplay\">\n";

const STYLE: &str = include_str!("page.css");
const BODY: &str = include_str!("page.html");
/// The script, in the order in which its parts use each other.
const SCRIPT: &str = concat!(
    "'use strict';\n",
    include_str!("data.js"),
    include_str!("list.js"),
    include_str!("timeline.js"),
    include_str!("detail.js"),
    include_str!("main.js"),
);

/// Findings that a reader without scripts sees.
const WITHOUT_SCRIPT: usize = 25;

/// The page of a report whose calls are not at hand: its findings.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_page(report, PageOptions::default(), &mut |_| None, out)
}

/// Writes the page of a report. `sessions` gives the calls of each of its files, in their order.
///
/// # Errors
/// What `out` or a temporary file says.
pub fn write_page(
    report: &Report,
    options: PageOptions,
    sessions: &mut Sessions<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut index = Index::new(report, options);
    shell_start(&index.title(), out)?;
    without_script(&index, out)?;
    out.write_all(BODY.as_bytes())?;
    let mut packer = Packer::new(out);
    for file in &report.files {
        index.file(file, sessions, &mut packer)?;
    }
    packer.finish()?;
    index.findings();
    pack::element("index", &serde_json::to_vec(&index.finished())?, out)?;
    shell_end(out)
}

/// The head of a page, up to where its body begins.
fn shell_start(title: &str, out: &mut dyn Write) -> io::Result<()> {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    write!(
        out,
        "{START}<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{}'; \
         style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"toolreplay {}\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        hash(SCRIPT),
        hash(STYLE),
        env!("CARGO_PKG_VERSION"),
        html(title),
    )
}

fn shell_end(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// What stands there until the script has run, and for those who let none run.
fn without_script(index: &Index<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (headline, mood) = index.headline();
    writeln!(out, "<div id=\"without\" class=\"without\">\n<h1 class=\"{mood}\">{}</h1>\n<ol>", html(&headline))?;
    for words in index.gravest(WITHOUT_SCRIPT) {
        writeln!(out, "<li>{}</li>", html(&words))?;
    }
    out.write_all(b"</ol>\n<p>The calls are shown by a script that is in this file.</p>\n</div>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text between two others.
    fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
        let at = text.find(from).unwrap() + from.len();
        &text[at..at + text[at..].find(to).unwrap()]
    }

    #[test]
    fn the_policy_lets_this_script_run_and_no_other() {
        let mut page = Vec::new();
        shell_start("a </title><script>alert(1)</script>", &mut page).unwrap();
        shell_end(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
        for (open, close, directive) in [("<script>", "</script>", "script-src"), ("<style>", "</style>", "style-src")]
        {
            assert_eq!(page.matches(open).count(), 1);
            let hash = STANDARD.encode(Sha256::digest(between(&page, open, close).as_bytes()));
            assert!(policy.contains(&format!("{directive} 'sha256-{hash}';")), "{policy}");
        }
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"));
        assert!(page.contains("a &lt;/title&gt;&lt;script&gt;"));
    }

    #[test]
    fn the_assets_ask_for_nothing_and_make_no_markup() {
        for asset in [STYLE, BODY, SCRIPT] {
            assert!(!asset.contains("</script") && !asset.contains("<!--") && !asset.contains('\r'));
            for word in ["http:", "https:", "url(", "@import", "src=", "href=", " style=", " onclick="] {
                assert!(!asset.contains(word), "{word}");
            }
        }
        for word in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "new Function", "fetch("] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
        assert!(SCRIPT.is_ascii() || SCRIPT.chars().all(|char| char.is_ascii() || "·…−".contains(char)));
    }
}
