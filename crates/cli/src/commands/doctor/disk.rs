//! Whether the disk that holds the store has room.

use std::path::Path;

use super::report::Report;

/// Less than this, and it is time to make room; past it, nothing can be recorded.
const ROOM_LEAST: u64 = 1 << 30;

/// Looks at the file system of the store's folder.
pub(super) fn look(store: &Path, report: &mut Report) {
    let folder = match store.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let Ok(stat) = rustix::fs::statvfs(folder) else {
        return;
    };
    let room = stat.f_bavail.saturating_mul(stat.f_frsize);
    let megabytes = room >> 20;
    if room < ROOM_LEAST {
        let says = format!("{megabytes} MiB are left where the store is");
        let remedy = "make room: without it submissions are refused, and answers of destinations cannot be recorded";
        report.warning("disk", says, remedy);
    } else {
        report.ok(
            "disk",
            format!("{megabytes} MiB are left where the store is"),
        );
    }
}
