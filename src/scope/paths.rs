//! Paths as scopes compare them: by their text alone, the disk is never read.
//!
//! A path that names a place only its machine knew (a variable, another user's home, a share) is not known, and what
//! starts at a folder that no one recorded is known only from there on.

use super::names;
use std::cell::OnceCell;
use std::sync::{LazyLock, OnceLock};
use unicode_normalization::UnicodeNormalization as _;

/// Where relative paths start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Places<'a> {
    /// The folder that relative patterns are about.
    pub root: Option<&'a str>,
    /// The working directory of the call.
    pub cwd: Option<&'a str>,
    /// The home folder.
    pub home: Option<&'a str>,
}

/// The places of a call, read once for all patterns.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    places: Places<'a>,
    /// What relative patterns are about; none: nobody can tell.
    root: OnceCell<Option<Known>>,
    home: OnceCell<Option<Known>>,
}

impl<'a> From<Places<'a>> for Ground<'a> {
    fn from(places: Places<'a>) -> Ground<'a> {
        Ground { places, root: OnceCell::new(), home: OnceCell::new() }
    }
}

impl Ground<'_> {
    pub(super) fn fold(&self, path: &str) -> Option<Known> {
        fold(path, self.places)
    }

    fn base(&self, start: Start) -> Option<&Known> {
        match start {
            Start::Top => {
                static TOP: LazyLock<Known> = LazyLock::new(|| Known::at(Anchor::Top));
                Some(&TOP)
            }
            Start::Home => self.home.get_or_init(|| home(self.places)).as_ref(),
            Start::Root => {
                let root = || match self.places.root.or(self.places.cwd) {
                    Some(root) if is_absolute(root) => fold(root, Places::default()),
                    Some(_) => None,
                    None => Some(Known::at(Anchor::Root)),
                };
                self.root.get_or_init(root).as_ref()
            }
        }
    }
}

/// A path with `.`, `..` and doubled separators folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// What it starts at.
    pub(super) anchor: Anchor,
    pub(super) segments: Vec<String>,
    /// The same as file systems compare them that tell little apart, once that is asked for.
    folded: OnceLock<Vec<String>>,
}

/// What a path starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The top of the file system.
    Top,
    /// The folder that patterns are about, wherever it lies.
    Root,
    /// The home folder, wherever it lies.
    Home,
}

impl Known {
    fn at(anchor: Anchor) -> Known {
        Known { anchor, segments: Vec::new(), folded: OnceLock::new() }
    }

    fn segments(&self, folded: bool) -> &[String] {
        match folded {
            true => self.folded.get_or_init(|| folded_names(&self.segments)),
            false => &self.segments,
        }
    }

    pub(super) fn shown(&self) -> String {
        let joined = self.segments.join("/");
        match self.anchor {
            Anchor::Top => format!("/{joined}"),
            Anchor::Root if joined.is_empty() => ".".to_owned(),
            Anchor::Root => joined,
            Anchor::Home if joined.is_empty() => "~".to_owned(),
            Anchor::Home => format!("~/{joined}"),
        }
    }
}

/// Folds a path. None if it is not known.
pub(super) fn fold(path: &str, places: Places<'_>) -> Option<Known> {
    if path.is_empty() || path.contains('\0') || has_variable(path) {
        return None;
    }
    let path = path.replace('\\', "/");
    if path.starts_with("//") {
        return None;
    }
    let (mut start, rest) = start(&path, places)?;
    for segment in rest.split('/') {
        match segment {
            "" | "." => {}
            ".." if start.segments.is_empty() && start.anchor != Anchor::Top => return None,
            ".." => {
                start.segments.pop();
            }
            name => start.segments.push(name.to_owned()),
        }
    }
    Some(start)
}

fn start<'p>(path: &'p str, places: Places<'_>) -> Option<(Known, &'p str)> {
    let top = Known::at(Anchor::Top);
    if path.starts_with('/') {
        return Some((top, path));
    }
    if let Some(rest) = path.strip_prefix('~') {
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        return Some((home(places)?, rest));
    }
    let bytes = path.as_bytes();
    if bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        // `C:x` starts at a folder that is not recorded
        let rest = path.get(2..).filter(|rest| rest.starts_with('/'))?;
        return Some((Known { segments: vec![path[..1].to_ascii_lowercase()], ..top }, rest));
    }
    let base = match places.cwd.or(places.root) {
        Some(base) if is_absolute(base) => fold(base, Places::default())?,
        Some(_) => return None,
        None => Known::at(Anchor::Root),
    };
    Some((base, path))
}

/// The home folder; where nobody says which it is, as itself: it is surely the same for a pattern that names it.
fn home(places: Places<'_>) -> Option<Known> {
    match places.home {
        Some(home) if is_absolute(home) => fold(home, Places::default()),
        Some(_) => None,
        None => Some(Known::at(Anchor::Home)),
    }
}

/// Whether a path starts at the top of a file system.
#[must_use]
pub fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    matches!(bytes.first(), Some(b'/'))
        || bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'/' | b'\\')
}

fn has_variable(path: &str) -> bool {
    let bytes = path.as_bytes();
    memchr::memchr_iter(b'$', bytes)
        .any(|at| matches!(bytes.get(at + 1), Some(b'{' | b'(' | b'_' | b'a'..=b'z' | b'A'..=b'Z')))
}

/// A pattern for paths.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// As it stands in the file.
    pub(super) text: String,
    start: Start,
    segments: Vec<String>,
    /// The same as file systems compare them that tell little apart.
    folded: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Top,
    Home,
    Root,
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Pattern, &'static str> {
        if text.is_empty() || text.contains('\0') {
            return Err("is empty");
        }
        if text.contains(['[', ']', '{', '}']) {
            return Err(
                "has brackets or braces, which are no wildcards here: write '?' for one character, and two patterns for two cases",
            );
        }
        if text.starts_with('!') {
            return Err("starts with '!': exceptions stand in 'except'");
        }
        let path = text.replace('\\', "/");
        if path.ends_with('/') && path != "/" {
            return Err("ends in '/': write 'folder/**' for what lies in it");
        }
        if path.starts_with("//") || has_variable(&path) {
            return Err("starts at a place that is not known");
        }
        let bytes = path.as_bytes();
        let (start, rest) = if let Some(rest) = path.strip_prefix('~') {
            if !rest.is_empty() && !rest.starts_with('/') {
                return Err("starts in another user's home folder");
            }
            (Start::Home, rest.to_owned())
        } else if bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/' {
            (Start::Top, format!("/{}{}", path[..1].to_ascii_lowercase(), &path[2..]))
        } else if path.starts_with('/') || path.starts_with("**/") || path == "**" {
            (Start::Top, path.clone())
        } else {
            (Start::Root, path.clone())
        };
        let mut segments: Vec<String> = Vec::new();
        for segment in rest.split('/') {
            match segment {
                "" | "." => {}
                ".." => match segments.pop() {
                    Some(before) if !before.contains(['*', '?']) => {}
                    _ => return Err("has '..' behind nothing that it could leave"),
                },
                // what follows `**` directly adds nothing
                "**" if segments.last().is_some_and(|last| last == "**") => {}
                name => segments.push(name.to_owned()),
            }
        }
        Ok(Pattern { text: text.to_owned(), start, folded: folded_names(&segments), segments })
    }

    /// Whether a path is one of these: surely, surely not, or not known.
    pub(super) fn fits(&self, path: &Known, ground: &Ground<'_>, folded: bool) -> Option<bool> {
        let own = if folded { &self.folded } else { &self.segments };
        let segments = path.segments(folded);
        match ground.base(self.start) {
            Some(base) if base.anchor == path.anchor => {
                let Some(rest) = segments.strip_prefix(base.segments(folded)) else { return Some(false) };
                Some(segments_match(own, rest))
            }
            // one of the two starts at an unknown place: it fits if some place makes it fit
            base => {
                let reach = self.start == Start::Top && own.first().is_some_and(|first| first == "**");
                if reach && segments_match(own, segments) {
                    return Some(true);
                }
                let front = base.filter(|base| base.anchor == Anchor::Top).map(|base| base.segments(folded));
                // in front of the path there may be more
                let before_path =
                    path.anchor != Anchor::Top && some_start(&[front.unwrap_or_default(), own].concat(), segments);
                // in front of the pattern there may be more
                let before_pattern =
                    || front.is_none() && (0..=segments.len()).any(|from| segments_match(own, &segments[from..]));
                if before_path || before_pattern() { None } else { Some(false) }
            }
        }
    }
}

/// Whether a pattern fits a path in front of which there may be more.
fn some_start(pattern: &[String], path: &[String]) -> bool {
    // the end of the path against every end of the pattern
    (0..=pattern.len()).any(|from| segments_match(&pattern[from..], path))
        || pattern.iter().any(|segment| segment == "**")
}

/// Whether segments fit a pattern in which `**` stands for any number of them, at the end for at least one.
fn segments_match(pattern: &[String], path: &[String]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(at) {
            Some(segment) if segment == "**" => {
                if at + 1 == pattern.len() {
                    return from < path.len();
                }
                retry = Some((at + 1, from));
                at += 1;
                continue;
            }
            Some(segment) if path.get(from).is_some_and(|name| names::matches(segment, name)) => {
                at += 1;
                from += 1;
                continue;
            }
            Some(_) => {}
            None if from == path.len() => return true,
            None => {}
        }
        match &mut retry {
            Some((behind, start)) if *start < path.len() => {
                *start += 1;
                at = *behind;
                from = *start;
            }
            _ => return false,
        }
    }
}

fn folded_names(segments: &[String]) -> Vec<String> {
    segments.iter().map(|segment| folded_name(segment)).collect()
}

/// A name as file systems compare it that tell neither case nor composition apart, nor see characters without a shape.
fn folded_name(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let shown = |c: &char| !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    // lower case of upper case: both of a pair, and letters such as ß, become one
    name.chars().filter(shown).nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}

/// The paths that a patch changes, in the form that `apply_patch` takes. None if it is not one as a whole.
pub(super) fn patched(patch: &str) -> Option<Vec<&str>> {
    let body = patch.trim().strip_prefix("*** Begin Patch")?.strip_suffix("*** End Patch")?;
    let paths = patch_lines(body);
    // a second patch could stand behind the end of the first
    (!paths.is_empty() && !body.lines().any(|line| line.starts_with("*** End Patch"))).then_some(paths)
}

/// The paths that any line of a text names as a patch would.
pub(super) fn patch_lines(text: &str) -> Vec<&str> {
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    text.lines()
        .filter_map(|line| marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)))
        .map(str::trim)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places<'_> = Places { root: Some("/repo"), cwd: Some("/repo/sub"), home: Some("/home/u") };

    #[test]
    fn paths_are_folded() {
        for (path, folded) in [
            ("a//b/./c", Some("/repo/sub/a/b/c")),
            ("../a", Some("/repo/a")),
            ("/a/../../b", Some("/b")),
            ("~/x", Some("/home/u/x")),
            ("~", Some("/home/u")),
            ("C:\\a\\b", Some("/c/a/b")),
            ("C:a", None),
            ("~root/x", None),
            ("$HOME/x", None),
            ("${x}/y", None),
            ("a$b", None),
            ("cost$5", Some("/repo/sub/cost$5")),
            ("\\\\server\\x", None),
            ("//server/x", None),
            ("", None),
            ("a\0b", None),
        ] {
            assert_eq!(fold(path, PLACES).map(|known| known.shown()).as_deref(), folded, "{path}");
        }
        assert_eq!(fold("../x", Places::default()), None);
        assert_eq!(fold("~/a/../x", Places::default()).unwrap().shown(), "~/x");
        assert_eq!(fold("~/../x", Places::default()), None);
        assert_eq!(fold("~/x", Places { home: Some("home"), ..Places::default() }), None);
        assert_eq!(fold("a/../b", Places::default()).unwrap().shown(), "b");
    }

    fn fits(pattern: &str, path: &str, places: Places<'_>, folded: bool) -> Option<bool> {
        Pattern::read(pattern).unwrap().fits(&fold(path, places).unwrap(), &Ground::from(places), folded)
    }

    #[test]
    fn patterns_fit() {
        for (pattern, path, expected) in [
            ("src/**", "/repo/src/a/b", true),
            ("src/**", "/repo/src", false),
            ("src/**", "/repo/srcx/a", false),
            ("**/.env*", "/x/y/.env.local", true),
            ("**/.env*", "/.env", true),
            ("a/**/b", "/repo/a/b", true),
            ("a/**/b", "/repo/a/x/y/b", true),
            ("~/notes/*.txt", "/home/u/notes/a.txt", true),
            ("~/notes/*.txt", "/home/u/notes/a/b.txt", false),
            ("*", "/repo/a", true),
            ("*", "/repo/a/b", false),
            ("**", "/anything", true),
            ("./a", "/repo/a", true),
        ] {
            assert_eq!(fits(pattern, path, PLACES, false), Some(expected), "{pattern} {path}");
        }
        assert_eq!(fits("src/Größe", "/REPO/SRC/GRO\u{308}SSE", PLACES, true), Some(true));
        assert_eq!(fits("**/.git/**", "/x/.g\u{200c}it/config", PLACES, true), Some(true));
        assert_eq!(fits("src/a", "/repo/src/A", PLACES, false), Some(false));
    }

    #[test]
    fn unknown_places_leave_it_open() {
        let none = Places::default();
        assert_eq!(fits("src/**", "src/a", none, false), Some(true));
        assert_eq!(fits("src/**", "/x/src/a", none, false), None);
        assert_eq!(fits("src/**", "/x/lib/a", none, false), Some(false));
        assert_eq!(fits("**/.env", "a/.env", none, false), Some(true));
        assert_eq!(fits("~/.ssh/**", "/home/u/.ssh/id", none, true), None);
        assert_eq!(fits("~/.ssh/**", "/srv/u/ssh/id", none, true), Some(false));
        // wherever the home folder lies, it is the same one
        assert_eq!(fits("~/.ssh/**", "~/.ssh/id", none, true), Some(true));
        assert_eq!(fits("~/notes/*", "~/notes/a", none, false), Some(true));
        assert_eq!(fits("~/notes/*", "~/notes/../.ssh/id", none, false), Some(false));
        assert_eq!(fits("**/.ssh/**", "~/.ssh/id", none, true), Some(true));
        let root = Places { root: Some("/repo"), ..none };
        assert_eq!(fits("src/**", "~/src/a", root, false), None);
        assert_eq!(fits("/etc/*", "~/x/y", none, false), Some(false));
        assert_eq!(fits("~/x", "x", none, false), None);
        // the home folder may be below the folder that paths are about, and the other way round
        assert_eq!(fits("~/x", "u/x", none, true), None);
        assert_eq!(fits("u/x", "~/x", none, true), None);
        assert_eq!(fits("~/x", "u/x", Places { home: Some("/home/u"), ..none }, true), None);
        assert_eq!(fits("src/*", "~/repo/src/a", root, true), None);
        assert_eq!(fits("src/*", "~/other/lib/a", root, true), Some(false));
        // all of one unknown folder is not all of another one
        assert_eq!(fits("~/**", "a", none, false), None);
        assert_eq!(fits("./**", "~/a", none, false), None);
        assert_eq!(fits("/etc/passwd", "src/a", none, true), Some(false));
        assert_eq!(fits("/etc/passwd", "passwd", none, true), None);
    }

    #[test]
    fn patterns_that_would_do_nothing_are_refused() {
        for pattern in ["", "*.{a,b}", "[ab]", "!a", "src/", "~root/x", "$HOME/x", "../x", "*/../x", "//server/x"] {
            assert!(Pattern::read(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_patch_names_its_files() {
        let patch = "*** Begin Patch\n*** Update File: a b.rs\n*** Move to: c.rs\n@@\n-x\n+y\n*** Add File: d\n+z\n*** End Patch\n";
        assert_eq!(patched(patch), Some(vec!["a b.rs", "c.rs", "d"]));
        assert_eq!(patched(&format!("{patch}; rm x")), None);
        assert_eq!(patched(&format!("{patch}{patch}")), None);
        assert_eq!(patched("*** Begin Patch\n*** End Patch"), None);
    }
}
