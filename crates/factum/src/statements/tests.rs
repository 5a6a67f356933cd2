//! Every message in every locale, and what an operator's own may not say.

use std::collections::BTreeSet;
use std::path::Path;

use factum_core::evidence::Receipt;
use factum_core::{Known, Span};
use fluent_bundle::FluentResource;
use fluent_syntax::ast::Entry;

use super::*;

/// Keys with attributes, and the variables of each part.
fn shape(locale: Locale) -> BTreeSet<String> {
    let resource = FluentResource::try_new(book::text(locale).to_owned())
        .map_err(|(_, errors)| errors)
        .unwrap();
    let mut shape = BTreeSet::new();
    for entry in resource.entries() {
        let Entry::Message(message) = entry else {
            continue;
        };
        for (attribute, variables) in check::variables_by_part(message) {
            let (name, attribute) = (message.id.name, attribute.unwrap_or("customer"));
            let variables: Vec<String> = variables.into_iter().collect();
            let new = shape.insert(format!("{name} .{attribute} {}", variables.join(" ")));
            assert!(new, "{}: {name} .{attribute} occurs twice", locale.tag());
        }
    }
    shape
}

fn status() -> Status {
    let intent = factum_core::Intent {
        action: factum_core::ActionId::from_bytes([1; 16]),
        submitted_at: Timestamp::from_micros(0),
        intent_at: None,
        not_before: None,
        deadline: None,
        approved_until: None,
        finish: false,
        preference: factum_core::Preference::Ask,
        limits: factum_core::Limits::default(),
        promises: factum_core::Promises::none(factum_core::promise::Consequence::Costly),
    };
    Known::default().status(&intent)
}

#[test]
fn every_key_exists_in_every_locale_with_the_same_variables() {
    let english = shape(Locale::English);
    for locale in Locale::ALL {
        let other = shape(locale);
        let missing: Vec<_> = english.symmetric_difference(&other).collect();
        assert!(missing.is_empty(), "{}: {missing:#?}", locale.tag());
    }
    for key in StatementKey::ALL {
        for reader in ["customer", "agent", "operator"] {
            let begins = format!("{} .{reader} ", key.name());
            assert!(
                english.iter().any(|part| part.starts_with(&begins)),
                "{begins}"
            );
        }
    }
}

#[test]
fn no_built_in_message_claims_what_its_state_does_not_support() {
    let known = check::known();
    for locale in Locale::ALL {
        let read = check::read(locale.tag(), book::text(locale), locale, &known);
        if let Err(findings) = read {
            let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
            panic!("{}", all.join("\n"));
        }
    }
}

#[test]
fn what_may_not_be_said_is_noticed_as_a_claim() {
    for locale in Locale::ALL {
        let (claims, book) = (claims::Claims::of(locale), Book::built_in(locale));
        let claimed = |name| {
            let said = book.say(name, Audience::Customer, &FluentArgs::new());
            claims.made_by(&said)
        };
        for name in ["never-done", "never-done-too"] {
            assert!(claimed(name).done.is_some(), "{} {name}", locale.tag());
        }
        for name in ["never-failed", "never-failed-too"] {
            assert!(claimed(name).not_done.is_some(), "{} {name}", locale.tag());
        }
        // And what claims that it is done, by what it may claim, does.
        for key in StatementKey::ALL
            .into_iter()
            .filter(|key| key.claims_done())
        {
            let said = book.say(key.name(), Audience::Customer, &FluentArgs::new());
            let claimed = claims.made_by(&said);
            assert!(claimed.done.is_some(), "{} {said}", locale.tag());
        }
    }
}

/// How many results, how that is said, an instant, and how that is said.
const COUNTED: [(Locale, usize, &str, &str, &str); 10] = [
    (
        Locale::English,
        2,
        "2 results were found",
        "2026-12-01T14:05:00Z",
        "1 December 2026, 14:05 (UTC)",
    ),
    (
        Locale::English,
        1,
        "one result was found",
        "2026-05-31T00:00:00Z",
        "31 May 2026, 00:00 (UTC)",
    ),
    (
        Locale::German,
        2,
        "2 Ergebnisse wurden gefunden",
        "2026-03-01T14:05:00Z",
        "1. März 2026, 14:05 Uhr (UTC)",
    ),
    (
        Locale::Spanish,
        3,
        "se encontraron 3 resultados",
        "2026-01-09T09:05:00Z",
        "9 de enero de 2026, 09:05 (UTC)",
    ),
    (
        Locale::French,
        2,
        "2 résultats ont été trouvés",
        "2026-08-01T14:05:00Z",
        "1er août 2026 à 14:05 (UTC)",
    ),
    (
        Locale::French,
        3,
        "3 résultats",
        "2026-08-02T14:05:00Z",
        "2 août 2026 à 14:05 (UTC)",
    ),
    (
        Locale::Japanese,
        2,
        "2 件の結果",
        "2026-12-01T14:05:00Z",
        "2026年12月1日 14:05（UTC）",
    ),
    (
        Locale::Polish,
        2,
        "znaleziono 2 wyniki",
        "2026-10-03T14:05:00Z",
        "3 października 2026, godz. 14:05 (UTC)",
    ),
    (
        Locale::Polish,
        5,
        "znaleziono 5 wyników",
        "2026-02-03T14:05:00Z",
        "3 lutego 2026, godz. 14:05 (UTC)",
    ),
    (
        Locale::Polish,
        22,
        "znaleziono 22 wyniki",
        "2026-12-31T23:59:00Z",
        "31 grudnia 2026, godz. 23:59 (UTC)",
    ),
];

#[test]
fn counts_and_instants_are_said_as_people_say_them() {
    let statements = Statements::default();
    let zone = time_zone("/x", "UTC").unwrap();
    let said = |locale: Locale, count: usize, at: &str| {
        let reader = Reader {
            locale: Some(locale),
            ..Reader::default()
        };
        let words = statements.words("default", reader, None);
        let mut status = status();
        status.duplicates = (0..count).map(|n| Receipt::new(n.to_string())).collect();
        let statement = words.statement(StatementKey::DonePerhapsTwice, &status);
        let at: jiff::Timestamp = at.parse().unwrap();
        let at = Timestamp::from_micros(at.as_microsecond());
        (statement.say, words.instant(at, &zone))
    };
    for (locale, count, counted, at, instant) in COUNTED {
        let (say, when) = said(locale, count, at);
        assert!(say.contains(counted), "{say}");
        assert_eq!(when, instant);
    }
}

#[test]
fn the_closest_word_on_the_language_counts() {
    let config = Config::parse("f", "locale = \"fr\"\n[tenants.acme]\nlocale = \"pl\"\n").unwrap();
    let statements = Statements::of(&config).unwrap();
    let reader = |audience, locale, accepts| Reader {
        audience,
        locale,
        accepts,
    };
    let (customer, staff) = (Audience::Customer, Audience::Operator);
    for (tenant, reader, submitted, expected) in [
        ("default", reader(customer, None, None), None, "fr"),
        ("acme", reader(customer, None, None), None, "pl"),
        (
            "acme",
            reader(customer, None, Some(Locale::English)),
            None,
            "en",
        ),
        (
            "acme",
            reader(customer, None, Some(Locale::English)),
            Some("ja-JP"),
            "ja",
        ),
        (
            "acme",
            reader(customer, None, Some(Locale::English)),
            Some("nl"),
            "en",
        ),
        (
            "acme",
            reader(customer, Some(Locale::German), None),
            Some("ja"),
            "de",
        ),
        // The language of the customer is not that of staff.
        (
            "acme",
            reader(staff, None, Some(Locale::English)),
            Some("ja"),
            "en",
        ),
        ("acme", reader(staff, None, None), Some("ja"), "pl"),
    ] {
        let words = statements.words(tenant, reader, submitted);
        assert_eq!(
            words.locale().tag(),
            expected,
            "{tenant} {reader:?} {submitted:?}"
        );
    }
    let wrong = Config::parse("f", "locale = \"nl\"").unwrap();
    let problem = Statements::of(&wrong).err().unwrap();
    assert_eq!(&*problem.member, "/locale");
}

/// The statements of a folder with these files.
fn of_folder(files: &[(&str, &str)]) -> Result<Statements, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let config = Config {
        messages: Some(folder.path().to_owned()),
        ..Config::default()
    };
    let root = format!("{}/", folder.path().display());
    Statements::of(&config).map_err(|problem| {
        assert_eq!(problem.code, factum_engine::Code::BadMessages);
        problem.rule.replace(&root, "")
    })
}

#[test]
fn messages_of_ones_own_are_said_and_the_others_stay() {
    let own = "done = Fertig, danke!\n    .agent = Erledigt und fertig.\n";
    let tenants =
        "done = Alles erledigt.\nrecorded =\n    .agent = Notiert, noch nicht gesendet.\n";
    let statements = of_folder(&[("de.ftl", own), ("acme/de.ftl", tenants)]).unwrap();
    let say = |tenant: &str, audience, key| {
        let words = statements.words(tenant, Reader::from(audience), Some("de"));
        words.statement(key, &status()).say
    };
    let (done, recorded) = (StatementKey::Done, StatementKey::Recorded);
    assert_eq!(say("default", Audience::Customer, done), "Fertig, danke!");
    assert_eq!(
        say("default", Audience::Agent, done),
        "Erledigt und fertig."
    );
    assert_eq!(say("acme", Audience::Customer, done), "Alles erledigt.");
    assert_eq!(say("acme", Audience::Agent, done), "Erledigt und fertig.");
    assert_eq!(
        say("acme", Audience::Agent, recorded),
        "Notiert, noch nicht gesendet."
    );
    let built_in = "Ihr Auftrag ist erfasst. Er wurde noch nicht gesendet.";
    assert_eq!(say("acme", Audience::Customer, recorded), built_in);
}

/// A file, what it says, the place that is named, and the rule.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "en.ftl",
        "\nunknown-being-checked = It is done.\n",
        "en.ftl:2",
        "claims that something was done",
    ),
    (
        "en.ftl",
        "being-sent = On its way.\n    .agent = It failed.\n",
        "en.ftl:2",
        "claims that nothing was done",
    ),
    (
        "acme/de.ftl",
        "recorded = Erledigt!",
        "acme/de.ftl:1",
        "claims that something was done",
    ),
    (
        "ja.ftl",
        "unknown-for-good = 完了しました。",
        "ja.ftl:1",
        "claims that something was done",
    ),
    (
        "en.ftl",
        "held = { $count ->\n  [one] Waiting.\n *[other] It was done.\n }",
        "en.ftl:1",
        "has no variable $count",
    ),
    (
        "en.ftl",
        "recorded = { \"All done.\" }",
        "en.ftl:1",
        "claims that something was done",
    ),
    (
        "en.ftl",
        "done = Done.\nrecordedd = x",
        "en.ftl:2",
        "no message is called recordedd",
    ),
    (
        "en.ftl",
        "recorded = x\n    .robot = y",
        "en.ftl:2",
        "for no reader .robot",
    ),
    (
        "en.ftl",
        "done-reference = Done: { $ref }",
        "en.ftl:1",
        "has no variable $ref",
    ),
    ("en.ftl", "recorded = { done }", "en.ftl:1", "refers to"),
    (
        "en.ftl",
        "-brand = Acme",
        "en.ftl:1",
        "-brand is not looked at",
    ),
    (
        "en.ftl",
        "recorded = x\nnot fluent\n",
        "en.ftl:2",
        "xpected",
    ),
    (
        "en.ftl",
        "contact-by = { $route } It is done. { $when }",
        "en.ftl:1",
        "claims that something was done",
    ),
    ("readme.md", "hello", "readme.md:1", "named by its locale"),
    ("nl.ftl", "done = Klaar.", "nl.ftl:1", "named by its locale"),
];

/// B16, B22: an override cannot say more than the evidence either, in no locale and in no variant.
#[test]
fn messages_that_claim_too_much_or_are_malformed_are_refused_with_their_place() {
    for (name, text, place, rule) in WRONG {
        let refused = of_folder(&[(*name, *text)]).err().expect(text);
        assert!(
            refused.contains(*place) && refused.contains(*rule),
            "{text}: {refused}"
        );
    }
    let two = of_folder(&[
        ("de.ftl", "recorded = Erledigt!"),
        ("en.ftl", "held = Failed.\nbeing-sent = Done."),
    ]);
    let all = two.err().unwrap();
    assert!(
        all.contains("de.ftl:1") && all.contains("en.ftl:2"),
        "{all}"
    );
    let held = "held may say that nothing was done";
    assert!(!all.contains("en.ftl:1"), "{held}: {all}");
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    let config = Config {
        messages: Some(Path::new("/nonexistent/messages").to_owned()),
        ..Config::default()
    };
    let problem = Statements::of(&config).err().unwrap();
    assert_eq!(
        (problem.code, &*problem.member),
        (factum_engine::Code::BadConfig, "/messages")
    );
}

#[test]
fn a_route_says_by_when_in_the_customers_words_and_time() {
    let config = "[contact]\nsay = \"Call 555.\"\ntranslations = { de = \"Rufen Sie 555 an.\" }\nwithin = \"2 h\"\n\
                  time_zone = \"UTC\"\n[tenants.acme.contact]\nsay = \"Write to acme.\"\n";
    let contacts = crate::contact::Contacts::of(&Config::parse("f", config).unwrap()).unwrap();
    let at = Timestamp::from_micros(1_764_504_000_000_000);
    let opened = factum_core::Evidence {
        id: factum_core::EvidenceId(1),
        at,
        fact: factum_core::Fact::ReviewOpened {
            why: factum_core::evidence::ReviewWhy::NothingToAsk,
        },
    };
    let (waiting, statements) = (Known::fold([&opened]), Statements::default());
    let view = |tenant: &str, known: &Known, after: i64, tag: &str| {
        let words = statements.words(tenant, Reader::default(), Some(tag));
        let contact = contacts.of_tenant(tenant, "crm").unwrap();
        contact.view(known, at + Span::from_secs(after), &words)
    };
    let soon = view("default", &waiting, 60, "en");
    assert_eq!(
        soon.say,
        "Call 555. You will have an answer by 30 November 2025, 14:00 (UTC)."
    );
    assert_eq!(
        (soon.by.as_deref(), soon.late),
        (Some("2025-11-30T14:00:00Z"), false)
    );
    let late = view("default", &waiting, 7_200, "de");
    assert!(
        late.say.starts_with(
            "Rufen Sie 555 an. Eine Antwort war Ihnen bis 30. November 2025, 14:00 Uhr"
        ),
        "{late:?}"
    );
    assert!(late.late);
    assert_eq!(view("acme", &waiting, 60, "en").say, "Write to acme.");
    assert_eq!(
        view("default", &Known::default(), 60, "en").say,
        "Call 555."
    );
}

#[test]
fn a_route_that_claims_something_is_refused() {
    for (config, member) in [
        (
            "[contact]\nsay = \"It is done, call 555.\"\n",
            "/contact/say",
        ),
        (
            "[contact]\nsay = \"x\"\ntranslations = { de = \"Erledigt.\" }\n",
            "/contact/translations/de",
        ),
        (
            "[contact]\nsay = \"x\"\ntranslations = { xx = \"y\" }\n",
            "/contact/translations/xx",
        ),
        (
            "[contact]\nsay = \"x\"\ntime_zone = \"Mars/Base\"\n",
            "/contact/time_zone",
        ),
        (
            "[tenants.a.contacts.nowhere]\nsay = \"x\"\n",
            "/tenants/a/contacts/nowhere",
        ),
    ] {
        let config = Config::parse("f", config).unwrap();
        let problem = crate::contact::Contacts::of(&config).unwrap_err();
        assert_eq!(&*problem.member, member, "{problem}");
    }
}
