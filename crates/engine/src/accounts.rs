//! Whose account a credential opens (R13).
//!
//! With the pinned account goes a keyed hash of the credential. A credential that changed may open another account, where our
//! keys mean nothing and our effects are not found: until the contract's who-am-I question, or a person, confirms the account,
//! nothing is sent again by key, and absence counts for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use factum_core::{Span, Timestamp};
use factum_store::{Record, Store};
use factum_transport::{Asked, CredentialGuard, Secret, Target, Transport};

use crate::destination::{Destination, Reach};
use crate::keys::Keys;
use crate::problem::Problem;

/// The setting that holds the confirmed credentials' hashes, as a JSON object of destination to hex digits.
const CONFIRMED: &str = "confirmed_credentials";
/// The setting that holds since when a changed credential counts, as a JSON object of destination to microseconds.
const CHANGED: &str = "changed_credentials";
/// Longest time for reading a secret or asking who we are.
const PATIENCE: Span = Span::from_secs(10);

/// The confirmed credentials of all destinations, and which of them are in doubt.
pub(crate) struct Accounts {
    keys: Keys,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    confirmed: BTreeMap<String, String>,
    /// From when on the confirmed credential is another one than before, in microseconds.
    changed: BTreeMap<String, i64>,
    /// Seen at send time, and not the confirmed one.
    seen: BTreeMap<String, String>,
    in_doubt: BTreeSet<String>,
}

impl Accounts {
    /// As the store remembers them. A destination that was never confirmed starts with the credential that it has now.
    pub(crate) async fn load(
        keys: Keys,
        store: &dyn Store,
        destinations: &BTreeMap<String, Destination>,
    ) -> Result<Self, Problem> {
        let kept = store.setting(CONFIRMED).await?.unwrap_or_default();
        let confirmed = serde_json::from_str(&kept).unwrap_or_default();
        let kept = store.setting(CHANGED).await?.unwrap_or_default();
        let changed = serde_json::from_str(&kept).unwrap_or_default();
        let accounts = Self {
            keys,
            state: Mutex::new(State {
                confirmed,
                changed,
                ..State::default()
            }),
        };
        for (name, destination) in destinations {
            let Reach::Http(target) = &destination.reach else {
                continue;
            };
            match target.auth().credential(PATIENCE).await {
                Ok(Some(secret)) => {
                    accounts.observe(name, &secret, true);
                }
                Ok(None) => {}
                // No reason not to start: it may come later, and until then sends say so one by one.
                Err(error) => {
                    tracing::warn!(destination = %name, %error, "NOTHING WILL BE SENT THERE until its secret can be read");
                }
            }
        }
        accounts.keep(store).await?;
        Ok(accounts)
    }

    /// The destination's target, with a check of the credential that is about to be used. `strict`: a credential that is not
    /// confirmed is not used at all; else it is noticed.
    pub(crate) fn guarded(self: &Arc<Self>, name: &str, target: &Target, strict: bool) -> Target {
        let (accounts, name) = (self.clone(), name.to_owned());
        let guard: CredentialGuard =
            Arc::new(move |secret| accounts.observe(&name, secret, false) || !strict);
        target.clone().with_guard(guard)
    }

    /// Looks at the credential as it is now, for a question whose answer rests on the account. Whether that is in doubt.
    pub(crate) async fn look(&self, name: &str, target: &Target) -> bool {
        if let Ok(Some(secret)) = target.auth().credential(PATIENCE).await {
            self.observe(name, &secret, false);
        }
        self.lock().in_doubt.contains(name)
    }

    /// The destinations whose account is in doubt.
    pub(crate) fn in_doubt(&self) -> BTreeSet<String> {
        self.lock().in_doubt.clone()
    }

    /// Since when each credential that changed is the present one.
    pub(crate) fn changed(&self) -> BTreeMap<String, Timestamp> {
        let state = self.lock();
        let since =
            |(name, micros): (&String, &i64)| (name.clone(), Timestamp::from_micros(*micros));
        state.changed.iter().map(since).collect()
    }

    /// Whether a request of this action was marked before its destination's credential changed.
    pub(crate) fn was_sent_before(&self, record: &Record) -> bool {
        let since = self
            .lock()
            .changed
            .get(&record.action.scope.destination)
            .copied();
        since.is_some_and(|micros| record.known.marked_before(Timestamp::from_micros(micros)))
    }

    /// Asks who we are, and confirms the account if the destination names the one that is configured. Whether it is confirmed.
    pub(crate) async fn ask(
        &self,
        destination: &Destination,
        transport: &dyn Transport,
        store: &dyn Store,
    ) -> bool {
        let Reach::Http(target) = &destination.reach else {
            return false;
        };
        let Some(expected) = &destination.account else {
            return false;
        };
        let contracts = destination
            .operations
            .values()
            .filter_map(|operation| operation.contract.as_ref());
        let question = contracts
            .into_iter()
            .find_map(|own| Some((own, own.contract.whoami_request()?)));
        let Some((own, request)) = question else {
            return false;
        };
        let Asked::Answered(answer) = transport.ask(target, request, PATIENCE).await else {
            return false;
        };
        if own.contract.read_whoami(&answer).as_ref() != Some(expected) {
            return false;
        }
        self.confirm(&destination.name, store).await.is_ok()
    }

    /// Confirms that the credential which was seen last opens the pinned account.
    pub(crate) async fn confirm(&self, name: &str, store: &dyn Store) -> Result<(), Problem> {
        let now = store.now().await?;
        {
            let mut state = self.lock();
            state.in_doubt.remove(name);
            if let Some(seen) = state.seen.remove(name) {
                state.changed.insert(name.to_owned(), now.as_micros());
                state.confirmed.insert(name.to_owned(), seen);
            }
        }
        self.keep(store).await
    }

    /// Whether this credential is the confirmed one. `first`: a destination without a confirmed one takes it as that.
    fn observe(&self, name: &str, secret: &Secret, first: bool) -> bool {
        let hash = secret.with_exposed(|bytes| self.keys.credential(name, bytes));
        let mut state = self.lock();
        let known = state.confirmed.get(name).cloned();
        match known {
            Some(known) if known == hash => true,
            None if first => {
                state.confirmed.insert(name.to_owned(), hash);
                true
            }
            Some(_) | None => {
                state.seen.insert(name.to_owned(), hash);
                state.in_doubt.insert(name.to_owned())
                    .then(|| tracing::warn!(destination = %name, "the credential changed; its account is to be confirmed"));
                false
            }
        }
    }

    async fn keep(&self, store: &dyn Store) -> Result<(), Problem> {
        let (confirmed, changed) = {
            let state = self.lock();
            let text = |json: serde_json::Result<String>| json.unwrap_or_default();
            (
                text(serde_json::to_string(&state.confirmed)),
                text(serde_json::to_string(&state.changed)),
            )
        };
        // The change first: a credential that counts as confirmed must never count as the one from before.
        for (name, text) in [(CHANGED, changed), (CONFIRMED, confirmed)] {
            if store.setting(name).await?.as_ref() != Some(&text) {
                store.set_setting(name, Some(text)).await?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
