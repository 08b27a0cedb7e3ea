//! Whether standard output was closed when the process started.
//!
//! The runtime puts `/dev/null` in the place of a closed one before `main`, so that what is written vanishes without an
//! error: a sealed transcript that nobody gets would be a success. So this is asked before the runtime starts.

use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT: AtomicBool = AtomicBool::new(false);

/// Whether it was.
pub(crate) fn stdout() -> bool {
    STDOUT.load(Ordering::Relaxed)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
extern "C" fn look() {
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()) == Err(rustix::io::Errno::BADF);
    STDOUT.store(closed, Ordering::Relaxed);
}

#[used]
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[allow(unsafe_code, reason = "a function in this section runs before the runtime; it does nothing that needs one")]
static LOOK: extern "C" fn() = look;
