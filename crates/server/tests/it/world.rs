//! A running server on a free port, with a carrier in the application's own code whose effects are counted.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use factum::{Carried, CarriedRequest, Config, Factum, Permission, Receipt};
use factum_server::{App, Limits};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::client::{Answer, exchange, request};
use crate::conforms;

pub(crate) const TOKEN: &str = "sesame-4f1c";

/// What the carrier's destination holds, and the gate at which it lets requests hang.
#[derive(Clone)]
pub(crate) struct Ledger {
    /// Requests that arrived, by their business name.
    arrived: Arc<Mutex<BTreeMap<String, u32>>>,
    count: Arc<watch::Sender<u32>>,
    open: Arc<watch::Sender<bool>>,
}

impl Ledger {
    fn new() -> Self {
        Self {
            arrived: Arc::default(),
            count: Arc::new(watch::Sender::new(0)),
            open: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Carries a request out as its payload says: `{"n": name, "behave": word}`.
    async fn carry(self, request: CarriedRequest) -> Carried {
        let payload: Value = serde_json::from_str(&request.payload).expect("payloads are JSON");
        let name = payload["n"].as_str().unwrap_or_default().to_owned();
        let times = {
            let mut arrived = self.arrived.lock().expect("no test panics in here");
            let times = arrived.entry(name.clone()).or_default();
            *times += 1;
            *times
        };
        self.count.send_modify(|count| *count += 1);
        let done = Carried::Done(Receipt {
            reference: format!("T-{name}"),
            aliases: Vec::new(),
        });
        match payload["behave"].as_str().unwrap_or("done") {
            "done" => done,
            "reject" => Carried::Rejected("no such customer".to_owned()),
            "lose" => Carried::Unknown("the answer was lost".to_owned()),
            "lose once" if times == 1 => Carried::Unknown("the answer was lost".to_owned()),
            "lose once" => done,
            "hang" => {
                let _ = self.open.subscribe().wait_for(|open| *open).await;
                done
            }
            other => panic!("no behaviour is called {other}"),
        }
    }

    /// How many requests arrived in all.
    pub(crate) fn arrived(&self) -> u32 {
        *self.count.borrow()
    }

    /// How many requests of this name arrived.
    pub(crate) fn arrived_as(&self, name: &str) -> u32 {
        self.arrived
            .lock()
            .expect("no test panics in here")
            .get(name)
            .copied()
            .unwrap_or(0)
    }

    /// Waits until so many requests arrived.
    pub(crate) async fn until(&self, wanted: u32) {
        let _ = self
            .count
            .subscribe()
            .wait_for(|count| *count >= wanted)
            .await;
    }

    /// Lets hanging requests go on.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }
}

/// The server and what belongs to it.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) ledger: Ledger,
    factum: Factum,
    document: Value,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<usize>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with("", |limits| limits).await
    }

    /// The engine that is served.
    pub(crate) fn factum(&self) -> &Factum {
        &self.factum
    }

    /// With this `factum.toml`, and bounds changed.
    pub(crate) async fn with(config: &str, bounds: impl FnOnce(Limits) -> Limits) -> Self {
        Self::on(Factum::memory(), config, bounds).await
    }

    /// The same on another store.
    pub(crate) async fn on(
        store: factum::Builder,
        config: &str,
        bounds: impl FnOnce(Limits) -> Limits,
    ) -> Self {
        let config = Config::parse("factum.toml", config).expect("a right configuration");
        let ledger = Ledger::new();
        let carrying = ledger.clone();
        let carrier = move |_: Permission, request: CarriedRequest| carrying.clone().carry(request);
        let factum = store
            .config(config)
            .carrier("crm", carrier.clone())
            // Two more tenants have a destination of the same name.
            .carrier("acme/crm", carrier.clone())
            .carrier("globex/crm", carrier)
            .start()
            .await
            .expect("the engine starts");
        let limits = bounds(Limits::of(&factum));
        let app = App::with_limits(factum.clone(), [TOKEN.to_owned(), String::new()], limits);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(factum_server::serve(listener, app, async move {
            let _ = stopped.await;
        }));
        Self {
            address,
            ledger,
            factum,
            document: factum_server::openapi::document(),
            stop: Some(stop),
            server,
        }
    }

    /// Sends a request with the token, and holds the answer against the document.
    pub(crate) async fn call(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        self.call_as(TOKEN, method, target, headers, body).await
    }

    /// The same with another token.
    pub(crate) async fn call_as(
        &self,
        token: &str,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let authorization = format!("Bearer {token}");
        let mut all = vec![("Authorization", authorization.as_str())];
        all.extend_from_slice(headers);
        let answer = exchange(
            self.address,
            &request(method, target, &all, body.as_bytes()),
        )
        .await;
        let path = target.split('?').next().unwrap_or_default();
        let template = conforms::template(&self.document, path);
        conforms::check(
            &self.document,
            method,
            &template,
            answer.status,
            &answer.json(),
        );
        answer
    }

    /// The engine behind it.
    pub(crate) fn engine(&self) -> &factum::Engine {
        self.factum.engine()
    }

    /// Makes a tenant with the principal `boss`; gives a token of theirs that administers it.
    pub(crate) async fn tenant(&self, name: &str) -> String {
        let made = self.post("/v1/tenants", &json!({ "name": name })).await;
        assert_eq!(made.status, 201, "{}", made.text);
        self.token(name, "boss", &["admin"]).await
    }

    /// Makes a principal of a tenant where there is none, and a token for them.
    pub(crate) async fn token(&self, tenant: &str, principal: &str, scopes: &[&str]) -> String {
        let at = |kind: &str| format!("/v1/{kind}?tenant={tenant}");
        let made = self
            .post(&at("principals"), &json!({ "name": principal }))
            .await;
        assert!(matches!(made.status, 201 | 409), "{}", made.text);
        let wish = json!({"principal": principal, "scopes": scopes});
        let made = self.post(&at("tokens"), &wish).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["token"].as_str().expect("a token").to_owned()
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.call("GET", target, &[], "").await
    }

    pub(crate) async fn post(&self, target: &str, body: &Value) -> Answer {
        self.call("POST", target, &[], &body.to_string()).await
    }

    /// Submits and waits for rest.
    pub(crate) async fn settled(&self, submission: &Value) -> Value {
        let headers = [("Prefer", "wait=30")];
        let answer = self
            .call("POST", "/v1/actions", &headers, &submission.to_string())
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()
    }

    /// Nothing was recorded and nothing was sent.
    pub(crate) async fn is_untouched(&self) {
        assert_eq!(self.get("/v1/actions").await.json()["actions"], json!([]));
        assert_eq!(self.ledger.arrived(), 0);
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits for its end. Answers how many sends could not end.
    pub(crate) async fn ended(self) -> usize {
        self.server.await.expect("the server ends in order")
    }
}

/// A submission to the carrier, which behaves so.
pub(crate) fn submission(name: &str, behave: &str) -> Value {
    json!({
        "destination": "crm", "operation": "contact.add", "key": format!("order/{name}"),
        "payload": {"n": name, "behave": behave}, "summary": "Adds a contact",
    })
}

/// Short bounds for tests that stop a server while something hangs.
pub(crate) fn hasty(limits: Limits) -> Limits {
    Limits {
        shutdown: Duration::from_millis(200),
        ..limits
    }
}

/// The path of an action.
pub(crate) fn at(status: &Value) -> String {
    format!("/v1/actions/{}", status["id"].as_str().expect("an id"))
}
