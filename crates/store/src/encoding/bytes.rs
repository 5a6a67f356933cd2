//! What has to hold whatever bytes stand in a column: they are refused in words, or read as what writes the same again.
//!
//! Only tests and fuzzers contain it. A fuzzer's build sets `fuzzing` for every crate, and then it is public: what it calls
//! is this crate's own affair.

use factum_core::{ActionId, Fingerprint, IdentityHash, Lane, Timestamp};

use super::{
    Fixed, NEWEST, fact_text, head_text, read_fact, read_head, read_readings, readings_text,
};

/// A column's text, read as everything that a store writes as text. A row is checked by its checksum before: what is read here
/// is what a program of another version, or somebody with the keys, has written.
pub fn column(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match read_fact(&NEWEST, &text) {
        Ok(fact) => {
            let again = fact_text(&NEWEST, &fact);
            assert_eq!(read_fact(&NEWEST, &again).as_ref(), Ok(&fact), "{again}");
            assert_eq!(
                fact_text(&NEWEST, &read_fact(&NEWEST, &again).expect("just read")),
                again
            );
        }
        Err(why) => assert!(!why.is_empty()),
    }
    match read_head(&NEWEST, &text, columns()) {
        Ok(action) => {
            let again = head_text(&NEWEST, &action);
            assert_eq!(
                read_head(&NEWEST, &again, columns()).as_ref(),
                Ok(&action),
                "{again}"
            );
        }
        Err(why) => assert!(!why.is_empty()),
    }
    match read_readings(&NEWEST, &text) {
        Ok(readings) => {
            let again = readings_text(&NEWEST, &readings);
            assert_eq!(
                read_readings(&NEWEST, &again).as_ref(),
                Ok(&readings),
                "{again}"
            );
        }
        Err(why) => assert!(!why.is_empty()),
    }
    #[cfg(feature = "sqlite")]
    if let Some(bytes) = super::unhex(&text) {
        assert_eq!(super::hex(&bytes), text, "one spelling for each");
    }
}

/// What stands in the other columns.
fn columns() -> Fixed {
    Fixed {
        id: ActionId::new(Timestamp::from_micros(1_764_400_000_000_000), Lane(7), 7),
        identity: IdentityHash([7; 32]),
        fingerprint: Fingerprint([8; 32]),
        contract: [9; 32],
        params: "{}".to_owned(),
        payload: "null".to_owned(),
    }
}
