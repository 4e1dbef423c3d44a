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

// A line of arrivals.tsv stands for a network read: the bytes of the response
// received so far, a tab, the microseconds since started_at, a line feed. The
// bytes grow from line to line, the microseconds never fall, and both are written
// without sign or leading zero.

// arrival is one line.
type arrival struct {
	bytes  int64
	micros int64
}

// appendTo appends the line.
func (a arrival) appendTo(b []byte) []byte {
	b = strconv.AppendInt(b, a.bytes, 10)
	b = append(b, '\t')
	b = strconv.AppendInt(b, a.micros, 10)
	return append(b, '\n')
}

// arrivals reads arrivals.tsv in step with the response, in constant memory.
type arrivals struct {
	r       *bufio.Reader
	started time.Time
	held    bool      // lines are held against first and until
	first   time.Time // the moment of the first line
	until   time.Time // the last moment a line may have
	last    arrival
	offset  int64 // of the next line
	line    int   // number of the last line read, from 1
	ended   bool
	problem *finding.Finding
}

func newArrivals(r io.Reader, started time.Time) *arrivals {
	return &arrivals{r: bufio.NewReader(r), started: started}
}

// within makes lines be held against the manifest: the first has the moment first,
// and none is after until.
func (a *arrivals) within(first, until time.Time) { a.held, a.first, a.until = true, first, until }

// moment returns when the bytes of a line were there.
func (a *arrivals) moment(l arrival) time.Time {
	return a.started.Add(time.Duration(l.micros) * time.Microsecond)
}

// at returns when the first bytes up to the offset end were there: the moment of
// the first line that counts at least as many. Offsets must not fall from call to
// call. The time is zero past the last line, and after a malformed one.
func (a *arrivals) at(end int64) (time.Time, error) {
	for a.last.bytes < end {
		if more, err := a.next(); err != nil || !more {
			return time.Time{}, err
		}
	}
	return a.moment(a.last), nil
}

// finish reads the rest and holds the last line against the size of the response.
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
		a.refuse("the last line counts %d bytes of a response of %d", a.last.bytes, size)
	}
	return nil
}

// next reads a line. It returns false after the last one and after a malformed one.
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
		a.refuse("line %d is not two numbers with a tab between them", a.line)
	case next.bytes <= a.last.bytes:
		a.refuse("line %d counts no more bytes than the line before", a.line)
	case next.micros < a.last.micros:
		a.refuse("line %d is earlier than the line before", a.line)
	case a.held && a.line == 1 && !a.moment(next).Equal(a.first):
		a.refuse("the first line is not the first_byte_at of %s", ManifestName)
	case a.held && a.moment(next).After(a.until):
		a.refuse("line %d is after the ended_at of %s", a.line, ManifestName)
	default:
		a.last = next
		a.offset += int64(len(line))
		return true, nil
	}
	return false, nil
}

// refuse ends the reading with a finding about the line at offset.
func (a *arrivals) refuse(format string, args ...any) {
	f := finding.New(finding.ArrivalsMalformed, ArrivalsName+": "+format, args...).WithOffset(a.offset).WithLine(a.line)
	a.problem, a.ended = &f, true
	a.last = arrival{bytes: -1} // no offset is at or before it
}

// parseArrival reads a line with its line feed.
func parseArrival(line []byte) (arrival, bool) {
	line, terminated := bytes.CutSuffix(line, []byte{'\n'})
	first, second, tabbed := bytes.Cut(line, []byte{'\t'})
	received, ok1 := parseCount(first)
	micros, ok2 := parseCount(second)
	ok := terminated && tabbed && len(line) < maxArrivalLine && ok1 && ok2 && micros <= math.MaxInt64/int64(time.Microsecond)
	return arrival{received, micros}, ok
}

// parseCount reads a number as strconv.AppendInt writes it.
func parseCount(b []byte) (int64, bool) {
	if len(b) == 0 || b[0] < '0' || b[0] > '9' || (b[0] == '0' && len(b) > 1) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}
