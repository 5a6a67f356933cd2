//! Secrets by reference: read at send time, never stored, never shown.
//!
//! This is the one file that reads the process environment, and it reads only the variable that a reference names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use factum_core::Span;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::clock::duration;
use crate::error::{Malformed, SecretError, SecretErrorKind};

/// No secret is longer; a larger file is the wrong file.
const LENGTH_MAX: usize = 64 * 1024;

/// The text of a secret while it is in use.
pub struct Secret(Vec<u8>);

impl Secret {
    /// Wraps bytes that nobody else shows.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Hands out the bytes for as long as `use_it` runs: to make a header, or a keyed hash of the credential (R13).
    pub fn with_exposed<T>(&self, use_it: impl FnOnce(&[u8]) -> T) -> T {
        use_it(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Where a secret is kept.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum SecretRef {
    /// `env:NAME`, a variable of this process's environment.
    Env(String),
    /// `file:PATH`, a regular file.
    File(PathBuf),
    /// `cmd:PROGRAM ARGS…`, what a program prints. No shell: arguments are parted by white space.
    Command {
        /// What is run, found through `PATH` unless it is a path.
        program: String,
        /// Its arguments.
        args: Vec<String>,
    },
}

impl SecretRef {
    /// Reads a reference from configuration.
    ///
    /// # Errors
    /// [`Malformed`] if the text is no reference; it does not repeat the text, which may be a secret in the wrong place.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let remedy = "write env:NAME, file:PATH or cmd:PROGRAM ARGS";
        let wrong = |rule: &str| Malformed::new("auth", rule, remedy);
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(wrong("a secret is given by reference, never itself"));
        };
        match kind {
            "env" => {
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let leads = |c: char| c.is_ascii_alphabetic() || c == '_';
                if rest.starts_with(leads) && rest.chars().all(fits) {
                    Ok(Self::Env(rest.to_owned()))
                } else {
                    Err(wrong(
                        "the name of a variable has letters, digits and _ only",
                    ))
                }
            }
            "file" if rest.is_empty() || rest.contains('\0') => {
                Err(wrong("the path of a secret's file is missing"))
            }
            "file" => Ok(Self::File(PathBuf::from(rest))),
            "cmd" if rest.contains(['"', '\'', '\\', '\0']) => Err(Malformed::new(
                "auth",
                "a command is split at white space, and quotes are not understood",
                "put it into a script and name the script",
            )),
            "cmd" => {
                let mut words = rest.split_whitespace().map(str::to_owned);
                let program = words
                    .next()
                    .ok_or_else(|| wrong("the program that prints the secret is missing"))?;
                Ok(Self::Command {
                    program,
                    args: words.collect(),
                })
            }
            _ => Err(wrong("a secret is given by reference, never itself")),
        }
    }

    /// The reference as it stands in configuration; [`SecretRef::parse`] reads it back.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Command { program, args } => {
                let mut text = format!("cmd:{program}");
                for arg in args {
                    text.push(' ');
                    text.push_str(arg);
                }
                text
            }
            Self::Env(_) | Self::File(_) => self.to_string(),
        }
    }

    /// Reads the secret, without one trailing newline, within `limit`.
    ///
    /// # Errors
    /// [`SecretError`] says where it was looked for and what went wrong, and nothing of what was found.
    pub async fn resolve(&self, limit: Span) -> Result<Secret, SecretError> {
        let found = tokio::time::timeout(duration(limit), self.read()).await;
        let mut bytes = found
            .unwrap_or(Err(SecretErrorKind::TooSlow(limit)))
            .map_err(|kind| self.error(kind))?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        if bytes.is_empty() {
            return Err(self.error(SecretErrorKind::Empty));
        }
        Ok(Secret(bytes))
    }

    pub(crate) fn error(&self, kind: SecretErrorKind) -> SecretError {
        SecretError {
            reference: self.to_string(),
            kind,
        }
    }

    async fn read(&self) -> Result<Vec<u8>, SecretErrorKind> {
        match self {
            Self::Env(name) => std::env::var_os(name)
                .map(std::ffi::OsString::into_encoded_bytes)
                .ok_or(SecretErrorKind::NotSet),
            Self::File(path) => read_file(path).await,
            Self::Command { program, args } => run(program, args).await,
        }
    }
}

async fn read_file(path: &Path) -> Result<Vec<u8>, SecretErrorKind> {
    let unreadable = |e: std::io::Error| SecretErrorKind::Unreadable(e.kind());
    // Opening a pipe waits for its writer, in a thread that nothing can end: so the kind is asked for first.
    let meta = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if !meta.is_file() {
        return Err(SecretErrorKind::NotAFile);
    }
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    read_bounded(file, SecretErrorKind::Unreadable).await
}

async fn run(program: &str, args: &[String]) -> Result<Vec<u8>, SecretErrorKind> {
    let not_run = |e: std::io::Error| SecretErrorKind::NotRun(e.kind());
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(not_run)?;
    let out = child
        .stdout
        .take()
        .expect("standard output was asked to be piped");
    let bytes = read_bounded(out, SecretErrorKind::NotRun).await?;
    let status = child.wait().await.map_err(not_run)?;
    if status.success() {
        Ok(bytes)
    } else {
        Err(SecretErrorKind::Failed(status.to_string()))
    }
}

async fn read_bounded(
    from: impl AsyncRead + Unpin,
    wrong: impl Fn(std::io::ErrorKind) -> SecretErrorKind,
) -> Result<Vec<u8>, SecretErrorKind> {
    let mut bytes = Vec::new();
    from.take(LENGTH_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(|e| wrong(e.kind()))?;
    if bytes.len() > LENGTH_MAX {
        return Err(SecretErrorKind::TooLong(LENGTH_MAX));
    }
    Ok(bytes)
}

impl fmt::Display for SecretRef {
    /// Where it is kept; of a command only the program, because arguments may say too much.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Command { program, .. } => write!(f, "cmd:{program}"),
        }
    }
}

impl fmt::Debug for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretRef({self})")
    }
}
