//! Files that say what is expected, for every test binary: compared, or with `SNAPSHOTS=overwrite` written anew.

use std::path::Path;

/// Holds a text against the file that says what it must be; `path` is relative to the package. An empty text is the one
/// of a file that is not there. The error says what differs and what to do.
pub(crate) fn compare(path: &Path, text: &str) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("SNAPSHOTS").is_some_and(|mode| mode == "overwrite") {
        if text.is_empty() {
            let _ = std::fs::remove_file(&path);
        } else {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == text {
        return Ok(());
    }
    let shown = path.display();
    Err(format!(
        "{shown} says otherwise; SNAPSHOTS=overwrite cargo test writes it anew.\nexpected:\n{expected}\nfound:\n{text}"
    ))
}
