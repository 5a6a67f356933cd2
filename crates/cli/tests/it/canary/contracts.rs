//! The contracts of the talkative destination, and a configuration with it under each kind of credential.

use super::plant;
use crate::support::Folder;

const PROVIDER: &str = r#"provider = "talk"
title = "A destination that talks"

[auth]
kinds = ["bearer", "header", "hmac"]
header = "x-api-key"

[auth.hmac]
header = "x-signature"
signed = "{timestamp}{method}{path}{body}"
timestamp = "x-time"
"#;

const ADD: &str = r#"provider = "talk"
operation = "note.add"
title = "An effect that can be looked for"
consequence = "costly"

[effect]
path = "/lists/{list}/notes"
set = [{ at = "/reference", to = "{reference}" }]
direct = true
source = { person = "this test", date = "2026-11-30" }

[processing]
max = "1 s"
source = { person = "this test", date = "2026-11-30" }

[[answers]]
when = { status = 201, json = { at = "/id", type = "string" } }
class = "done"
receipt = { json = "/id" }

[[answers]]
when = { status = 422, json = { at = "/error", type = "object" } }
class = "rejected"
why = "/error/why"

[lookup]
by = "reference"
path = "/notes?reference={reference}"
items = "/items"
ours = "/reference"
receipt = { json = "/id" }
complete = "always"
authority = "authoritative"
lag = "0 s"
visible_for = "unbounded"
source = { person = "this test", date = "2026-11-30" }

[callback]
signature = { scheme = "shared_secret", header = "x-report-secret" }
id = "/id"
matches = [{ by = "reference", at = "/reference" }]
positive = { at = "/type", equals = "made" }
receipt = "/note"
source = { person = "this test", date = "2026-11-30" }

[whoami]
path = "/whoami"
account = "/account"

[[claims]]
about = "/answers"
person = "this test"
date = "2026-11-30"

[product]
kind = "note"
shown = ["/title"]
captured = ["/colour"]
"#;

const SHOUT: &str = r#"provider = "talk"
operation = "note.shout"
title = "An effect that nobody can look for"
consequence = "costly"

[effect]
path = "/lists/{list}/notes"
set = [{ at = "/reference", to = "{reference}" }]

[[answers]]
when = { status = 201, json = { at = "/id", type = "string" } }
class = "done"
receipt = { json = "/id" }

[product]
kind = "note"
"#;

/// Writes contracts, and a configuration that begins with `top`, for a destination and a collector at these addresses.
pub(super) fn write(folder: &Folder, top: &str, (base, collector): (&str, &str), format: &str) {
    folder.write("contracts/talk/provider.toml", PROVIDER);
    folder.write("contracts/talk/note.add.toml", ADD);
    folder.write("contracts/talk/note.shout.toml", SHOUT);
    let mut text = format!(
        "{top}contracts = \"contracts\"\ntraces.endpoint = \"{collector}\"\nwebhooks.allow_private = true\n\
         log = {{ format = \"{format}\", decisions = true }}\n"
    );
    for (name, auth) in [
        ("bearer", "bearer = \"env:BEARER\""),
        ("keyed", "header = \"x-api-key\", value = \"env:API_KEY\""),
        ("signed", "hmac = { secret = \"env:HMAC\", key_id = \"k\" }"),
    ] {
        text.push_str(&format!(
            "[destinations.{name}]\nprovider = \"talk\"\nbase = \"{base}\"\nauth = {{ {auth} }}\n\
             callback = {{ secrets = [\"env:REPORTS\"] }}\n\
             limits = {{ linger = \"200 ms\", skew = \"100 ms\", write = \"2 s\", send_wait = \"2 s\", answer_wait = \"5 s\", \
             pause_margin = \"1 s\", backoff = \"100 ms\", backoff_max = \"1 s\" }}\ngate.circuit_failures = 0\n"
        ));
    }
    folder.write("factum.toml", &text);
}

/// The variables that the configuration's references name.
pub(super) fn variables() -> [(&'static str, String); 5] {
    [
        ("BEARER", plant("bearer")),
        ("API_KEY", plant("api_key")),
        ("HMAC", plant("hmac")),
        ("REPORTS", plant("callback_secret")),
        ("FACTUM_LOG", "trace".to_owned()),
    ]
}
