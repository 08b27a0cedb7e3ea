//! The recording side's only sources of time and randomness.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now, for durations.
#[expect(clippy::disallowed_methods, reason = "a recording states how long things took")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Now, as time since 1970.
#[expect(clippy::disallowed_methods, reason = "a recording states when things happened")]
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Now, in RFC 3339 with microseconds.
pub(crate) fn timestamp() -> String {
    rfc3339(since_epoch())
}

/// Milliseconds since `start`, in steps of a microsecond.
pub(crate) fn elapsed_ms(start: Instant) -> f64 {
    let micros = instant().saturating_duration_since(start).as_micros().min(u128::from(u32::MAX) * 1_000_000);
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 by the line above")]
    let micros = micros as f64;
    micros / 1000.0
}

/// A time since 1970, in RFC 3339 with microseconds.
pub(crate) fn rfc3339(since: Duration) -> String {
    let secs = since.as_secs();
    let (year, month, day) = civil(i64::try_from(secs / 86_400).unwrap_or(i64::MAX / 2));
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}Z",
        secs / 3600 % 24,
        secs / 60 % 60,
        secs % 60,
        since.subsec_micros()
    )
}

/// 1970-01-01 as the calendar counts days.
const EPOCH: i32 = time::OffsetDateTime::UNIX_EPOCH.date().to_julian_day();

/// The year, month and day that is `days` days after 1970-01-01; no later than the last of the year 9999.
pub(crate) fn civil(days: i64) -> (i32, u8, u8) {
    let day = i32::try_from(days).ok().and_then(|days| days.checked_add(EPOCH));
    let date = day.and_then(|day| time::Date::from_julian_day(day).ok()).unwrap_or(time::Date::MAX);
    (date.year(), date.month().into(), date.day())
}

/// How many days after 1970-01-01 a date is, if there is such a date.
pub(crate) fn unix_days(year: i64, month: i64, day: i64) -> Option<i64> {
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = time::Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()?;
    Some(i64::from(date.to_julian_day() - EPOCH))
}

/// `N` bytes nobody can guess, of a supply that each thread fetches in larger pieces.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    thread_local! {
        static SUPPLY: RefCell<([u8; 1024], usize)> = const { RefCell::new(([0; 1024], 1024)) };
    }
    SUPPLY.with_borrow_mut(|(supply, used)| {
        if *used + N > supply.len() {
            refill(supply);
            *used = 0;
        }
        let mut bytes = [0; N];
        let taken = &mut supply[*used..*used + N];
        bytes.copy_from_slice(taken);
        taken.fill(0);
        *used += N;
        bytes
    })
}

fn refill(supply: &mut [u8]) {
    if getrandom::fill(supply).is_err() {
        // No system source: hash maps are still seeded per process and per instance, which keeps ids apart.
        for chunk in supply.chunks_mut(8) {
            let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
            hasher.write_u128(since_epoch().as_nanos());
            let word = hasher.finish().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// A new id of 32 hex digits; ids made later sort later (to the millisecond).
pub(crate) fn ordered_id() -> String {
    let millis = u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX);
    let mut id = hex::encode(&millis.to_be_bytes()[2..]);
    id.push_str(&hex::encode(random::<10>()));
    id
}

/// A new id of 16 hex digits.
pub(crate) fn span_id() -> String {
    hex::encode(random::<8>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (951_868_800, "2000-03-01T00:00:00.000000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (u64::MAX, "9999-12-31T07:00:15.000000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(secs)), text);
        }
        assert_eq!(rfc3339(Duration::from_nanos(1_500_000)), "1970-01-01T00:00:00.001500Z");
    }

    #[test]
    fn ids_are_distinct_and_sized() {
        assert_eq!(ordered_id().len(), 32);
        assert_eq!(span_id().len(), 16);
        assert_ne!(ordered_id(), ordered_id());
    }
}
