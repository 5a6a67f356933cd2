//! What conversations were told, on each store: it survives a restart, it does not cross tenants, and it is noticed.

use std::path::PathBuf;

use factum::conversations::{CorrectionFilter, Telling};
use factum::directory::TenantEntry;
use factum::statements::{Audience, Locale, Reader};
use factum::{
    About, ActionId, Builder, Carried, CarriedRequest, Code, Config, EntryKey, Factum, Kind,
    Permission, Reason, Ruling, Submission,
};

use crate::support::PATIENCE;

const CONFIG: &str = "[contact]\nsay = \"Call 555.\"\nwithin = \"1 ms\"\n";

/// Where everything is written down.
enum Place {
    Memory,
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres {
        url: String,
        folder: PathBuf,
    },
}

impl Place {
    fn parts(&self) -> (Builder, String) {
        match self {
            Self::Memory => (Factum::memory(), CONFIG.to_owned()),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => (Factum::sqlite(path), CONFIG.to_owned()),
            #[cfg(feature = "postgres")]
            Self::Postgres { url, folder } => {
                let store = format!("[store]\nfolder = {:?}\n", folder.display().to_string());
                (Factum::postgres(url), format!("{CONFIG}{store}"))
            }
        }
    }

    /// The same after a restart, where there is anything left of it.
    async fn again(&self, factum: Factum) -> Factum {
        if matches!(self, Self::Memory) {
            return factum;
        }
        factum.shutdown(PATIENCE).await;
        drop(factum);
        start(self).await
    }
}

/// Answers get lost on the way back from this destination.
async fn start(place: &Place) -> Factum {
    let (builder, config) = place.parts();
    let carrier = |_: Permission, _: CarriedRequest| async {
        Carried::Unknown("the answer was lost".to_owned())
    };
    let config = Config::parse("factum.toml", &config).unwrap();
    let factum = builder
        .config(config)
        .carrier("acme/crm", carrier)
        .carrier("other/crm", carrier)
        .start()
        .await
        .unwrap();
    for tenant in ["acme", "other"] {
        let reason = Reason {
            by: "ana",
            why: "the test says so",
        };
        let key = EntryKey::new(Kind::Tenant, tenant, tenant);
        let body = TenantEntry::new(None).text();
        // After a restart they are there.
        let _ = factum.engine().add_entry(key, body, reason).await;
    }
    factum
}

async fn submitted(factum: &Factum, tenant: &str, key: &str) -> ActionId {
    let body = format!(
        r#"{{"destination":"crm","operation":"contact.add","key":"{key}","locale":"pl",
            "conversation":{{"id":"conv-1","turn":1,"asked":"add me"}}}}"#
    );
    let submission = Submission::from_json(&body).unwrap();
    let submitted = factum
        .engine()
        .submit(submission, tenant, "admin")
        .await
        .unwrap();
    let id = submitted.record.id();
    let record = factum.engine().wait(id, PATIENCE).await.unwrap();
    assert_eq!(record.next.step, "review");
    id
}

fn customer() -> Reader {
    Reader::default()
}

async fn due(factum: &Factum, tenant: &str) -> Vec<(String, &'static str, String)> {
    let filter = CorrectionFilter {
        limit: 10,
        ..CorrectionFilter::default()
    };
    let due = factum
        .corrections(tenant, filter, Audience::Customer)
        .await
        .unwrap();
    due.into_iter()
        .map(|one| (one.action, one.kind, one.say))
        .collect()
}

/// Waits for a change of this kind.
async fn heard(
    changes: &mut tokio::sync::broadcast::Receiver<factum::Change>,
    about: About,
) -> ActionId {
    let hearing = async {
        loop {
            let change = changes.recv().await.unwrap();
            if change.about == about {
                return change.action;
            }
        }
    };
    tokio::time::timeout(PATIENCE, hearing).await.unwrap()
}

/// Asked, lost, "not known yet" told; found; the correction is announced, listed in the language it was told in, and survives
/// a restart until it is acknowledged. Nothing of it is another tenant's.
async fn a_correction_is_noticed_and_kept(place: Place) {
    let factum = start(&place).await;
    let id = submitted(&factum, "acme", "k-1").await;
    let other = submitted(&factum, "other", "k-1").await;
    assert_ne!(id, other);
    let shown = factum
        .conversation("acme", "conv-1", customer())
        .await
        .unwrap();
    assert_eq!(shown.actions.len(), 1, "one tenant's alone");
    assert_eq!(shown.actions[0].status.statement.locale, "pl");
    assert_eq!(shown.actions[0].told.len(), 1);

    let mut changes = factum.engine().changes();
    let receipt = Some(factum::Receipt::new("T-9"));
    factum
        .rule(id, Ruling::Happened { receipt }, "ana", "seen")
        .await
        .unwrap();
    assert_eq!(heard(&mut changes, About::CorrectionDue).await, id);
    let said = "Są nowe informacje o Państwa zleceniu. Gotowe. Numer: T-9.".to_owned();
    let expected = vec![(id.to_string(), "news", said)];
    assert_eq!(due(&factum, "acme").await, expected);
    assert!(due(&factum, "other").await.is_empty() && due(&factum, "default").await.is_empty());

    let factum = place.again(factum).await;
    assert_eq!(
        due(&factum, "acme").await,
        expected,
        "as before the restart"
    );
    let telling = || Telling {
        version: 1,
        by: "bot".to_owned(),
        ..Telling::default()
    };
    let crossing = factum
        .told("other", "conv-1", id, telling(), customer())
        .await
        .unwrap_err();
    assert_eq!(crossing.code, Code::UnknownAction, "as if there were none");
    let crossing = factum
        .acknowledge("other", "conv-1", id, 1, "bot")
        .await
        .unwrap_err();
    assert_eq!(crossing.code, Code::UnknownAction);
    let nobody = factum
        .conversation("nobody", "conv-1", customer())
        .await
        .unwrap_err();
    assert_eq!(nobody.code, Code::UnknownConversation);

    let acknowledged = factum
        .acknowledge("acme", "conv-1", id, 1, "bot")
        .await
        .unwrap();
    assert!(!acknowledged.due);
    assert!(due(&factum, "acme").await.is_empty());
    factum.shutdown(PATIENCE).await;
}

/// R22: word of what was told arrives after evidence that contradicts it.
async fn a_race_ends_in_a_correction(place: Place) {
    let factum = start(&place).await;
    let id = submitted(&factum, "acme", "k-1").await;
    let read = factum.status(id).await.unwrap();
    factum
        .rule(id, Ruling::Happened { receipt: None }, "ana", "seen")
        .await
        .unwrap();
    let telling = Telling {
        version: read.version,
        statement: factum::core::statement::StatementKey::from_name(read.statement.key),
        locale: Some(Locale::Japanese),
        by: "bot".to_owned(),
        ..Telling::default()
    };
    let answer = factum
        .told("acme", "conv-1", id, telling, customer())
        .await
        .unwrap();
    let correction = answer.correction.expect("a correction after the race");
    assert_eq!(
        (correction.kind, correction.say.as_str()),
        ("news", "ご依頼についてお知らせします。完了しました。")
    );
    factum.shutdown(PATIENCE).await;
}

/// An answer was promised and did not come: that is announced once, and not again after a restart.
async fn a_late_answer_is_announced_once(place: Place) {
    let factum = start(&place).await;
    let mut changes = factum.engine().changes();
    let id = submitted(&factum, "acme", "k-1").await;
    assert_eq!(heard(&mut changes, About::AnswerLate).await, id);
    let status = factum.status(id).await.unwrap();
    assert!(status.contact.unwrap().late);
    let factum = place.again(factum).await;
    let mut changes = factum.engine().changes();
    let next = submitted(&factum, "acme", "k-2").await;
    assert_eq!(
        heard(&mut changes, About::AnswerLate).await,
        next,
        "the first is known to be late"
    );
    factum.shutdown(PATIENCE).await;
}

#[tokio::test]
async fn in_memory() {
    a_correction_is_noticed_and_kept(Place::Memory).await;
    a_race_ends_in_a_correction(Place::Memory).await;
    a_late_answer_is_announced_once(Place::Memory).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| Place::Sqlite(folder.path().join(name).join("factum.db"));
    a_correction_is_noticed_and_kept(at("a")).await;
    a_race_ends_in_a_correction(at("b")).await;
    a_late_answer_is_announced_once(at("c")).await;
}

#[cfg(feature = "postgres")]
mod postgres {
    use super::*;
    use crate::postgres::database;

    #[tokio::test]
    #[ignore = "wants a server: FACTUM_TEST_POSTGRES"]
    async fn in_postgres() {
        let folder = tempfile::tempdir().unwrap();
        let at = async |name: &str| Place::Postgres {
            url: database().await,
            folder: folder.path().join(name),
        };
        a_correction_is_noticed_and_kept(at("a").await).await;
        a_race_ends_in_a_correction(at("b").await).await;
        a_late_answer_is_announced_once(at("c").await).await;
    }
}
