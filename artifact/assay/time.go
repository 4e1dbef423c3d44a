package assay

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// instant is a moment as represented by the crate chrono: seconds since 1970 in UTC,
// and nanoseconds, which go up to 1,999,999,999 in a leap second.
type instant struct {
	sec  int64
	nano int
}

func (t instant) before(u instant) bool {
	return t.sec < u.sec || t.sec == u.sec && t.nano < u.nano
}

// String formats t like chrono: in UTC with "Z" and 0, 3, 6 or 9 fraction digits, as
// few as possible.
func (t instant) String() string {
	u := time.Unix(t.sec, 0).UTC()
	year, month, day := u.Date()
	hour, minute, second := u.Clock()
	nano := t.nano
	if nano >= 1e9 {
		second, nano = second+1, nano-1e9
	}
	form := "%04d"
	if year < 0 || year > 9999 {
		form = "%+05d"
	}
	s := fmt.Sprintf(form+"-%02d-%02dT%02d:%02d:%02d", year, int(month), day, hour, minute, second)
	switch {
	case nano == 0:
	case nano%1e6 == 0:
		s += fmt.Sprintf(".%03d", nano/1e6)
	case nano%1e3 == 0:
		s += fmt.Sprintf(".%06d", nano/1e3)
	default:
		s += fmt.Sprintf(".%09d", nano)
	}
	return s + "Z"
}

// The range of years that chrono supports.
const minYear, maxYear = -262143, 262142

// parseTime parses a time like the reference, which is much more lenient than RFC 3339
// (chrono 0.4.45, format/parse.rs, parse_rfc3339_relaxed). Parts may have fewer
// digits, most parts may be separated by spaces, years may have a sign and range from
// minYear to maxYear, any minute may have a second 60, and "UTC" is a valid offset.
func parseTime(s string) (instant, bool) {
	p := timeParser{s: s}
	year := p.year()
	p.separator("-")
	month := p.number(2, 1, 12)
	p.separator("-")
	day := p.number(2, 1, 31)
	if p.s == "" || !strings.Contains("tT ", p.s[:1]) {
		return instant{}, false
	}
	p.s = p.s[1:]
	hour := p.number(2, 0, 23)
	p.separator(":")
	minute := p.number(2, 0, 59)
	p.separator(":")
	second := p.number(2, 0, 60)
	nano := p.fraction()
	offset := p.offset()
	p.space()
	if p.failed || p.s != "" || year < minYear || year > maxYear {
		return instant{}, false
	}
	if second == 60 {
		second, nano = 59, nano+1e9
	}
	local := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	utc := local.Add(-time.Duration(offset) * time.Second)
	if local.Day() != day || utc.Year() < minYear || utc.Year() > maxYear {
		return instant{}, false
	}
	return instant{utc.Unix(), nano}, true
}

// timeParser consumes a time from the front. After a failure, failed stays true.
type timeParser struct {
	s      string
	failed bool
}

func (p *timeParser) space() { p.s = strings.TrimLeftFunc(p.s, unicode.IsSpace) }

func (p *timeParser) separator(sep string) {
	p.space()
	rest, ok := strings.CutPrefix(p.s, sep)
	p.s, p.failed = rest, p.failed || !ok
}

// digits consumes between one and width digits. It caps the number at a value that is
// too large for any part of a time.
func (p *timeParser) digits(width int) (number, count int) {
	n := int64(0)
	for count < width && count < len(p.s) && '0' <= p.s[count] && p.s[count] <= '9' {
		n = min(n*10+int64(p.s[count]-'0'), 1<<30)
		count++
	}
	p.s, p.failed = p.s[count:], p.failed || count == 0
	return int(n), count
}

func (p *timeParser) number(width, low, high int) int {
	p.space()
	n, _ := p.digits(width)
	p.failed = p.failed || n < low || n > high
	return n
}

// year consumes four digits or fewer, or a sign and any number of them.
func (p *timeParser) year() int {
	p.space()
	if rest, ok := strings.CutPrefix(p.s, "-"); ok {
		p.s = rest
		n, _ := p.digits(len(rest))
		return -n
	}
	if rest, ok := strings.CutPrefix(p.s, "+"); ok {
		p.s = rest
		n, _ := p.digits(len(rest))
		return n
	}
	n, _ := p.digits(4)
	return n
}

// fraction consumes an optional point with digits and returns nanoseconds.
func (p *timeParser) fraction() int {
	rest, ok := strings.CutPrefix(p.s, ".")
	if !ok {
		return 0
	}
	p.s = rest
	nano, count := p.digits(9)
	for ; count < 9; count++ {
		nano *= 10
	}
	p.s = strings.TrimLeft(p.s, "0123456789")
	return nano
}

// offset consumes the offset from UTC and returns it in seconds.
func (p *timeParser) offset() int {
	p.space()
	if len(p.s) >= 3 && strings.EqualFold(p.s[:3], "UTC") {
		p.s = p.s[3:]
		return 0
	}
	if p.s != "" && (p.s[0] == 'Z' || p.s[0] == 'z') {
		p.s = p.s[1:]
		return 0
	}
	sign := 0
	for prefix, value := range map[string]int{"+": 1, "-": -1, "\u2212": -1} {
		if rest, ok := strings.CutPrefix(p.s, prefix); ok {
			p.s, sign = rest, value
			break
		}
	}
	hours, m := p.digits(2)
	p.s = strings.TrimLeftFunc(p.s, func(r rune) bool { return r == ':' || unicode.IsSpace(r) })
	minutes, n := p.digits(2)
	p.failed = p.failed || sign == 0 || m != 2 || n != 2 || minutes > 59 || hours > 23
	return sign * (hours*3600 + minutes*60)
}
