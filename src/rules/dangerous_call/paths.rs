//! Where a path leads, by its text alone, and what stands there: the disk is never read.

/// Stands in a word for what is not known.
pub(super) const UNKNOWN: char = '\u{1}';

/// Folders that hold the whole of a system, or of all its users.
const SYSTEM: &[&str] = &[
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/boot",
    "/lib",
    "/lib64",
    "/sys",
    "/proc",
    "/System",
    "/Library",
    "/private/etc",
];
/// Folders of what nobody misses.
const TEMPORARY: &[&str] = &[
    "/tmp",
    "/var/tmp",
    "/private/tmp",
    "/private/var/tmp",
    "/var/folders",
    "/private/var/folders",
    "/dev/shm",
    "/run/user",
];
/// Names of folders that a build or a cache makes anew.
const MADE: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    "bin",
    "obj",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".venv",
    "venv",
    "coverage",
    "htmlcov",
    ".nyc_output",
    ".cache",
    "caches",
    "deriveddata",
    ".gradle",
    ".tox",
    ".eggs",
    "_build",
    "go-build",
    "_cacache",
    "logs",
    "playwright-report",
    "test-results",
    ".terraform",
    ".output",
    ".svelte-kit",
    ".vite",
];

/// A path as an absolute one, or below `~` where the home folder is not known. `None`: nobody can tell.
pub(super) fn join(folder: Option<&str>, path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    if path.is_empty() || path.contains(UNKNOWN) {
        return None;
    }
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let whole = if path.starts_with('/') || path == "~" || path.starts_with("~/") || drive {
        path
    } else if path.starts_with('~') {
        return None;
    } else {
        format!("{}/{path}", folder?)
    };
    let mut parts: Vec<&str> = Vec::new();
    let (root, rest) = match whole.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", whole.as_str()),
    };
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            // above the home folder are the homes of all
            ".." if parts == ["~"] => return Some("/home".to_owned()),
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("{root}{}", parts.join("/")))
}

/// The path below the home folder of whoever it is.
pub(super) fn in_home<'p>(path: &'p str, home: Option<&str>) -> Option<&'p str> {
    let below = |root: &str| path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let rest = home.and_then(below).or_else(|| below("~")).or_else(|| below("/root")).or_else(|| {
        let rest = ["/home/", "/Users/", "C:/Users/"].iter().find_map(|root| path.strip_prefix(root))?;
        Some(rest.find('/').map_or("", |at| &rest[at..]))
    })?;
    Some(rest.trim_start_matches('/'))
}

pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'))
}

/// Whether a path is in a folder for what is only needed for a while.
pub(super) fn is_temporary(path: &str) -> bool {
    let temporary = |part: &str| {
        // a folder's whole path as one name: what agents call the folders of their records
        if part.starts_with('-') {
            return false;
        }
        let part = part.to_ascii_lowercase();
        let mut words = part.split(['-', '_', '.']).filter(|word| !word.is_empty());
        matches!(words.clone().next(), Some("tmp" | "temp" | "scratch" | "sandbox"))
            || matches!(words.next_back(), Some("tmp" | "temp"))
    };
    // the folder itself is everybody's
    TEMPORARY.iter().any(|folder| is_below(path, folder) && path.len() > folder.len() + 1)
        || path.split('/').any(temporary)
}

/// Whether a path is the output of a build, a cache, or a worktree that agents make for themselves.
pub(super) fn is_made(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = part.to_ascii_lowercase();
        MADE.contains(&part.as_str()) || part.contains("worktree") || part.ends_with(".egg-info")
    })
}

/// Whether a path is one of the system's.
pub(super) fn is_system(path: &str) -> bool {
    let own = is_below(path, "/usr/local") || is_below(path, "/usr/src") || is_below(path, "/Library/Caches");
    let windows = path.get(1..).is_some_and(|rest| {
        let rest = rest.to_ascii_lowercase();
        is_below(&rest, ":/windows") || is_below(&rest, ":/program files")
    });
    !own && (SYSTEM.iter().any(|folder| is_below(path, folder)) || windows || is_disk(path))
}

/// Whether a path is a whole disk.
pub(super) fn is_disk(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or_default();
    ["sd", "hd", "vd", "nvme", "mmcblk", "disk", "rdisk", "xvd"]
        .iter()
        .any(|start| name.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric())))
}

/// Whether the shell of a user, or of all, reads this file when it starts.
pub(super) fn is_startup(path: &str, home: Option<&str>) -> bool {
    let own = |rest: &str| {
        matches!(
            rest,
            ".bashrc"
                | ".bash_profile"
                | ".bash_login"
                | ".bash_logout"
                | ".bash_aliases"
                | ".profile"
                | ".zshrc"
                | ".zshenv"
                | ".zprofile"
                | ".zlogin"
                | ".zlogout"
                | ".kshrc"
                | ".cshrc"
                | ".tcshrc"
                | ".inputrc"
                | ".xprofile"
                | ".xinitrc"
                | ".config/fish/config.fish"
                | ".config/nushell/config.nu"
                | ".config/powershell/profile.ps1"
        ) || is_below(rest, ".config/fish/conf.d")
            || is_below(rest, ".bashrc.d")
            || is_below(rest, "Library/LaunchAgents")
            || is_below(rest, ".config/autostart")
            || is_below(rest, ".config/systemd/user")
    };
    in_home(path, home).is_some_and(own)
        || matches!(path, "/etc/profile" | "/etc/bash.bashrc" | "/etc/zshrc" | "/etc/environment" | "/etc/crontab")
        || ["/etc/profile.d", "/etc/zsh", "/etc/cron.d"].iter().any(|folder| is_below(path, folder))
}

/// Whether a file holds keys for other machines or a cloud.
pub(super) fn is_credential(path: &str, home: Option<&str>) -> bool {
    let own = |rest: &str| {
        let name = rest.rsplit('/').next().unwrap_or_default();
        if let Some(inner) = rest.strip_prefix(".ssh/") {
            return !inner.ends_with(".pub") && !matches!(inner, "config" | "known_hosts" | "known_hosts.old");
        }
        matches!(
            rest,
            ".aws/credentials"
                | ".netrc"
                | "_netrc"
                | ".pypirc"
                | ".npmrc"
                | ".git-credentials"
                | ".config/git/credentials"
                | ".kube/config"
                | ".docker/config.json"
                | ".vault-token"
                | ".config/gh/hosts.yml"
                | ".cargo/credentials.toml"
                | ".cargo/credentials"
                | ".gem/credentials"
                | ".terraform.d/credentials.tfrc.json"
                | ".azure/accessTokens.json"
                | ".azure/msal_token_cache.json"
                | ".pgpass"
                | ".my.cnf"
                | ".claude/.credentials.json"
                | ".codex/auth.json"
        ) || is_below(rest, ".gnupg") && name.ends_with(".key")
            || is_below(rest, ".gnupg/private-keys-v1.d")
            || is_below(rest, ".config/gcloud") && (name.ends_with(".json") || name.ends_with(".db"))
            || is_below(rest, ".aws/sso/cache") && !name.is_empty()
    };
    in_home(path, home).is_some_and(own) || matches!(path, "/etc/shadow" | "/etc/gshadow" | "/etc/sudoers")
}

/// Whether writing there changes who may come in from where, besides the keys themselves.
pub(super) fn is_access(path: &str, home: Option<&str>) -> bool {
    let own = |rest: &str| {
        is_below(rest, ".ssh") && !rest.ends_with("known_hosts") && rest != ".ssh"
            || is_below(rest, ".gnupg")
            || rest == ".aws/config"
    };
    is_credential(path, home)
        || in_home(path, home).is_some_and(own)
        || is_below(path, "/etc/ssh")
        || is_below(path, "/etc/sudoers.d")
}
