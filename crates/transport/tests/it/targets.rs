//! Base addresses: what is read, and what is refused with its rule and remedy.

use factum_transport::Target;

#[test]
fn a_base_address_is_read_and_written_in_one_way() {
    let rows = [
        (
            "https://Acme.Example",
            "https://acme.example",
            "acme.example",
        ),
        ("https://a.example:443/", "https://a.example", "a.example"),
        (
            "https://a.example:8443/api/v2/",
            "https://a.example:8443/api/v2",
            "a.example:8443",
        ),
        (
            "http://127.0.0.1:7420",
            "http://127.0.0.1:7420",
            "127.0.0.1:7420",
        ),
        ("http://[::1]:80/x", "http://[::1]/x", "[::1]"),
        (
            "https://[2001:DB8::1]:444",
            "https://[2001:db8::1]:444",
            "[2001:db8::1]:444",
        ),
        (
            "http://shop.localhost",
            "http://shop.localhost",
            "shop.localhost",
        ),
    ];
    for (text, base, host) in rows {
        let target = Target::parse(text, false).unwrap();
        assert_eq!(
            (target.base().as_str(), target.host_header().as_str()),
            (base, host)
        );
    }
}

#[test]
fn what_is_no_base_address_is_refused_with_rule_and_remedy() {
    let rows = [
        ("", "no address"),
        ("acme.example", "scheme"),
        ("/api", "scheme"),
        ("ftp://a.example", "scheme"),
        ("https://", "no address"),
        ("https://a.example/x?y=1", "no query"),
        ("https://a.example/#x", "no fragment"),
        ("https://ana:hunter2@a.example", "no user and no password"),
        ("https://hunter2@a.example", "no user and no password"),
        ("https://a.example:0", "port"),
        ("https://a.example:99999", "port"),
        ("https://a..example", "host is"),
        ("https://[::1%25eth0]", ""),
        ("https://a.example/x/../y", "segments"),
        ("https://a.example/x/%2e%2E/y", "segments"),
        ("http://a.example", "this machine only"),
        ("http://10.0.0.1", "this machine only"),
        ("http://localhost.evil.example", "this machine only"),
        ("https://b\u{fc}cher.example", ""),
    ];
    for (text, rule) in rows {
        let error = Target::parse(text, false).expect_err(text);
        assert_eq!(error.member, "base");
        assert!(error.rule.contains(rule), "{text}: {error}");
        assert!(!error.remedy.is_empty());
        assert!(!error.to_string().contains("hunter2"));
    }
}

#[test]
fn plain_http_beyond_this_machine_is_a_decision() {
    let target = Target::parse("http://crm.internal:8080/v1", true).unwrap();
    assert_eq!(target.base(), "http://crm.internal:8080/v1");
}
