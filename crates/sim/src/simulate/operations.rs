//! The operations of the simulated destinations: the testbed's own contracts, and variants of them that promise less, each
//! with what the destination behind it really does. A destination keeps its contract to the letter and not an inch more.

use std::sync::Arc;

use factum_contract::{Catalogue, Contract, OperatorSettings};
use factum_core::{Limits, Span};
use factum_engine::{Operation, OperationContract};

/// Where a request carries its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyAt {
    Nowhere,
    Header,
    Body,
    Path,
}

/// What a destination does with the key of an effect request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyed {
    /// Nothing.
    No,
    /// Recognises a repeat for this long after the first arrival, and not an instant longer.
    For(Span),
    /// The same; a repeat beside a running first is carried out as well.
    SerialFor(Span),
    /// A name only; what stands under it can be cancelled, and later arrivals are refused then.
    CancelForGood,
    /// A name only; what stands under it can be cancelled for this long, and later arrivals are not refused.
    CancelFor(Span),
}

/// What a destination really does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behaviour {
    pub(super) key_at: KeyAt,
    pub(super) keyed: Keyed,
    pub(super) queued: bool,
    /// After how long a search shows an effect at the latest; none where there is no search.
    pub(super) search: Option<Span>,
    /// A search leaves things out.
    pub(super) partial: bool,
    /// A repeat sets the same thing once more.
    pub(super) upsert: bool,
    /// Errors are stored under the key and played again.
    pub(super) stores_errors: bool,
    /// What stands in front decides once for a request, however often it is delivered.
    pub(super) direct: bool,
}

impl Behaviour {
    /// Whether a request that is delivered twice has one effect all the same.
    pub(super) fn recognises_repeats(self) -> bool {
        self.upsert || matches!(self.keyed, Keyed::For(_))
    }
}

/// One operation.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) name: &'static str,
    pub(super) behaves: Behaviour,
    pub(super) contract: Arc<Contract>,
}

/// A contract of the testbed with some of its text replaced, and what is behind it.
struct Variant {
    name: &'static str,
    of: &'static str,
    texts: &'static [(&'static str, &'static str)],
    behaves: Behaviour,
}

const PLAIN: Behaviour = Behaviour {
    key_at: KeyAt::Nowhere,
    keyed: Keyed::No,
    queued: false,
    search: None,
    partial: false,
    upsert: false,
    stores_errors: false,
    direct: true,
};
const DAY: Span = Span::from_secs(86_400);
const SHORT: Span = Span::from_secs(300);

const fn keyed(key_at: KeyAt, window: Span, queued: bool) -> Behaviour {
    Behaviour {
        key_at,
        keyed: Keyed::For(window),
        queued,
        ..PLAIN
    }
}

const fn searched(lag: i64, queued: bool, partial: bool) -> Behaviour {
    Behaviour {
        search: Some(Span::from_secs(lag)),
        partial,
        queued,
        ..PLAIN
    }
}

const SHORT_WINDOW: (&str, &str) = ("floor = \"24 h\"", "floor = \"300 s\"");
const NOT_DIRECT: (&str, &str) = ("direct = true", "direct = false");
const SEARCH: (&str, &str) = (
    "[whoami]",
    "[lookup]\nby = \"reference\"\npath = \"/lookup/sync/effects?reference={reference}&limit=50\"\n\
     next_path = \"/lookup/sync/effects?reference={reference}&limit=50&cursor={cursor}\"\nnext = \"/next\"\n\
     items = \"/items\"\nours = \"/reference\"\nreceipt = { json = \"/id\" }\n\
     complete = { tests = { at = \"/complete\", equals = true } }\nauthority = \"authoritative\"\nlag = \"10 s\"\n\
     visible_for = \"unbounded\"\nsource = { person = \"the simulator's own code\", date = \"2026-11-29\" }\n\n[whoami]",
);

const VARIANTS: &[Variant] = &[
    Variant {
        name: "key",
        of: "key.sync",
        texts: &[],
        behaves: keyed(KeyAt::Header, DAY, false),
    },
    Variant {
        name: "key-queued",
        of: "key_body.queued",
        texts: &[],
        behaves: keyed(KeyAt::Body, DAY, true),
    },
    Variant {
        name: "key-short",
        of: "key_path.sync",
        texts: &[SHORT_WINDOW],
        behaves: keyed(KeyAt::Path, SHORT, false),
    },
    Variant {
        name: "key-short-queued",
        of: "key.queued",
        texts: &[SHORT_WINDOW],
        behaves: keyed(KeyAt::Header, SHORT, true),
    },
    Variant {
        name: "key-serial",
        of: "key.sync",
        texts: &[SHORT_WINDOW, ("concurrent = \"in_progress\"\n", "")],
        behaves: Behaviour {
            keyed: Keyed::SerialFor(SHORT),
            ..keyed(KeyAt::Header, SHORT, false)
        },
    },
    Variant {
        name: "key-errors",
        of: "key.sync",
        texts: &[("errors = false", "errors = true")],
        behaves: Behaviour {
            stores_errors: true,
            ..keyed(KeyAt::Header, DAY, false)
        },
    },
    Variant {
        name: "key-and-lookup",
        of: "key.sync",
        texts: &[SHORT_WINDOW, SEARCH],
        behaves: Behaviour {
            search: Some(Span::from_secs(10)),
            ..keyed(KeyAt::Header, SHORT, false)
        },
    },
    Variant {
        name: "lookup",
        of: "lookup.sync",
        texts: &[],
        behaves: searched(0, false, false),
    },
    Variant {
        name: "lookup-queued",
        of: "lookup.queued",
        texts: &[],
        behaves: searched(0, true, false),
    },
    Variant {
        name: "lookup-lag",
        of: "lookup.sync",
        texts: &[("lag = \"0 s\"", "lag = \"10 s\"")],
        behaves: searched(10, false, false),
    },
    Variant {
        name: "lookup-proxied",
        of: "lookup.sync",
        texts: &[NOT_DIRECT],
        behaves: Behaviour {
            direct: false,
            ..searched(0, false, false)
        },
    },
    Variant {
        name: "lagging",
        of: "lagging.sync",
        texts: &[],
        behaves: searched(3, false, true),
    },
    Variant {
        name: "lagging-queued",
        of: "lagging.queued",
        texts: &[],
        behaves: searched(3, true, true),
    },
    Variant {
        name: "cancel",
        of: "cancel.sync",
        texts: &[],
        behaves: Behaviour {
            key_at: KeyAt::Header,
            keyed: Keyed::CancelForGood,
            ..PLAIN
        },
    },
    Variant {
        name: "cancel-queued",
        of: "cancel.queued",
        texts: &[],
        behaves: Behaviour {
            key_at: KeyAt::Header,
            keyed: Keyed::CancelForGood,
            queued: true,
            ..PLAIN
        },
    },
    Variant {
        name: "cancel-known",
        of: "cancel.sync",
        texts: &[
            (
                "refuses_later_arrivals = true",
                "refuses_later_arrivals = false",
            ),
            (
                "retention = \"unbounded\"",
                "retention = { floor = \"300 s\" }",
            ),
        ],
        behaves: Behaviour {
            key_at: KeyAt::Header,
            keyed: Keyed::CancelFor(SHORT),
            ..PLAIN
        },
    },
    Variant {
        name: "neither",
        of: "neither.sync",
        texts: &[],
        behaves: PLAIN,
    },
    Variant {
        name: "neither-queued",
        of: "neither.queued",
        texts: &[],
        behaves: Behaviour {
            queued: true,
            ..PLAIN
        },
    },
    Variant {
        name: "neither-proxied",
        of: "neither.sync",
        texts: &[NOT_DIRECT],
        behaves: Behaviour {
            direct: false,
            ..PLAIN
        },
    },
    Variant {
        name: "harmless",
        of: "neither.sync",
        texts: &[(
            "consequence = \"costly\"",
            "consequence = \"harmless\"\n\n[[claims]]\nabout = \"/consequence\"\nperson = \"the simulator's own code\"\n\
             date = \"2026-11-29\"",
        )],
        behaves: Behaviour {
            upsert: true,
            ..PLAIN
        },
    },
];

/// How an operator sets an operation up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) irreversible: bool,
    /// `ask`, `prefer_missing` or `prefer_duplicate`.
    pub(super) neither: &'static str,
    pub(super) finish: bool,
    pub(super) limits: Limits,
}

impl Served {
    /// The operation as the engine has it.
    pub(super) fn operation(&self, setting: Setting) -> Operation {
        let careless = setting.neither != "ask";
        let settings = OperatorSettings {
            consequence: setting.irreversible.then(|| "irreversible".to_owned()),
            neither: Some(setting.neither.to_owned()),
            finish: Some(setting.finish),
            by: careless.then(|| "ana".to_owned()),
            reason: careless.then(|| "as the simulator drew it".to_owned()),
            ..OperatorSettings::default()
        };
        let contract = Contract::clone(&self.contract).with_operator(settings);
        let contract = contract.expect("an operator may set it so");
        Operation {
            promises: contract.promises(),
            preference: contract.preference().clone(),
            finish: contract.finish(),
            key_template: None,
            approval: None,
            twin_guard: None,
            limits: setting.limits,
            by_workers: None,
            two_persons: false,
            contract: Some(OperationContract {
                contract: Arc::new(contract),
                kept: String::new(),
            }),
        }
    }
}

/// Every operation.
pub(super) fn all() -> Vec<Served> {
    let files = Catalogue::builtin_files();
    let text = |name: &str| {
        let found = files.iter().find(|(path, _)| path.ends_with(name));
        found
            .map(|(_, text)| *text)
            .expect("the catalogue has the testbed")
    };
    let provider = text("testbed/provider.toml");
    VARIANTS
        .iter()
        .map(|variant| {
            let mut own = text(&format!("testbed/{}.toml", variant.of)).to_owned();
            for (from, to) in variant.texts {
                assert!(own.contains(from), "{} has no `{from}`", variant.of);
                own = own.replace(from, to);
            }
            let contract = Contract::parse(variant.name, Some(("provider.toml", provider)), &own)
                .unwrap_or_else(|findings| panic!("{}: {findings:?}", variant.name));
            Served {
                name: variant.name,
                behaves: variant.behaves,
                contract: Arc::new(contract),
            }
        })
        .collect()
}
