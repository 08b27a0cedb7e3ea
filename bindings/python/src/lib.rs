//! The extension module `toolreplay._native`: what Python needs to reach the library, and nothing else.
//!
//! Every rule, limit, redaction and byte of output is the library's. What happens here is the way in and out: Python
//! objects become values, errors become exceptions, and Python runs on while the library works.

mod audit;
mod canonical;
mod capture;
mod chain;
mod errors;
mod input;
mod recorder;
mod report;
mod table;

/// The native half of `toolreplay`; use the module above it.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::audit::{audit, check_scope, may_be_recording, read_config, replay};
    #[pymodule_export]
    use crate::canonical::canonical;
    #[pymodule_export]
    use crate::chain::{Chain, import_recording, seal, verify};
    #[pymodule_export]
    use crate::errors::{ScopeError, ToolreplayError, TranscriptError};
    #[pymodule_export]
    use crate::recorder::{Recorder, Span, forked};
    #[pymodule_export]
    use crate::report::{Coverage, Finding, Report};
    #[pymodule_export]
    use crate::table::FindingsTable;

    /// The version of the library.
    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");
}
