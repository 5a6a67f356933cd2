//! Instants as people say them, in the words of a locale and the time of a place.

use factum_core::Timestamp;
use factum_engine::{Code, Problem};
use fluent_bundle::FluentArgs;
use jiff::tz::TimeZone;

/// A time zone by its name in the IANA database.
///
/// # Errors
/// F1040 names the member.
pub(crate) fn time_zone(member: &str, name: &str) -> Result<TimeZone, Problem> {
    TimeZone::get(name).map_err(|error| {
        let remedy = "use a name of the IANA database, as in `Europe/Berlin`; or UTC";
        Problem::new(Code::BadConfig, member, error.to_string(), remedy)
    })
}

/// The variables of the message `date-time`.
pub(super) fn args(at: Timestamp, zone: &TimeZone) -> Option<FluentArgs<'static>> {
    let at = jiff::Timestamp::from_microsecond(at.as_micros()).ok()?;
    let at = at.to_zoned_datetime(zone.clone());
    let mut args = FluentArgs::new();
    args.set("year", at.year());
    args.set("month", at.month());
    args.set("day", at.day());
    args.set("hour", format!("{:02}", at.hour()));
    args.set("minute", format!("{:02}", at.minute()));
    args.set("zone", at.strftime("%Z").to_string());
    Some(args)
}
