//! A disk without room: a small file system of its own where that can be mounted, else a limit on the size of the engine's files.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Room enough for the longest run.
const ROOMY: u64 = 2 << 30;
/// The longest file that can be written while the limit holds: the counter beside the store, and not its log.
const FILE_MAX: u64 = 32 << 10;

/// What the store's folder lies on.
pub(super) enum Disk {
    /// A file system in memory, whose size is what is used while it is full.
    Tmpfs(PathBuf),
    /// Whatever is there; no file of the engine grows while it is full.
    FileSize,
}

impl Disk {
    /// Mounts a file system of its own on this folder, if it shall and this user may.
    pub(super) fn on(folder: &Path, may_mount: bool) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        if !may_mount {
            return Ok(Self::FileSize);
        }
        let mounted = mount(
            "tmpfs",
            folder,
            "tmpfs",
            MountFlags::empty(),
            size(ROOMY)?.as_c_str(),
        );
        Ok(match mounted {
            Ok(()) => Self::Tmpfs(folder.to_owned()),
            Err(_) => Self::FileSize,
        })
    }

    /// Which of the two, for the report.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Tmpfs(_) => "tmpfs",
            Self::FileSize => "file_size_limit",
        }
    }

    /// From now on there is no room for the engine that runs as `pid`.
    pub(super) fn fill(&self, pid: Option<Pid>) -> anyhow::Result<()> {
        match self {
            Self::Tmpfs(folder) => full(folder).context("the file system cannot be made full"),
            Self::FileSize => limit(pid, Some(FILE_MAX)),
        }
    }

    /// There is room again.
    pub(super) fn free(&self, pid: Option<Pid>) -> anyhow::Result<()> {
        match self {
            Self::Tmpfs(folder) => {
                mount_remount(folder, MountFlags::empty(), size(ROOMY)?.as_c_str())
                    .context("the file system cannot be made larger")
            }
            Self::FileSize => limit(pid, None),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Self::Tmpfs(folder) = self {
            // Whoever still holds a file there keeps it; nobody finds the folder full of it.
            let _ = unmount(&*folder, UnmountFlags::DETACH);
        }
    }
}

fn size(bytes: u64) -> anyhow::Result<CString> {
    Ok(CString::new(format!("size={bytes},mode=700"))?)
}

/// Makes it as large as what is used. What is written meanwhile needs more than was counted: then it is counted again.
fn full(folder: &Path) -> anyhow::Result<()> {
    const TRIES: u32 = 20;
    let mut last = Ok(());
    for _ in 0..TRIES {
        let stat = rustix::fs::statvfs(folder)?;
        let used = (stat.f_blocks - stat.f_bfree) * stat.f_frsize;
        last = mount_remount(folder, MountFlags::empty(), size(used)?.as_c_str());
        if last.is_ok() {
            break;
        }
    }
    Ok(last?)
}

fn limit(pid: Option<Pid>, current: Option<u64>) -> anyhow::Result<()> {
    if let Some(pid) = pid {
        let limits = Rlimit {
            current,
            maximum: None,
        };
        prlimit(Some(pid), Resource::Fsize, limits).context("the file size cannot be limited")?;
    }
    Ok(())
}
