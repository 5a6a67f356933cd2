//! What results of servers say: pure, over JSON that somebody else wrote.

use serde_json::Value;

use super::config::LookUp;

/// What a tool's result says of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is done.
    Done,
    /// The tool says that it failed.
    Error(String),
    /// It asks for something, is a handle, or is no result: nothing follows from it.
    Nothing,
}

pub(super) fn meaning(result: &Value) -> Meaning {
    let whole = matches!(result["resultType"].as_str(), None | Some("complete"));
    if !whole || !result["content"].is_array() {
        return Meaning::Nothing;
    }
    match &result["isError"] {
        Value::Null | Value::Bool(false) => Meaning::Done,
        Value::Bool(true) => Meaning::Error(words(result)),
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Meaning::Nothing
        }
    }
}

/// The text of a result, shortened.
pub(super) fn words(result: &Value) -> String {
    let items = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = items.filter_map(|item| item["text"].as_str()).collect();
    let mut text = texts.join(" ");
    if let Some((at, _)) = text.char_indices().nth(500) {
        text.truncate(at);
        text.push('…');
    }
    if text.is_empty() {
        "it gave no reason".to_owned()
    } else {
        text
    }
}

/// What stands at a pointer of a result's structured content, or of its text where that is JSON.
pub(super) fn receipt(result: &Value, pointer: &str) -> Option<String> {
    documents(result)
        .iter()
        .find_map(|document| plain(document.pointer(pointer)?))
}

/// What a lookup's result shows of ours: a receipt for each.
pub(super) fn hits(lookup: &LookUp, mark: &str, result: &Value) -> Result<Vec<String>, String> {
    match meaning(result) {
        Meaning::Done => {}
        Meaning::Error(why) => return Err(why),
        Meaning::Nothing => return Err("the lookup's result is none".to_owned()),
    }
    let Some(pointer) = &lookup.items else {
        let shown = result.to_string().contains(mark);
        return Ok(shown.then(|| mark.to_owned()).into_iter().collect());
    };
    let documents = documents(result);
    let items = documents
        .iter()
        .find_map(|document| document.pointer(pointer)?.as_array());
    let items = items.ok_or_else(|| format!("the lookup's result has no list at {pointer}"))?;
    let ours = items.iter().filter(|item| item.to_string().contains(mark));
    let named = ours.map(|item| {
        let named = lookup
            .receipt
            .as_deref()
            .and_then(|pointer| plain(item.pointer(pointer)?));
        named.unwrap_or_else(|| mark.to_owned())
    });
    Ok(named.collect())
}

/// What a result holds as JSON.
fn documents(result: &Value) -> Vec<Value> {
    let structured = result.get("structuredContent").cloned();
    let items = result["content"].as_array().into_iter().flatten();
    let texts = items.filter_map(|item| serde_json::from_str(item["text"].as_str()?).ok());
    structured.into_iter().chain(texts).collect()
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn lookup(items: Option<&str>) -> LookUp {
        LookUp {
            tool: "search".to_owned(),
            arguments: BTreeMap::new(),
            items: items.map(str::to_owned),
            receipt: Some("/number".to_owned()),
            lag: None,
            complete: true,
        }
    }

    #[test]
    fn what_is_no_whole_result_means_nothing() {
        let rows = [
            (json!({"content": []}), Meaning::Done),
            (
                json!({"content": [], "isError": false, "resultType": "complete"}),
                Meaning::Done,
            ),
            (
                json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
                Meaning::Error("no".to_owned()),
            ),
            (
                json!({"resultType": "input_required", "inputRequests": {}}),
                Meaning::Nothing,
            ),
            (
                json!({"resultType": "task", "taskId": "x"}),
                Meaning::Nothing,
            ),
            (json!({"content": "done"}), Meaning::Nothing),
            (json!({"content": [], "isError": "yes"}), Meaning::Nothing),
            (json!({}), Meaning::Nothing),
            (json!(null), Meaning::Nothing),
        ];
        for (result, wanted) in rows {
            assert_eq!(meaning(&result), wanted, "{result}");
        }
    }

    // B97, B119: two of ours are two receipts.
    #[test]
    fn a_lookup_finds_what_carries_our_mark() {
        let text = json!({"items": [{"number": 7, "body": "x factum:abc"}, {"number": 8, "body": "y"}, {"number": 9, "body": "factum:abc"}]});
        let result = json!({"content": [{"type": "text", "text": text.to_string()}]});
        assert_eq!(
            hits(&lookup(Some("/items")), "factum:abc", &result).unwrap(),
            ["7", "9"]
        );
        assert_eq!(
            hits(&lookup(None), "factum:abc", &result).unwrap(),
            ["factum:abc"]
        );
        assert!(
            hits(&lookup(Some("/items")), "factum:zzz", &result)
                .unwrap()
                .is_empty()
        );
        assert!(
            hits(&lookup(Some("/rows")), "factum:abc", &result).is_err(),
            "another list is no empty one"
        );
        let failed = json!({"content": [], "isError": true});
        assert!(hits(&lookup(None), "factum:abc", &failed).is_err());
        assert_eq!(receipt(&result, "/items/0/number").as_deref(), Some("7"));
    }
}
