//! Resources: how an action stands, as JSON, under `factum://actions/ID`.

use std::time::Duration;

use factum::Filter;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{Asked, problem_of, rpc};
use super::wire::RpcError;
use crate::actions::page;

/// What stands before an action's id.
pub(crate) const ACTIONS: &str = "factum://actions/";
/// Resources that are listed at once.
const PAGE: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Paged {
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Read {
    uri: String,
}

/// `resources/list`: the latest actions, page by page.
pub(crate) async fn list(asked: &Asked<'_>) -> Result<Value, RpcError> {
    let paged: Paged = asked.read()?;
    let before = paged.cursor.map(|cursor| cursor.parse()).transpose();
    let before = before.map_err(|_| RpcError::params("no page begins at this cursor"))?;
    let filter = Filter {
        before,
        limit: PAGE,
        ..Filter::default()
    };
    let page = page(asked.app, asked.caller, filter)
        .await
        .map_err(|failure| rpc(&problem_of(failure)))?;
    let resources = page.records.iter().map(|record| {
        let status = asked.view(record, false);
        let title = status.summary.clone();
        json!({
            "uri": format!("{ACTIONS}{}", status.id),
            "name": status.id,
            "title": title.unwrap_or_else(|| format!("{} at {}", status.operation, status.destination)),
            "description": status.statement.say,
            "mimeType": "application/json",
        })
    });
    let mut result = json!({"resources": resources.collect::<Vec<_>>()});
    if let Some(next) = page.next_before {
        result["nextCursor"] = next.into();
    }
    Ok(asked.kept(result, Duration::ZERO))
}

/// `resources/templates/list`.
pub(crate) fn templates(asked: &Asked<'_>) -> Value {
    let template = json!({
        "uriTemplate": format!("{ACTIONS}{{id}}"),
        "name": "action",
        "title": "An action as it stands",
        "mimeType": "application/json",
    });
    asked.kept(
        json!({"resourceTemplates": [template]}),
        Duration::from_secs(3_600),
    )
}

/// `resources/read`.
pub(crate) async fn read(asked: &Asked<'_>) -> Result<Value, RpcError> {
    let Read { uri } = asked.read()?;
    let Some(id) = uri.strip_prefix(ACTIONS) else {
        let why = format!("there is no resource {uri:?}");
        return Err(RpcError::params(why).with(json!({ "uri": uri })));
    };
    let record = asked.action(id).await.map_err(|problem| rpc(&problem))?;
    let status = asked.view(&record, false);
    asked.handed_out(&status).await;
    let text = json!(status).to_string();
    let contents = json!([{"uri": uri, "mimeType": "application/json", "text": text}]);
    Ok(asked.kept(json!({ "contents": contents }), Duration::ZERO))
}
