package capture

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/p20export/p20export/finding"
)

// arrivals.tsv has a line for each network read: the number of response bytes
// received so far, a tab, the microseconds since started_at, and a line feed. From
// line to line the bytes increase and the microseconds do not decrease. Numbers have
// no sign and no leading zeros.

// Arrivals sums up the network reads of a response.
type Arrivals struct {
	Reads int
	// First and Last are the times of the first and the last read.
	First, Last time.Time
	// Silence is the longest time between two reads, or between the start of the capture
	// and the first read. SilenceEnd is the number of bytes received before its end.
	Silence    time.Duration
	SilenceEnd int64
}

// Arrivals returns the sum of the reads, which is valid after io.EOF, and whether
// arrivals.tsv was recorded and is intact.
func (c *Capture) Arrivals() (Arrivals, bool) {
	a := c.arrivals
	if a == nil {
		a = c.codedArrivals
	}
	if a == nil || a.problem != nil || a.sum.Reads == 0 {
		return Arrivals{}, false
	}
	return a.sum, true
}

// arrival is a line of arrivals.tsv.
type arrival struct {
	bytes  int64
	micros int64
}

// elapsed returns the time since started_at.
func (a arrival) elapsed() time.Duration { return time.Duration(a.micros) * time.Microsecond }

// appendTo appends the line to b.
func (a arrival) appendTo(b []byte) []byte {
	b = strconv.AppendInt(b, a.bytes, 10)
	b = append(b, '\t')
	b = strconv.AppendInt(b, a.micros, 10)
	return append(b, '\n')
}

// arrivals reads arrivals.tsv along with the response, in constant memory.
type arrivals struct {
	r       *bufio.Reader
	started time.Time
	bounded bool      // lines are compared with first and until
	first   time.Time // the required time of the first line
	until   time.Time // the latest time of a line
	last    arrival
	offset  int64 // offset of the next line
	line    int   // number of the last line read, from 1
	ended   bool
	problem *finding.Finding
	sum     Arrivals
}

// newArrivals returns arrivals that reads from r, which probably has size bytes.
func newArrivals(r io.Reader, size int64, started time.Time) *arrivals {
	const largest = 4 << 10
	return &arrivals{r: bufio.NewReaderSize(r, int(min(max(size, maxArrivalLine), largest))), started: started}
}

// within sets the required time of the first line and the latest time of a line.
func (a *arrivals) within(first, until time.Time) { a.bounded, a.first, a.until = true, first, until }

// time returns the time of a line.
func (a *arrivals) time(l arrival) time.Time {
	return a.started.Add(l.elapsed())
}

// at returns the arrival time of the bytes before the offset end: the time of the
// first line with at least that many bytes. Offsets must not decrease from call to
// call. The time is zero past the last line and after a malformed line.
func (a *arrivals) at(end int64) (time.Time, error) {
	for a.last.bytes < end {
		if more, err := a.next(); err != nil || !more {
			return time.Time{}, err
		}
	}
	return a.time(a.last), nil
}

// finish reads the remaining lines and compares the last one with the size of the
// response.
func (a *arrivals) finish(size int64) error {
	for {
		more, err := a.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if a.problem == nil && a.last.bytes != size {
		a.fail("the last line has %d bytes, but the response has %d", a.last.bytes, size)
	}
	return nil
}

// next reads a line. It returns false after the last line and after a malformed
// line.
func (a *arrivals) next() (bool, error) {
	if a.ended {
		return false, nil
	}
	line, err := a.r.ReadSlice('\n')
	switch {
	case err == io.EOF && len(line) == 0:
		a.ended = true
		return false, nil
	case err != nil && err != io.EOF && err != bufio.ErrBufferFull:
		return false, err
	}
	a.line++
	next, ok := parseArrival(line)
	switch {
	case !ok:
		a.fail("line %d is not two numbers separated by a tab", a.line)
	case next.bytes <= a.last.bytes:
		a.fail("line %d does not have more bytes than the line before", a.line)
	case next.micros < a.last.micros:
		a.fail("line %d is earlier than the line before", a.line)
	case a.bounded && a.line == 1 && !a.time(next).Equal(a.first):
		a.fail("the first line does not have the first_byte_at of %s", ManifestName)
	case a.bounded && a.time(next).After(a.until):
		a.fail("line %d is after the ended_at of %s", a.line, ManifestName)
	default:
		a.count(next)
		a.last = next
		a.offset += int64(len(line))
		return true, nil
	}
	return false, nil
}

// count adds a line to the sum.
func (a *arrivals) count(next arrival) {
	s := &a.sum
	s.Reads++
	s.Last = a.time(next)
	if s.Reads == 1 {
		s.First = s.Last
	}
	if silence := next.elapsed() - a.last.elapsed(); silence > s.Silence {
		s.Silence, s.SilenceEnd = silence, a.last.bytes
	}
}

// fail ends reading with a finding about the line at a.offset.
func (a *arrivals) fail(format string, args ...any) {
	f := finding.New(finding.ArrivalsMalformed, ArrivalsName+": "+format, args...).WithOffset(a.offset).WithLine(a.line)
	a.problem, a.ended = &f, true
	a.last = arrival{bytes: -1} // less than any offset
}

// parseArrival parses a line, which must end with a line feed.
func parseArrival(line []byte) (arrival, bool) {
	line, terminated := bytes.CutSuffix(line, []byte{'\n'})
	first, second, tabbed := bytes.Cut(line, []byte{'\t'})
	received, ok1 := parseCount(first)
	micros, ok2 := parseCount(second)
	ok := terminated && tabbed && len(line) < maxArrivalLine && ok1 && ok2 && micros <= math.MaxInt64/int64(time.Microsecond)
	return arrival{received, micros}, ok
}

// parseCount parses a number in the format of strconv.AppendInt.
func parseCount(b []byte) (int64, bool) {
	if len(b) == 0 || b[0] < '0' || b[0] > '9' || (b[0] == '0' && len(b) > 1) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}
