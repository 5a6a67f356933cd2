//! The section `[undo]`: how an effect is undone, and what the operation that does it is submitted with.

use super::{Row, check};

const UNDO: &[Row] = &[
    Row(
        "[product]",
        "[undo]\nhow = \"magic\"\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &[
            "85:7 /undo/how unknown_word | write one of none, cancel, cancel_by_key, refund, reverse, delete, close, archive, redact",
        ],
    ),
    Row(
        "[product]",
        "[undo]\nhow = \"refund\"\n\n[product]",
        &[
            "84:1 /undo source_missing | add `source = { url = …, read = …, grade = … }` here, or a [[claims]] about it",
        ],
    ),
    Row(
        "[product]",
        "[undo]\nhow = \"none\"\noperation = \"x.y\"\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["86:13 /undo/operation undo | leave it out, or say how"],
    ),
    Row(
        "[product]",
        "[undo]\nhow = \"refund\"\npayload = {}\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["84:1 /undo undo | add `operation = …`, or leave `params` and `payload` out"],
    ),
    Row(
        "[product]",
        "[undo]\nhow = \"refund\"\noperation = \"x.y\"\nfrom_payload = { a = \"/a\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["87:16 /undo/from_payload undo | add `params` or `payload`"],
    ),
    Row(
        "[product]",
        "[undo]\nhow = \"refund\"\noperation = \"x.y\"\nparams = { a = \"{receipts}\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &[
            "87:16 /undo/params/a undo | use {receipt}, {reference}, a parameter, or name a member: from_payload = { NAME = \"/pointer\" }",
        ],
    ),
    Row(
        "[product]",
        "[undo]\nhow = \"refund\"\noperation = \"x.y\"\npayload = { a = \"{key}\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["87:11 /undo/payload place | use parameters, or {reference}"],
    ),
];

#[test]
fn undo() {
    check(UNDO);
}
