//! Whether a caller that was written against one OpenAPI document can go on with a later one: what it asks is still taken, and what it is
//! answered is still what it can read. Judged are the words of JSON Schema that the document uses.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Which way a schema is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// What a caller sends: everything that was taken has to be taken still.
    Asked,
    /// What a caller gets: everything that comes has to be as was promised. New members are none of its business.
    Answered,
}

/// Every break, as `place: what`.
pub(crate) fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut judge = Judge {
        old,
        new,
        seen: BTreeSet::new(),
        found: BTreeSet::new(),
    };
    for (path, methods) in members(&old["paths"]) {
        for (method, call) in members(methods) {
            let place = format!("{} {path}", method.to_uppercase());
            match new["paths"][path].get(method) {
                None => judge.say(&place, "is gone"),
                Some(later) => judge.call(&place, call, later),
            }
        }
    }
    judge.found.into_iter().collect()
}

struct Judge<'a> {
    old: &'a Value,
    new: &'a Value,
    /// Pairs of named schemas that were compared, each way.
    seen: BTreeSet<(Way, String, String)>,
    found: BTreeSet<String>,
}

impl Judge<'_> {
    fn say(&mut self, place: &str, what: impl AsRef<str>) {
        self.found.insert(format!("{place}: {}", what.as_ref()));
    }

    fn call(&mut self, place: &str, old: &Value, new: &Value) {
        if old["security"] == Value::Array(Vec::new()) && new["security"] != old["security"] {
            self.say(place, "needs a token now");
        }
        self.parameters(place, old, new);
        self.body(place, &old["requestBody"], &new["requestBody"]);
        for (status, answer) in members(&old["responses"]) {
            // Which problems there are may change; how each looks is one schema.
            if !status.starts_with('2') {
                continue;
            }
            let Some(later) = new["responses"].get(status) else {
                self.say(place, format!("no longer answers {status}"));
                continue;
            };
            self.contents(&format!("{place} {status}"), answer, later, Way::Answered);
        }
        let problem = |call: &Value| {
            let mut answers = members(&call["responses"]);
            answers
                .find_map(|(_, answer)| answer["content"].get("application/problem+json").cloned())
        };
        if let (Some(was), Some(is)) = (problem(old), problem(new)) {
            self.schema("Problem", &was["schema"], &is["schema"], Way::Answered);
        }
    }

    fn parameters(&mut self, place: &str, old: &Value, new: &Value) {
        let named = |call: &Value, name: &Value, at: &Value| {
            let mut all = call["parameters"].as_array().into_iter().flatten();
            all.find(|other| &other["name"] == name && &other["in"] == at)
                .cloned()
        };
        for was in old["parameters"].as_array().into_iter().flatten() {
            let place = format!("{place} {}", was["name"].as_str().unwrap_or_default());
            match named(new, &was["name"], &was["in"]) {
                None => self.say(&place, "is gone"),
                Some(is) => {
                    if is["required"] == true && was["required"] != true {
                        self.say(&place, "is required now");
                    }
                    self.schema(&place, &was["schema"], &is["schema"], Way::Asked);
                }
            }
        }
        for is in new["parameters"].as_array().into_iter().flatten() {
            if is["required"] == true && named(old, &is["name"], &is["in"]).is_none() {
                self.say(place, format!("wants the parameter {}", is["name"]));
            }
        }
    }

    fn body(&mut self, place: &str, old: &Value, new: &Value) {
        match (old.is_object(), new.is_object()) {
            (true, false) => self.say(place, "takes no body any more"),
            (false, true) if new["required"] == true => self.say(place, "wants a body now"),
            (false, _) => {}
            (true, true) => {
                if new["required"] == true && old["required"] != true {
                    self.say(place, "wants a body now");
                }
                self.contents(place, old, new, Way::Asked);
            }
        }
    }

    fn contents(&mut self, place: &str, old: &Value, new: &Value, way: Way) {
        for (kind, was) in members(&old["content"]) {
            match new["content"].get(kind) {
                None => self.say(place, format!("no longer has {kind}")),
                Some(is) => self.schema(place, &was["schema"], &is["schema"], way),
            }
        }
    }

    fn schema(&mut self, place: &str, old: &Value, new: &Value, way: Way) {
        let found = match way {
            Way::Asked => self.beyond(place, (self.old, old), (self.new, new), way),
            Way::Answered => self.beyond(place, (self.new, new), (self.old, old), way),
        };
        self.found.extend(found);
    }

    /// Why not everything that the first schema allows is allowed by the second.
    fn beyond(
        &mut self,
        place: &str,
        (from, a): (&Value, &Value),
        (to, b): (&Value, &Value),
        way: Way,
    ) -> Vec<String> {
        let (name_a, name_b) = (reference(a), reference(b));
        if let (Some(one), Some(other)) = (name_a, name_b)
            && !self.seen.insert((way, one.to_owned(), other.to_owned()))
        {
            return Vec::new();
        }
        let place = name_a.filter(|_| name_a == name_b).unwrap_or(place);
        let (a, b) = (resolved(from, a), resolved(to, b));
        if let (Some(ones), true) = (a["anyOf"].as_array(), a.get("properties").is_none()) {
            return ones
                .iter()
                .flat_map(|one| self.beyond(place, (from, one), (to, b), way))
                .collect();
        }
        if let (Some(others), true) = (b["anyOf"].as_array(), b.get("properties").is_none()) {
            let tries = others.iter().map(|other| {
                let known = self.seen.clone();
                let found = self.beyond(place, (from, a), (to, other), way);
                // What was compared on a way that is not taken is not settled by it.
                if !found.is_empty() {
                    self.seen = known;
                }
                (resolved(to, other)["type"] != a["type"], found)
            });
            let nearest = tries.min_by_key(|(is_other, found)| (*is_other, found.len()));
            return nearest.map(|(_, found)| found).unwrap_or_default();
        }
        let mut found = own_words(place, a, b);
        found.extend(self.inside(place, (from, a), (to, b), way));
        found
    }

    fn inside(
        &mut self,
        place: &str,
        (from, a): (&Value, &Value),
        (to, b): (&Value, &Value),
        way: Way,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for (name, member) in members(&a["properties"]) {
            let place = format!("{place}/{name}");
            match b["properties"].get(name) {
                Some(other) => found.extend(self.beyond(&place, (from, member), (to, other), way)),
                None if way == Way::Asked && b["additionalProperties"] == false => {
                    found.push(format!("{place}: is gone"))
                }
                None => {}
            }
        }
        for (name, _) in members(&b["properties"]) {
            if way == Way::Answered && a["properties"].get(name).is_none() {
                found.push(format!("{place}/{name}: is gone"));
            }
        }
        for word in ["items", "additionalProperties"] {
            if a[word].is_object() && b[word].is_object() {
                found.extend(self.beyond(
                    &format!("{place}/{word}"),
                    (from, &a[word]),
                    (to, &b[word]),
                    way,
                ));
            }
        }
        let always = |schema: &Value| -> BTreeSet<String> {
            let names = schema["required"].as_array().into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        for name in always(b).difference(&always(a)) {
            let what = match way {
                Way::Asked => "is required now",
                Way::Answered => "may be missing now",
            };
            found.push(format!("{place}/{name}: {what}"));
        }
        found
    }
}

/// What the second schema says of a value itself, and the first does not.
fn own_words(place: &str, a: &Value, b: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for word in ["type", "pattern", "format", "not", "anyOf"] {
        if b.get(word).is_some() && a.get(word) != b.get(word) {
            found.push(format!(
                "{place}: {word} was {} and is {}",
                shown(a, word),
                shown(b, word)
            ));
        }
    }
    for (word, tighter) in [
        ("minLength", 1),
        ("minimum", 1),
        ("minItems", 1),
        ("maxLength", -1),
        ("maximum", -1),
    ] {
        let (was, is) = (a[word].as_i64(), b[word].as_i64());
        let narrower = match (was, is) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(was), Some(is)) => (is - was) * tighter > 0,
        };
        if narrower {
            found.push(format!(
                "{place}: {word} was {} and is {}",
                shown(a, word),
                shown(b, word)
            ));
        }
    }
    if let Some(allowed) = b["enum"].as_array() {
        match a["enum"].as_array() {
            None => found.push(format!("{place}: enum was anything and is {}", b["enum"])),
            Some(words) => {
                // Problems become more with time, and whoever does not know a code goes by its status.
                let grows = place.ends_with("Problem/code");
                let gone = words
                    .iter()
                    .filter(|word| !grows && !allowed.contains(word));
                found.extend(
                    gone.map(|word| format!("{place}: the word {word} is on one side only")),
                );
            }
        }
    }
    found
}

fn shown(schema: &Value, word: &str) -> String {
    schema
        .get(word)
        .map_or_else(|| "anything".to_owned(), Value::to_string)
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// The name of a schema among the components.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match reference(schema) {
        Some(name) => &document["components"]["schemas"][name],
        None => schema,
    }
}
