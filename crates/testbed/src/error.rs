//! What can go wrong with the testbed itself. Faults that it plays are no errors.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the testbed could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not a loopback address.
    #[error(
        "{0} is not a loopback address; the testbed's administration is open, so use 127.0.0.1 or [::1]"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The ledger's file cannot be opened, read or written.
    #[error("cannot use the ledger {}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Another process writes the ledger.
    #[error("the ledger {} is in use by another process; end it or name another file", .0.display())]
    LedgerInUse(PathBuf),
    /// The address of reports is none that the testbed sends to.
    #[error("{0} is no address for reports; write http://127.0.0.1:PORT/PATH")]
    CallbackUrl(String),
    /// A line before the last is no row. A torn last line is dropped and no error.
    #[error("the ledger {} is damaged at line {line}; move it away or remove that line", path.display())]
    LedgerDamaged {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What the line lacks.
        source: serde_json::Error,
    },
    /// A line is not the row that follows the one before it.
    #[error("the ledger {} is damaged at line {line}: row {seq} does not follow; move the file away", path.display())]
    LedgerGap {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The number of the row that stands there.
        seq: u64,
    },
}
