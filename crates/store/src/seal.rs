//! Sealing: what a store keeps of other people's content is encrypted before it reaches a row, with AES-256-GCM.
//!
//! A sealed text takes the place of the plain one in its column: `~1:`, the number of a key of the [`Ring`], `:`, and nonce, ciphertext
//! and tag in base64. JSON never begins with a tilde, so that a row which was written unsealed is read as what it is. Every record
//! has a key of its own, derived from the ring's; table, column and record are authenticated with the text, so that a sealed text
//! opens nowhere but where it was written. The nonce is a keyed hash of the text: the same text at the same place is the same
//! bytes, and no repeat, restored snapshot or cloned machine ever uses one nonce for two texts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use factum_core::ActionId;

use crate::encoding::Form;
use crate::register::EntryKey;
use crate::report::ReportId;

/// What every sealed text begins with: the version of the form.
const SEALED: &str = "~1:";
/// What a plain text is written behind that could be taken for a sealed one. Only foreign bytes can: JSON begins otherwise.
const PLAIN: &str = "~0:";

/// The setting that says which keys a store was sealed with.
pub const SEALED_WITH: &str = "sealed_with";

/// The number of a key: later keys have higher numbers.
pub type KeyNumber = u32;

/// Keys by number. The highest one seals, all of them open.
#[derive(Clone, Default)]
pub struct Ring {
    keys: BTreeMap<KeyNumber, [u8; 32]>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ring({:?})", self.numbers())
    }
}

impl Ring {
    /// Of these keys: 32 random bytes each, never derived from one another. None seal nothing.
    #[must_use]
    pub fn new(keys: BTreeMap<KeyNumber, [u8; 32]>) -> Self {
        Self { keys }
    }

    /// The numbers of its keys.
    #[must_use]
    pub fn numbers(&self) -> BTreeSet<KeyNumber> {
        self.keys.keys().copied().collect()
    }

    /// What may be remembered of a key, to tell later that it is the same.
    #[must_use]
    pub fn check(&self, number: KeyNumber) -> Option<String> {
        let key = self.keys.get(&number)?;
        let hash = blake3::derive_key("factum store 2026 seal key check v1", key);
        Some(hash[..8].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The key that seals; `None` where nothing is sealed.
    #[must_use]
    pub fn newest(&self) -> Option<KeyNumber> {
        self.keys.last_key_value().map(|(number, _)| *number)
    }
}

/// Where the ring is read from, or why it cannot be.
type Source = dyn Fn() -> Result<Ring, String> + Send + Sync;

/// Seals and opens texts with a ring that may change while the store is at work, and knows in what form the store's texts are. Clones
/// share the ring.
#[derive(Clone)]
pub struct Seals {
    ring: Arc<RwLock<Ring>>,
    source: Arc<Source>,
    only_opening: bool,
    form: Arc<Form>,
}

impl fmt::Debug for Seals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seals({:?})", self.ring())
    }
}

/// Where a text stands: what is authenticated with it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The table and the column.
    column: &'static str,
    /// The name of the record that the row belongs to, as unambiguous bytes.
    record: Vec<u8>,
}

impl Place {
    fn new(column: &'static str, parts: &[&[u8]]) -> Self {
        let mut record = Vec::with_capacity(64);
        for part in parts {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            record.extend_from_slice(&length.to_be_bytes());
            record.extend_from_slice(part);
        }
        Self { column, record }
    }

    /// A column of an action, or of its evidence.
    pub(crate) fn of_action(column: &'static str, id: ActionId) -> Self {
        Self::new(column, &[&id.to_bytes()])
    }

    /// A column of a report.
    pub(crate) fn of_report(column: &'static str, id: &ReportId) -> Self {
        Self::new(column, &[&id.0])
    }

    /// The body of an entry, in each of its versions.
    pub(crate) fn of_entry(key: &EntryKey) -> Self {
        let kind = key.kind.word();
        let parts = [kind, &key.tenant, &key.id].map(str::as_bytes);
        Self::new("entry.body", &parts)
    }

    /// What is authenticated.
    fn bytes(&self) -> Vec<u8> {
        [self.column.as_bytes(), &[0], &self.record].concat()
    }
}

impl Seals {
    /// Nothing is sealed, and nothing sealed can be opened.
    #[must_use]
    pub fn off() -> Self {
        Self::of(Ring::default())
    }

    /// With a ring that stays as it is.
    #[must_use]
    pub fn of(ring: Ring) -> Self {
        Self {
            ring: Arc::new(RwLock::new(ring.clone())),
            source: Arc::new(move || Ok(ring.clone())),
            only_opening: false,
            form: Arc::default(),
        }
    }

    /// With a ring that is read anew on [`Self::reload`], and when a text names a key that it lacks.
    ///
    /// # Errors
    /// What the source says.
    pub fn from_source(
        source: impl Fn() -> Result<Ring, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let ring = source()?;
        Ok(Self {
            ring: Arc::new(RwLock::new(ring)),
            source: Arc::new(source),
            only_opening: false,
            form: Arc::default(),
        })
    }

    /// With the same ring: what is sealed is opened, and nothing more is sealed.
    #[must_use]
    pub fn only_opening(self) -> Self {
        Self {
            only_opening: true,
            ..self
        }
    }

    /// With the same ring, for texts of this form.
    #[cfg(feature = "postgres")]
    pub(crate) fn in_form(self, form: Arc<Form>) -> Self {
        Self { form, ..self }
    }

    /// The form of the store's texts.
    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    /// Whether what is written is sealed, once there is a key.
    #[must_use]
    pub fn seals(&self) -> bool {
        !self.only_opening
    }

    /// Reads the ring anew: from then on its newest key seals. Gives the ring.
    ///
    /// # Errors
    /// What the source says; the ring stays as it is.
    pub fn reload(&self) -> Result<Ring, String> {
        let ring = (self.source)()?;
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring.clone();
        Ok(ring)
    }

    /// The ring as it is.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The text as it is written at this place.
    pub(crate) fn seal<'t>(&self, place: &Place, text: &'t str) -> Cow<'t, str> {
        match self.newest() {
            Some((number, key)) => Cow::Owned(sealed(&key, number, place, text.as_bytes())),
            None if text.starts_with('~') => Cow::Owned(format!("{PLAIN}{text}")),
            None => Cow::Borrowed(text),
        }
    }

    /// The same for bytes.
    pub(crate) fn seal_bytes<'t>(&self, place: &Place, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        match self.newest() {
            Some((number, key)) => Cow::Owned(sealed(&key, number, place, bytes).into_bytes()),
            None if bytes.starts_with(b"~") => Cow::Owned([PLAIN.as_bytes(), bytes].concat()),
            None => Cow::Borrowed(bytes),
        }
    }

    /// The key that seals.
    fn newest(&self) -> Option<(KeyNumber, [u8; 32])> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        let newest = ring.keys.last_key_value().filter(|_| self.seals());
        newest.map(|(number, key)| (*number, *key))
    }

    /// Whether what is written is sealed now.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_sealing(&self) -> bool {
        self.newest().is_some()
    }

    /// The text that was written at this place, or what is wrong with it, for people.
    pub(crate) fn open(&self, place: &Place, written: String) -> Result<String, String> {
        if !written.starts_with('~') {
            return Ok(written);
        }
        let bytes = self.open_bytes(place, written.into_bytes())?;
        String::from_utf8(bytes).map_err(|_| "is no text once it is opened".to_owned())
    }

    /// The same for bytes.
    pub(crate) fn open_bytes(&self, place: &Place, written: Vec<u8>) -> Result<Vec<u8>, String> {
        if let Some(plain) = written.strip_prefix(PLAIN.as_bytes()) {
            return Ok(plain.to_vec());
        }
        let Some((number, text)) = parts(&written) else {
            return Ok(written);
        };
        let key = self.key(number)?;
        let mut bytes = STANDARD_NO_PAD
            .decode(text)
            .map_err(|_| "is no sealed text".to_owned())?;
        opened(&key, place, &mut bytes).ok_or_else(|| {
            format!("does not open with key {number}: it is not what was written there")
        })
    }

    /// The key with this number, also one that has come since the ring was read.
    fn key(&self, number: KeyNumber) -> Result<[u8; 32], String> {
        let known = |ring: &Ring| ring.keys.get(&number).copied();
        let held = known(&self.ring());
        let key = match held {
            Some(key) => Some(key),
            // Another worker seals with a newer key already: from now on this one does, too.
            None => (self.source)().ok().and_then(|ring| {
                let key = known(&ring)?;
                let mut held = self.ring.write().unwrap_or_else(PoisonError::into_inner);
                held.keys.insert(number, key);
                Some(key)
            }),
        };
        key.ok_or_else(|| {
            format!("is sealed with key {number}, which is not here; put it back from a backup")
        })
    }
}

/// By what the rows that are sealed with a key are found, or with `None` those in clear: a pattern, and whether a text is like it.
pub(crate) fn pattern(key: Option<KeyNumber>) -> (String, bool) {
    match key {
        Some(number) => (format!("{SEALED}{number}:%"), true),
        None => (format!("{SEALED}%"), false),
    }
}

/// The number of the key, and the rest.
fn parts(written: &[u8]) -> Option<(KeyNumber, &[u8])> {
    let rest = written.strip_prefix(SEALED.as_bytes())?;
    let end = rest.iter().take(11).position(|byte| *byte == b':')?;
    let number = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    Some((number, &rest[end + 1..]))
}

/// The keys of one record: for its texts, and for their nonces.
fn record_keys(key: &[u8; 32], place: &Place) -> (LessSafeKey, [u8; 32]) {
    let root = blake3::derive_key("factum store 2026 seal of a record v1", key);
    let mut record = blake3::Hasher::new_keyed(&root);
    record.update(&place.record);
    let mut both = [0; 64];
    record.finalize_xof().fill(&mut both);
    let (text, nonce) = both.split_at(32);
    let text = UnboundKey::new(&AES_256_GCM, text).expect("a key of 32 bytes");
    let mut nonces = [0; 32];
    nonces.copy_from_slice(nonce);
    (LessSafeKey::new(text), nonces)
}

fn sealed(key: &[u8; 32], number: KeyNumber, place: &Place, plain: &[u8]) -> String {
    let (key, nonces) = record_keys(key, place);
    let bound = place.bytes();
    let mut hash = blake3::Hasher::new_keyed(&nonces);
    hash.update(&bound);
    hash.update(plain);
    let mut nonce = [0; NONCE_LEN];
    nonce.copy_from_slice(&hash.finalize().as_bytes()[..NONCE_LEN]);
    let mut body = plain.to_vec();
    let tag = key
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(bound),
            &mut body,
        )
        .expect("a text of less than 64 GB");
    let whole = [nonce.as_slice(), &body, tag.as_ref()].concat();
    let mut text = format!("{SEALED}{number}:");
    STANDARD_NO_PAD.encode_string(whole, &mut text);
    text
}

fn opened(key: &[u8; 32], place: &Place, whole: &mut [u8]) -> Option<Vec<u8>> {
    let (nonce, body) = whole.split_first_chunk_mut::<NONCE_LEN>()?;
    let (key, _) = record_keys(key, place);
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let plain = key.open_in_place(nonce, Aad::from(place.bytes()), body);
    plain.ok().map(|plain| plain.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Place {
        Place::new("action.payload", &[b"one"])
    }

    fn ring(numbers: &[KeyNumber]) -> Ring {
        let key = |number: &KeyNumber| (*number, [u8::try_from(*number).unwrap(); 32]);
        Ring::new(numbers.iter().map(key).collect())
    }

    #[test]
    fn a_text_opens_where_it_was_sealed_and_nowhere_else() {
        let seals = Seals::of(ring(&[1]));
        let written = seals.seal(&here(), r#"{"card":"4111"}"#).into_owned();
        assert!(written.starts_with("~1:1:") && !written.contains("4111"));
        assert_eq!(
            seals.open(&here(), written.clone()).unwrap(),
            r#"{"card":"4111"}"#
        );
        let elsewhere = [
            Place::new("action.params", &[b"one"]),
            Place::new("action.payload", &[b"two"]),
            Place::new("action.payload", &[b"on", b"e"]),
        ];
        for place in elsewhere {
            let how = seals.open(&place, written.clone()).unwrap_err();
            assert!(how.contains("not what was written"), "{how}");
        }
    }

    #[test]
    fn every_changed_byte_of_a_sealed_text_is_noticed() {
        let seals = Seals::of(ring(&[1]));
        let written = seals.seal(&here(), "{}").into_owned().into_bytes();
        for (at, bit) in (0..written.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut changed = written.clone();
            changed[at] ^= 1 << bit;
            assert_ne!(seals.open_bytes(&here(), changed), Ok(b"{}".to_vec()));
        }
    }

    #[test]
    fn the_newest_key_seals_and_the_older_ones_open() {
        let old = Seals::of(ring(&[1])).seal(&here(), "{}").into_owned();
        let both = Seals::of(ring(&[1, 2]));
        assert_eq!(both.open(&here(), old.clone()).unwrap(), "{}");
        assert!(both.seal(&here(), "{}").starts_with("~1:2:"));
        let how = Seals::of(ring(&[2])).open(&here(), old).unwrap_err();
        assert!(how.contains("sealed with key 1"), "{how}");
    }

    #[test]
    fn what_was_written_unsealed_is_read_as_it_is() {
        let (on, off) = (Seals::of(ring(&[1])), Seals::off());
        assert_eq!(
            on.open(&here(), r#"{"a":1}"#.to_owned()).unwrap(),
            r#"{"a":1}"#
        );
        assert_eq!(off.seal(&here(), "{}"), "{}");
        // Foreign bytes may look like anything.
        let foreign = b"~1:7:AAAA".as_slice();
        let written = off.seal_bytes(&here(), foreign).into_owned();
        assert_eq!(on.open_bytes(&here(), written).unwrap(), foreign);
    }

    #[test]
    fn a_key_that_has_come_meanwhile_opens_and_seals_from_then_on() {
        let now = Arc::new(RwLock::new(ring(&[1])));
        let read = Arc::clone(&now);
        let seals = Seals::from_source(move || Ok(read.read().unwrap().clone())).unwrap();
        let newer = Seals::of(ring(&[1, 2])).seal(&here(), "{}").into_owned();
        assert!(seals.open(&here(), newer.clone()).is_err());
        *now.write().unwrap() = ring(&[1, 2]);
        assert_eq!(seals.open(&here(), newer).unwrap(), "{}");
        assert_eq!(seals.reload().unwrap().newest(), Some(2));
        assert_eq!(
            format!("{seals:?}"),
            "Seals(Ring({1, 2}))",
            "keys are never shown"
        );
    }
}
