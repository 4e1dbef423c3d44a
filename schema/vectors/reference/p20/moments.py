"""Section 5 of the projections: the source of times.

An instant is a number of microseconds, as read_time returns it.
"""

import datetime
import re
from bisect import bisect_left

from .times import read_time

_SECOND = 1000000
_DAY = 86400 * _SECOND
_MAX_BYTES = 9223372036854775807
_MAX_MICROSECONDS = 9223372036854775
_LINE = re.compile(rb"(0|[1-9][0-9]{0,18})\t(0|[1-9][0-9]{0,15})\n")
_DAYS_OF_400_YEARS = 146097


def instant(text):
    """Returns the instant of a time that satisfies A15 to A17, or None."""
    return read_time(text)[1]


_EPOCH = instant("1970-01-01T00:00:00Z")
_FIRST = instant("2025-01-01T00:00:00Z")
_LAST = instant("2100-01-01T00:00:00Z")
_ORDINAL = instant("0001-01-01T00:00:00Z") // _DAY - 1


def label(moment):
    """L5: returns the text of an instant."""
    days, rest = divmod(moment, _DAY)
    years = 0
    while days - _ORDINAL > datetime.date.max.toordinal():
        days -= _DAYS_OF_400_YEARS
        years += 400
    date = datetime.date.fromordinal(days - _ORDINAL)
    seconds, fraction = divmod(rest, _SECOND)
    text = "%04d-%02d-%02dT%02d:%02d:%02d" % (
        date.year + years, date.month, date.day,
        seconds // 3600, seconds // 60 % 60, seconds % 60,
    )
    return text + (".%06dZ" % fraction if fraction else "Z")


class Arrivals:
    """L2, L3: the times of arrival of a response.

    `valid` is whether L3 is satisfied, as far as the values to compare with are given:
    the size of the response, and the instants of first_byte_at and ended_at.
    """

    def __init__(self, data, started, size=None, first_byte=None, ended=None, whole=False):
        self.counts = []
        self.moments = []
        self.valid = self._read(data, started, ended, whole, first_byte)
        if self.valid and whole and (self.counts[-1] if self.counts else 0) != size:
            self.valid = False  # L3: the last line counts all bytes
            del self.counts[-1:], self.moments[-1:]

    def _read(self, data, started, ended, whole, first_byte):
        """L3: takes the lines before the first malformed one; returns whether all are well-formed."""
        pos = 0
        last_count = last_moment = 0
        while pos < len(data):
            match = _LINE.match(data, pos)
            if match is None:
                return False
            count, moment = int(match.group(1)), int(match.group(2))
            if not last_count < count <= _MAX_BYTES or not last_moment <= moment <= _MAX_MICROSECONDS:
                return False
            if whole and not self.counts and first_byte != started + moment:
                return False
            if whole and started + moment > ended:
                return False
            self.counts.append(count)
            self.moments.append(started + moment)
            last_count, last_moment = count, moment
            pos = match.end()
        return True

    def of(self, frame):
        """L2: returns the time of arrival of a frame, or None."""
        at = bisect_left(self.counts, frame.end)
        return self.moments[at] if at < len(self.moments) else None


class NoArrivals:
    """Arrivals of a response whose frames have no time of arrival."""

    valid = True

    def of(self, frame):
        """L2."""
        return None


def plausible(event, arrival):
    """L4: returns the instant of an event's timestamp, or None."""
    value = event.get("timestamp")
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        return None
    moment = _EPOCH + value * 1000
    last = _LAST if arrival is None else arrival + _DAY
    return moment if _FIRST <= moment <= last else None


def times_of(run, arrivals, operator):
    """L1: returns (source, started_at, finished_at) of a run; the source may be None.

    `operator` is None or (started_at, finished_at or None) as given.
    """
    first, last = arrivals.of(run.started), arrivals.of(run.terminal)
    own = plausible(run.started.value, first)
    if own is not None:
        other = plausible(run.terminal.value, last)
        return "event", label(own), None if other is None else label(other)
    if first is not None:
        return "arrival", label(first), None if last is None else label(last)
    if operator is not None:
        given = [None if text is None else label(instant(text)) for text in operator]
        return "operator", given[0], given[1]
    return None, None, None
