//! The files under `packaging/` agree with the program and with each other: ports, folders, users, signals, versions.

use factum::Config;

use crate::tree::{File, files, report};

fn packaged() -> Vec<File> {
    files(|path| path.starts_with("packaging/"))
}

fn text(name: &str) -> String {
    let all = packaged();
    let found = all
        .iter()
        .find(|file| file.path == format!("packaging/{name}"));
    found
        .unwrap_or_else(|| panic!("there is no packaging/{name}"))
        .text
        .clone()
}

/// What each file has to say, because another one, or the program, rests on it.
#[test]
fn they_say_the_same() {
    let port = Config::default()
        .server
        .listen
        .rsplit_once(':')
        .unwrap()
        .1
        .to_owned();
    let rust = format!("FROM rust:{}-bookworm", rust_version());
    let wanted = [
        (
            "Dockerfile",
            vec![
                rust,
                format!("EXPOSE {port} 7443"),
                "USER 7420:7420".to_owned(),
                "--uid 7420".to_owned(),
                "STOPSIGNAL SIGTERM".to_owned(),
                "VOLUME /var/lib/factum".to_owned(),
            ],
        ),
        (
            "compose.yaml",
            vec![
                format!("127.0.0.1:{port}:{port}"),
                "data:/var/lib/factum".to_owned(),
                "dockerfile: packaging/Dockerfile".to_owned(),
            ],
        ),
        (
            "kubernetes.yaml",
            vec![
                format!("containerPort: {port}"),
                "runAsUser: 7420".to_owned(),
                "mountPath: /var/lib/factum".to_owned(),
                "path: /healthz".to_owned(),
                "path: /readyz".to_owned(),
            ],
        ),
        (
            "systemd/factum.service",
            vec![
                "serve --config /etc/factum/factum.toml".to_owned(),
                "StateDirectory=factum".to_owned(),
                "kill -HUP".to_owned(),
            ],
        ),
    ];
    let missing: Vec<String> = wanted
        .into_iter()
        .flat_map(|(name, parts)| {
            let text = text(name);
            let missing = parts
                .into_iter()
                .filter(move |part| !text.contains(part.as_str()));
            missing.map(move |part| format!("{name} does not say {part:?}"))
        })
        .collect();
    report(
        "contradictions between packaging/ and what it packages",
        &missing,
    );
}

fn rust_version() -> String {
    let root = files(|path| path == "Cargo.toml");
    let table: toml::Table = root[0].text.parse().expect("TOML");
    table["workspace"]["package"]["rust-version"]
        .as_str()
        .expect("a version")
        .to_owned()
}

/// Whoever stops the program waits longer than the program itself does, or what is in flight is cut off.
#[test]
fn whoever_stops_it_waits_longer_than_it_takes() {
    let takes = Config::default().server.shutdown.duration().as_secs();
    for (name, key) in [
        ("systemd/factum.service", "TimeoutStopSec="),
        ("compose.yaml", "stop_grace_period: "),
        ("kubernetes.yaml", "terminationGracePeriodSeconds: "),
    ] {
        let text = text(name);
        let (_, rest) = text
            .split_once(key)
            .unwrap_or_else(|| panic!("{name} says no {key}"));
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let waits: u64 = digits.parse().expect("seconds");
        assert!(
            waits > takes,
            "{name}: {waits} s, and the program takes {takes} s"
        );
    }
}

/// The configuration inside the manifests, and what is set by the environment, is read by the program.
#[test]
fn what_they_configure_is_read() {
    let manifest = text("kubernetes.yaml");
    let (_, rest) = manifest
        .split_once("factum.toml: |\n")
        .expect("a configuration");
    let lines = rest
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("    "));
    let written: String = lines.map(|line| format!("{}\n", line.trim())).collect();
    let config = Config::parse("kubernetes.yaml", &written).expect("it is read");
    assert!(config.server.behind_proxy);
    assert_eq!(config.store.url, "sqlite:/var/lib/factum/factum.db");
    let compose = text("compose.yaml");
    let variables = compose.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once(": ")?;
        let is_setting = name.starts_with("FACTUM_");
        is_setting.then(|| (name.to_owned(), value.trim_matches('"').to_owned()))
    });
    let config = Config::with_environment("compose.yaml", "", variables).expect("it is read");
    assert!(config.server.behind_proxy && config.server.listen.starts_with("0.0.0.0:"));
    assert_eq!(config.store.url, "sqlite:/var/lib/factum/factum.db");
}
