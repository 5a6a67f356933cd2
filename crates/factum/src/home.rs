//! The data folder: the store, the keys, the admin token. Made on the first start, readable by its owner only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use factum_engine::{Code, Keys, Problem};

/// The data folder of one engine.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The folder that holds the store at `store`.
    #[must_use]
    pub fn beside(store: &Path) -> Self {
        let parent = store
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        Self {
            root: parent.unwrap_or(Path::new(".")).to_owned(),
        }
    }

    /// This folder.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file with the admin token.
    #[must_use]
    pub fn token_file(&self) -> PathBuf {
        self.root.join("admin.token")
    }

    /// The file with the root secret that identities, provider keys and checksums are made from.
    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.root.join("keys").join("root")
    }

    /// The keys: read, or made where this folder holds no store yet.
    ///
    /// # Errors
    /// A store without its keys is refused: with new ones, no repeated submission would be recognised any more.
    pub fn keys(&self, store: &Path) -> Result<Keys, Problem> {
        let file = self.key_file();
        if let Some(text) = read_if_there(&file)? {
            return parse_key(&text).map(Keys::new).ok_or_else(|| {
                let rule = format!("{} does not hold 64 hex digits", file.display());
                Problem::new(
                    Code::BadConfig,
                    "/keys",
                    rule,
                    "put the file back from a backup",
                )
            });
        }
        if store.exists() {
            let rule = format!(
                "{} is missing, and {} exists: with new keys no repeated submission would be recognised",
                file.display(),
                store.display()
            );
            return Err(Problem::new(
                Code::BadConfig,
                "/keys",
                rule,
                "put the file back from a backup",
            ));
        }
        let secret = random_bytes()?;
        self.make(file.parent().unwrap_or(&self.root))?;
        write_new(&file, &format!("{}\n", hex(&secret)))?;
        Ok(Keys::new(secret))
    }

    /// The admin token: read, or made on the first start.
    ///
    /// # Errors
    /// [`Problem`] if the file cannot be read or made.
    pub fn admin_token(&self) -> Result<String, Problem> {
        let file = self.token_file();
        if let Some(text) = read_if_there(&file)? {
            return Ok(text.trim().to_owned());
        }
        let token = format!("fct_{}", hex(&random_bytes()?));
        self.make(&self.root)?;
        write_new(&file, &format!("{token}\n"))?;
        Ok(token)
    }

    /// Makes the folder itself, readable by its owner only.
    ///
    /// # Errors
    /// [`Problem`] if that is not possible.
    pub fn create(&self) -> Result<(), Problem> {
        self.make(&self.root)
    }

    /// Secrets that others can read, as findings for `doctor`.
    #[must_use]
    pub fn readable_by_others(&self) -> Vec<PathBuf> {
        let mut files = vec![self.token_file(), self.key_file()];
        for keys in ["seal", "sign"] {
            let folder = self.root.join("keys").join(keys);
            let found = fs::read_dir(folder).into_iter().flatten().flatten();
            files.extend(found.map(|entry| entry.path()));
        }
        let open = |file: &PathBuf| {
            fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
        };
        files.into_iter().filter(open).collect()
    }

    pub(crate) fn make(&self, folder: &Path) -> Result<(), Problem> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| cannot("make", folder, &error))
    }
}

fn read_if_there(file: &Path) -> Result<Option<String>, Problem> {
    let mut text = String::new();
    match File::open(file).and_then(|mut open| open.read_to_string(&mut text)) {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", file, &error)),
    }
}

pub(crate) fn write_new(file: &Path, text: &str) -> Result<(), Problem> {
    let mut open = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .map_err(|error| cannot("make", file, &error))?;
    open.write_all(text.as_bytes())
        .and_then(|()| open.sync_all())
        .map_err(|error| cannot("write", file, &error))
}

pub(crate) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Problem {
    let rule = format!("cannot {what} {}: {error}", path.display());
    Problem::new(
        Code::BadConfig,
        "/store/url",
        rule,
        "choose another folder, or change its permissions",
    )
}

pub(crate) fn random_bytes() -> Result<[u8; 32], Problem> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        let rule = format!("the operating system gives no random bytes: {error}");
        Problem::new(
            Code::BadConfig,
            "/keys",
            rule,
            "repair the operating system's random source",
        )
    })?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn parse_key(text: &str) -> Option<[u8; 32]> {
    let text = text.trim();
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(key)
}

/// The key in a file: 64 hex digits, or where they are, `file:PATH` or `env:NAME`.
pub(crate) fn key_in(path: &Path) -> Result<[u8; 32], String> {
    let text = text_of(path)?;
    let text = match text.trim().split_once(':') {
        Some(("file", other)) => text_of(Path::new(other))?,
        Some(("env", name)) => variable(name)?,
        Some(_) | None => text,
    };
    parse_key(&text).ok_or_else(|| {
        format!(
            "{} holds neither 64 hex digits nor file:PATH or env:NAME with such",
            path.display()
        )
    })
}

fn text_of(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a key's own file names this variable, and nothing else is read"
)]
fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("the variable {name}, which a key is in, is not set"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_and_never_anew_beside_a_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("data").join("factum.db");
        let home = Home::beside(&store);
        let made = home.keys(&store).unwrap();
        let read = home.keys(&store).unwrap();
        assert_eq!(made.checksum(), read.checksum());
        assert!(home.readable_by_others().is_empty());
        fs::write(&store, "x").unwrap();
        fs::remove_file(home.key_file()).unwrap();
        let problem = home.keys(&store).unwrap_err();
        assert_eq!(problem.code, Code::BadConfig);
        assert!(problem.remedy.contains("backup"), "{problem}");
    }

    #[test]
    fn the_token_is_made_once_and_its_file_is_the_owners() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::beside(&folder.path().join("d").join("factum.db"));
        let token = home.admin_token().unwrap();
        assert_eq!(token.len(), 4 + 64);
        assert_eq!(home.admin_token().unwrap(), token);
        assert_eq!(
            fs::metadata(home.token_file())
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600
        );
    }
}
