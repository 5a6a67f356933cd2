//! The files that come with the program.

use std::collections::BTreeSet;
use std::path::Path;

use factum_contract::Catalogue;

use crate::support::shown;

#[test]
fn every_file_of_the_folder_is_in_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts");
    let mut on_disk = BTreeSet::new();
    for folder in std::fs::read_dir(&root).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            if file
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
                on_disk.insert(format!("contracts/{name}"));
            }
        }
    }
    let listed: BTreeSet<_> = Catalogue::builtin_files()
        .iter()
        .map(|(path, _)| (*path).to_owned())
        .collect();
    assert_eq!(listed, on_disk);
}

#[test]
fn every_file_is_read_without_a_warning() {
    let mut catalogue = Catalogue::default();
    let loaded = catalogue.load_overrides(Catalogue::builtin_files().iter().copied());
    loaded.unwrap_or_else(|findings| panic!("{}", shown(&findings)));
    let providers: Vec<_> = catalogue.providers().collect();
    assert!(providers.contains(&"redmine") && providers.contains(&"testbed"));
    assert_eq!(catalogue.operations("testbed").count(), 18);
    for provider in providers {
        for contract in catalogue.operations(provider) {
            assert_eq!(shown(contract.warnings()), "", "{}", contract.operation());
        }
    }
}

#[test]
fn an_override_replaces_one_operation_and_its_digest() {
    let mut catalogue = Catalogue::builtin();
    let before = catalogue.get("testbed", "neither.sync").unwrap().digest();
    let other = catalogue.get("testbed", "key.sync").unwrap().digest();
    let (_, text) = Catalogue::builtin_files()
        .iter()
        .find(|(path, _)| path.ends_with("neither.sync.toml"))
        .unwrap();
    let text = text.replace("\"costly\"", "\"irreversible\"");
    let path = "here/contracts/testbed/neither.sync.toml";
    catalogue.load_overrides([(path, text.as_str())]).unwrap();
    let after = catalogue.get("testbed", "neither.sync").unwrap();
    assert_ne!(after.digest(), before);
    assert_eq!(
        after.promises().consequence,
        factum_core::promise::Consequence::Irreversible
    );
    assert_eq!(
        catalogue.get("testbed", "key.sync").unwrap().digest(),
        other
    );
}

#[test]
fn a_provider_file_changes_all_of_its_operations() {
    let mut catalogue = Catalogue::builtin();
    let before = catalogue.get("redmine", "issue.create").unwrap().digest();
    let text = "provider = \"redmine\"\ntitle = \"Our Redmine\"\n[limits]\nconcurrency = 1\n";
    let path = "contracts/redmine/provider.toml";
    catalogue.load_overrides([(path, text)]).unwrap();
    let contract = catalogue.get("redmine", "issue.create").unwrap();
    assert_ne!(contract.digest(), before);
    assert_eq!(contract.provider_rules().limits.concurrency, Some(1));
}

#[test]
fn a_broken_override_leaves_everything_as_it_was() {
    let mut catalogue = Catalogue::builtin();
    let rules = |wrong: Vec<factum_contract::Finding>| -> Vec<_> {
        wrong.iter().map(|f| (f.member.clone(), f.rule)).collect()
    };
    let file = |provider: &str, operation: &str| {
        format!(
            "provider = \"{provider}\"\noperation = \"{operation}\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\n"
        )
    };
    let good = file("testbed", "new.op");
    let misnamed = file("testbed", "old.op");
    let misplaced = file("elsewhere", "other.op");
    let found = catalogue.load_overrides([
        ("contracts/testbed/new.op.toml", good.as_str()),
        ("contracts/testbed/name.toml", misnamed.as_str()),
        ("contracts/mine/other.op.toml", misplaced.as_str()),
        ("contracts/testbed/README.md", "not a contract"),
        ("loose.toml", ""),
    ]);
    let found = rules(found.unwrap_err());
    let expected = [
        ("".to_owned(), "file_name"),
        ("/provider".to_owned(), "file_name"),
        ("/operation".to_owned(), "file_name"),
    ];
    assert_eq!(found, expected);
    assert!(catalogue.get("testbed", "new.op").is_none());
    assert!(catalogue.get("testbed", "key.sync").is_some());
}

#[test]
fn comments_and_order_do_not_change_the_digest() {
    let text = |body: &str| {
        let text = format!("provider = \"p\"\n{body}[effect]\npath = \"/\"\n");
        crate::support::contract(&text).digest()
    };
    let one = text("operation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n");
    let other = text("# said again\nconsequence='costly'\ntitle = \"t\"\n\noperation = \"o\"\n");
    let changed = text("operation = \"o\"\ntitle = \"u\"\nconsequence = \"costly\"\n");
    assert_eq!(one, other);
    assert_ne!(one, changed);
}

// B52: caches on the way repeat a POST without a body when their connection breaks. Every effect request has one.
#[test]
fn no_effect_request_is_without_a_body() {
    for (path, text) in Catalogue::builtin_files() {
        let Some((_, effect)) = text.split_once("\n[effect]\n") else {
            continue;
        };
        let effect = effect.split("\n[").next().unwrap();
        let its_own = ["json = ", "form = ", "graphql = "];
        let written = its_own.iter().any(|member| {
            let mut lines = effect.lines();
            lines.any(|line| line.starts_with(member))
        });
        assert!(written || !effect.contains("body = \"none\""), "{path}");
    }
}
