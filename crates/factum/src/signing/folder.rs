//! The keys that documents are signed with: `keys/sign/` of the data folder, one file for each, named by its number.
//!
//! A file holds the key's 64 hex digits, or says where they are, as those of the seals do; the highest number signs. Where another one
//! came, the file of the one before is removed, and `N.public` beside it keeps what is published of it, for as long as somebody may hold
//! what it signed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_core::Timestamp;
use factum_engine::{Code, Problem};
use serde_json::{Map, Value};

use super::{KEY, KeySet, PublicKey, SIGNATURE, canonical};
use crate::home::{Home, cannot, hex, key_in, random_bytes, write_new};
use crate::view::rfc3339;

/// Behind the number of a key that signs nothing any more.
const PUBLIC: &str = "public";

/// The signing keys of a data folder, read when they are needed: one that came meanwhile signs from then on. Beside a store in memory,
/// one key that is gone with it.
#[derive(Clone)]
pub struct SigningKeys {
    home: Home,
    folder: PathBuf,
    in_memory: Option<[u8; 32]>,
}

impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeys({})", self.folder.display())
    }
}

impl SigningKeys {
    /// Of a data folder. Nothing is made here: see [`Self::settle`].
    #[must_use]
    pub fn of(home: &Home) -> Self {
        Self {
            home: home.clone(),
            folder: home.root().join("keys").join("sign"),
            in_memory: None,
        }
    }

    /// One key that is kept nowhere.
    ///
    /// # Errors
    /// F1040 if the operating system gives no random bytes.
    pub fn in_memory() -> Result<Self, Problem> {
        Ok(Self {
            in_memory: Some(random_bytes()?),
            ..Self::of(&Home::at(Path::new("")))
        })
    }

    /// Makes the first key where there is none.
    ///
    /// # Errors
    /// F1040 if a key cannot be read or made.
    pub fn settle(&self) -> Result<(), Problem> {
        match self.numbers()?.last_key_value() {
            Some(_) => Ok(()),
            None => self.make(1),
        }
    }

    /// Makes the next key and lets go of the one before, of which what is published stays. Gives the new key's name.
    ///
    /// # Errors
    /// F1040 if a file cannot be read or written.
    pub fn rotate(&self, now: Timestamp) -> Result<String, Problem> {
        let before = self.numbers()?.last_key_value().map(|(number, _)| *number);
        self.make(before.unwrap_or(0) + 1)?;
        for (number, file) in self.numbers()? {
            if before.is_some_and(|before| number <= before) && file == Kept::Private {
                let path = self.folder.join(number.to_string());
                let retired = public(&pair(&path)?)?.retired(rfc3339(now));
                let beside = path.with_extension(PUBLIC);
                write_new(&beside, &format!("{:#}\n", retired.to_json()))?;
                fs::remove_file(&path).map_err(|error| cannot("remove", &path, &error))?;
            }
        }
        Ok(public(&self.newest()?)?.id())
    }

    /// What is published: every key that may have signed something, the newest first.
    ///
    /// # Errors
    /// F1040 if a key cannot be read.
    pub fn published(&self) -> Result<KeySet, Problem> {
        if let Some(seed) = &self.in_memory {
            return Ok(KeySet::new(vec![public(&of_seed(seed)?)?]));
        }
        let mut keys = Vec::new();
        for (number, kept) in self.numbers()?.into_iter().rev() {
            let path = self.folder.join(number.to_string());
            keys.push(match kept {
                Kept::Private => public(&pair(&path)?)?,
                Kept::Public => read_public(&path.with_extension(PUBLIC))?,
            });
        }
        Ok(KeySet::new(keys))
    }

    /// Signs a document; gives it with its key's name and its signature.
    ///
    /// # Errors
    /// F1160 without a key, F1040 if it cannot be read.
    pub fn sign(&self, mut document: Map<String, Value>) -> Result<Value, Problem> {
        let pair = self.newest()?;
        document.insert(KEY.to_owned(), public(&pair)?.id().into());
        let text = canonical(&Value::Object(document.clone()));
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(text.as_bytes()));
        document.insert(SIGNATURE.to_owned(), signature.into());
        Ok(Value::Object(document))
    }

    fn newest(&self) -> Result<Ed25519KeyPair, Problem> {
        if let Some(seed) = &self.in_memory {
            return of_seed(seed);
        }
        match self.numbers()?.last_key_value() {
            Some((number, Kept::Private)) => pair(&self.folder.join(number.to_string())),
            Some((_, Kept::Public)) | None => {
                let rule = format!("there is no key in {} to sign with", self.folder.display());
                let remedy = "start `factum serve`, which makes one, or put the folder keys/ back from a backup";
                Err(Problem::new(Code::NoSigningKey, "", rule, remedy))
            }
        }
    }

    fn make(&self, number: u32) -> Result<(), Problem> {
        self.home.make(&self.folder)?;
        let secret = hex(&random_bytes()?);
        write_new(
            &self.folder.join(number.to_string()),
            &format!("{secret}\n"),
        )
    }

    /// The keys by their numbers; files with other names are left alone.
    fn numbers(&self) -> Result<BTreeMap<u32, Kept>, Problem> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(BTreeMap::new());
            }
            Err(error) => return Err(cannot("read", &self.folder, &error)),
        };
        let mut keys = BTreeMap::new();
        for entry in entries {
            let entry = entry.map_err(|error| cannot("read", &self.folder, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Ok(number) = name.parse() {
                keys.insert(number, Kept::Private);
            } else if let Some(Ok(number)) = name.strip_suffix(".public").map(str::parse) {
                keys.entry(number).or_insert(Kept::Public);
            }
        }
        Ok(keys)
    }
}

/// What is kept of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// All of it.
    Private,
    /// What is published.
    Public,
}

fn bad(rule: String) -> Problem {
    let remedy = "put the file back from a backup";
    Problem::new(Code::BadConfig, "/keys/sign", rule, remedy)
}

fn pair(path: &Path) -> Result<Ed25519KeyPair, Problem> {
    of_seed(&key_in(path).map_err(bad)?)
}

fn of_seed(seed: &[u8; 32]) -> Result<Ed25519KeyPair, Problem> {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed);
    pair.map_err(|_| bad("32 bytes are no Ed25519 key".to_owned()))
}

fn public(pair: &Ed25519KeyPair) -> Result<PublicKey, Problem> {
    let x = pair.public_key().as_ref().try_into();
    let x = x.map_err(|_| bad("an Ed25519 key does not have 32 bytes".to_owned()))?;
    Ok(PublicKey::new(x, None))
}

fn read_public(path: &Path) -> Result<PublicKey, Problem> {
    let text = fs::read_to_string(path).map_err(|error| cannot("read", path, &error))?;
    let jwk: Option<Map<String, Value>> = serde_json::from_str(&text).ok();
    jwk.and_then(|jwk| PublicKey::of_json(&jwk))
        .ok_or_else(|| bad(format!("{} holds no Ed25519 key", path.display())))
}
