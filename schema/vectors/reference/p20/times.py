"""A15 to A17: timestamps."""

import re

_FORM = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,6}))?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SECOND = 1000000
_DAY = 86400 * _SECOND


def _is_leap(year):
    """Returns whether a year is a Gregorian leap year; year 0000 is."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_before(year):
    """Returns the days from 1 January of year 0 to 1 January of this year."""
    if year == 0:
        return 0
    last = year - 1
    return year * 365 + last // 4 - last // 100 + last // 400 + 1


def _days_in(year, month):
    return 29 if month == 2 and _is_leap(year) else _DAYS[month - 1]


_FIRST = _days_before(1) * _DAY  # 0001-01-01T00:00:00Z
_PAST = _days_before(10000) * _DAY  # the end of 9999 in UTC


def read_time(text):
    """Returns (broken rule or None, instant in microseconds or None)."""
    match = _FORM.fullmatch(text)
    if match is None:
        return "A15", None  # A15
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, sign, off_hours, off_minutes = match.groups()[6:]
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return "A16", None  # A16
    if hour > 23 or minute > 59 or second > 59:
        return "A16", None  # A16
    days = _days_before(year) + sum(_days_in(year, m) for m in range(1, month)) + day - 1
    instant = days * _DAY + (hour * 3600 + minute * 60 + second) * _SECOND
    instant += int((fraction or "").ljust(6, "0"))
    if sign is not None:
        offset = (int(off_hours) * 60 + int(off_minutes)) * 60 * _SECOND
        instant += -offset if sign == "+" else offset
    if year < 1 or not _FIRST <= instant < _PAST:
        return "A17", None  # A17
    return None, instant
