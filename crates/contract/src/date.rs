//! Instants as HTTP and JSON write them. Pure arithmetic over the proleptic Gregorian calendar; nothing here reads a clock.

use factum_core::Timestamp;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY: i64 = 86_400;

/// An instant in whole seconds, split as calendars have it.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    second_of_day: i64,
    weekday: usize,
}

/// The instant of an IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`. The two obsolete forms of RFC 9110 are not read.
pub(crate) fn from_http(text: &str) -> Option<Timestamp> {
    let (weekday, rest) = text.trim().split_once(", ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = fields.as_slice() else {
        return None;
    };
    let month = MONTHS.iter().position(|name| name == month)?;
    let month = i64::try_from(month).ok()? + 1;
    let (day, year) = (number(day, 2, 1, 31)?, number(year, 4, 1970, 9999)?);
    let clock: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = clock.as_slice() else {
        return None;
    };
    let (hour, minute) = (number(hour, 2, 0, 23)?, number(minute, 2, 0, 59)?);
    // A leap second is the first of the next minute.
    let second = number(second, 2, 0, 60)?;
    let days = days_from_civil(year, month, day);
    let civil = civil(days * DAY);
    let real = (civil.year, civil.month, civil.day) == (year, month, day);
    if !real || DAYS[civil.weekday] != weekday {
        return None;
    }
    from_seconds(days * DAY + hour * 3600 + minute * 60 + second)
}

/// The instant so many seconds after the epoch, if it can be counted.
pub(crate) fn from_seconds(seconds: i64) -> Option<Timestamp> {
    seconds.checked_mul(1_000_000).map(Timestamp::from_micros)
}

/// As an IMF-fixdate.
pub(crate) fn to_http(instant: Timestamp) -> String {
    let seconds = to_seconds(instant);
    let c = civil(seconds);
    let month = usize::try_from(c.month - 1).unwrap_or_default();
    format!(
        "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
        DAYS[c.weekday],
        c.day,
        MONTHS[month],
        c.year,
        c.second_of_day / 3600,
        c.second_of_day / 60 % 60,
        c.second_of_day % 60
    )
}

/// As RFC 3339 in UTC, to the second.
pub(crate) fn to_rfc3339(instant: Timestamp) -> String {
    let c = civil(to_seconds(instant));
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        c.year,
        c.month,
        c.day,
        c.second_of_day / 3600,
        c.second_of_day / 60 % 60,
        c.second_of_day % 60
    )
}

/// Seconds since the epoch, rounded down; instants that no calendar has are moved to its edge.
pub(crate) fn to_seconds(instant: Timestamp) -> i64 {
    let last = days_from_civil(9999, 12, 31) * DAY + DAY - 1;
    instant.as_micros().div_euclid(1_000_000).clamp(0, last)
}

fn number(text: &str, width: usize, least: i64, most: i64) -> Option<i64> {
    let digits = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse::<i64>().ok()).flatten()?;
    (least..=most).contains(&number).then_some(number)
}

/// Days since the epoch; eras of 400 years, years that begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil(seconds: i64) -> Civil {
    let days = seconds.div_euclid(DAY);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted - era * 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil {
        year,
        month,
        day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
        second_of_day: seconds.rem_euclid(DAY),
        // The epoch was a Thursday.
        weekday: usize::try_from((days + 4).rem_euclid(7)).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (seconds, http, rfc3339) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
            (
                784_111_777,
                "Sun, 06 Nov 1994 08:49:37 GMT",
                "1994-11-06T08:49:37Z",
            ),
            (
                951_782_400,
                "Tue, 29 Feb 2000 00:00:00 GMT",
                "2000-02-29T00:00:00Z",
            ),
            (
                4_107_542_399,
                "Sun, 28 Feb 2100 23:59:59 GMT",
                "2100-02-28T23:59:59Z",
            ),
        ] {
            let instant = from_seconds(seconds).unwrap();
            assert_eq!(to_http(instant), http);
            assert_eq!(to_rfc3339(instant), rfc3339);
            assert_eq!(from_http(http), Some(instant), "{http}");
        }
    }

    #[test]
    fn what_is_no_date_is_not_guessed() {
        for wrong in [
            "",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Tue, 29 Feb 2100 00:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
        ] {
            assert_eq!(from_http(wrong), None, "{wrong}");
        }
        assert_eq!(
            to_http(Timestamp::EARLIEST),
            "Thu, 01 Jan 1970 00:00:00 GMT"
        );
        assert_eq!(to_rfc3339(Timestamp::NEVER), "9999-12-31T23:59:59Z");
    }
}
