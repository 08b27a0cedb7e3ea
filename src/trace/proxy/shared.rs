//! What the requests of one proxy have in common.

use super::association::Associations;
use super::config::Config;
use super::file_pool::FilePool;
use super::room::Room;
use super::upstream::Client;
use super::writer::{Budget, Writer};
use crate::trace::Redactor;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where the proxy's own lines go. They carry no credentials and no bodies.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// What every request shares.
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) client: Client,
    pub(super) associations: Associations,
    pub(super) writer: Writer,
    pub(super) budget: Arc<Budget>,
    pub(super) room: Arc<Room>,
    pub(super) files: Arc<FilePool>,
    /// Knows which names are secret; holds no secrets.
    pub(super) names: Redactor,
    pub(super) stopping: AtomicBool,
    pub(super) log: Log,
}
