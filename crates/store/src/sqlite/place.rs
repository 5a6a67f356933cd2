//! Whether a folder can hold a store. Locks and shared memory do not work over network file systems, and a store that two
//! hosts write at once is lost; such places are refused. Where mounts cannot be read (not Linux), nothing is refused.

use std::path::Path;

use crate::{StoreError, StoreErrorKind};

/// File systems that other hosts may write to behind our back, or whose locks are not the kernel's.
const REFUSED: [&str; 14] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "ncpfs",
    "davfs",
    "vboxsf",
];

/// Refuses a folder on a network file system.
pub(super) fn check(folder: &Path) -> Result<(), StoreError> {
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mounts") else {
        return Ok(());
    };
    let Ok(real) = folder.canonicalize() else {
        return Ok(());
    };
    let Some(kind) = network(&mounts, &real) else {
        return Ok(());
    };
    Err(StoreError::new(
        "opening the store",
        StoreErrorKind::Unsuitable {
            path: folder.display().to_string(),
            why: format!(
                "it is on a network file system ({kind}), where locks do not protect the file; use a local disk, or PostgreSQL"
            ),
        },
    ))
}

/// The type of the network file system that `folder` is on, if it is on one.
fn network(mounts: &str, folder: &Path) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let (Some(_), Some(point), Some(kind)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let point = unescape(point);
        let depth = Path::new(&point).components().count();
        // Of two mounts on one point the later one is on top.
        if folder.starts_with(&point) && best.is_none_or(|(known, _)| depth >= known) {
            best = Some((depth, kind));
        }
    }
    let (_, kind) = best?;
    let remote = REFUSED.contains(&kind)
        || kind.strip_prefix("fuse.").is_some_and(|fuse| {
            REFUSED.contains(&fuse) || ["sshfs", "rclone", "s3fs", "gcsfuse"].contains(&fuse)
        });
    remote.then(|| kind.to_owned())
}

/// Mount points escape blanks as `\040`.
fn unescape(point: &str) -> String {
    point
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
/dev/vda / ext4 rw 0 0
files:/export /mnt/shared nfs4 rw 0 0
/dev/vdb /mnt/shared/local ext4 rw 0 0
me@host: /mnt/with\\040blank fuse.sshfs rw 0 0
tmpfs /mnt/over tmpfs rw 0 0
//host/share /mnt/over cifs rw 0 0
";

    #[test]
    fn the_deepest_and_latest_mount_decides() {
        let kind = |path: &str| network(MOUNTS, Path::new(path));
        assert_eq!(kind("/var/lib/factum"), None);
        assert_eq!(kind("/mnt/shared/factum").as_deref(), Some("nfs4"));
        assert_eq!(kind("/mnt/shared/local/factum"), None);
        assert_eq!(
            kind("/mnt/shared2"),
            None,
            "a longer name is another folder"
        );
        assert_eq!(kind("/mnt/with blank/x").as_deref(), Some("fuse.sshfs"));
        assert_eq!(kind("/mnt/over").as_deref(), Some("cifs"));
    }
}
