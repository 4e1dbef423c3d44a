package trace

import (
	"bytes"
	"crypto/sha256"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/finding"
)

// Window is the number of lines in which a line of one trace is looked for in the other one, and
// in which a move is recognized.
const Window = 256

// windowBytes limits the lines of one trace in a window, and the differences that could become
// moves. A longer line is a window of its own.
const windowBytes = 32 << 20

// A Kind says how two traces differ in a place.
type Kind string

const (
	// Missing is a line that only the first trace has.
	Missing Kind = "missing"
	// Added is a line that only the second trace has.
	Added Kind = "added"
	// Changed is a line that has other values in the second trace.
	Changed Kind = "changed"
	// Moved is a line that the second trace has in another place.
	Moved Kind = "moved"
	// Same is a line that both traces have. It is reported only if that is asked for.
	Same Kind = "equal"
)

// A Difference is one difference of two traces.
type Difference struct {
	Kind Kind
	// A and B are the lines of the first and the second trace. A is nil if the line was added,
	// and B if it is missing.
	A, B *Line
	// Changes are the values that differ in a changed line.
	Changes []Change
}

// A Change is a value that differs.
type Change struct {
	// Pointer is the JSON Pointer (RFC 6901) of the value in the first line, or in the second
	// one if the first has no such value.
	Pointer finding.Pointer
	// A and B are the JSON texts of both values. One is nil if there is no such value.
	A, B []byte
}

// A Source returns the lines of a trace, one after the other, and nil after the last one.
// Compare keeps the lines.
type Source func() (*Line, error)

// A Comparison says how traces are compared.
type Comparison struct {
	// Exact says that every line has its place. Otherwise lines whose order a client cannot
	// notice (TR10) may appear in any order.
	Exact bool
	// Same says that lines that both traces have are reported too.
	Same bool
}

// Compare compares two traces and passes each difference to report, in the order of the traces.
// The error is that of a source or of report, or says that a line is not JSON.
func Compare(a, b Source, how Comparison, report func(*Difference) error) error {
	c := comparison{sides: [2]side{{next: a}, {next: b}}, Comparison: how, report: report, names: [2]map[string]string{{}, {}}}
	for {
		if err := c.fill(1); err != nil {
			return err
		}
		x, y := c.sides[0].lines, c.sides[1].lines
		if len(x) == 0 && len(y) == 0 {
			return c.flush(0)
		}
		heads := len(x) > 0 && len(y) > 0
		if !heads || !c.equal(x[0], y[0]) || !c.bound(x[0], y[0]) {
			if err := c.fill(Window); err != nil {
				return err
			}
		}
		if heads && c.certain(x[0], y[0]) {
			c.bind(x[0], y[0])
			c.same(x[0], y[0])
			c.drop(1, 1)
			continue
		}
		if c.reordered(0) || c.reordered(1) {
			continue
		}
		if err := c.differ(); err != nil {
			return err
		}
	}
}

// side is the lines of one trace that wait to be compared.
type side struct {
	next  Source
	lines []*Line
	bytes int    // of lines
	last  string // the type of the last line
	ended bool
	// about are the lines in a message or call, by its name. Their order counts.
	about map[string][]*Line
}

// forget removes a line that is no longer in the window from those about its message or call.
func (s *side) forget(l *Line) {
	s.bytes -= len(l.Text)
	list := s.about[l.order.of]
	switch i := slices.Index(list, l); {
	case i < 0: // it is in none
	case len(list) == 1:
		delete(s.about, l.order.of)
	default:
		s.about[l.order.of] = slices.Delete(slices.Clone(list), i, i+1)
	}
}

type comparison struct {
	Comparison
	sides   [2]side
	report  func(*Difference) error
	waiting []waiting
	held    int // bytes of waiting
	done    int // lines of the first trace
	// names has the name in the other trace of each name of a trace, as far as lines that
	// belong together say so.
	names [2]map[string]string
}

// prepare divides the text of a line into its skeleton and names. The skeleton has the role of
// each name, and which of them are the same.
func prepare(l *Line) {
	skeleton := make([]byte, 0, len(l.Text))
	index := map[string]int{}
	end := 0
	for from, to := range namesIn(l.Text) {
		name := l.Text[from:to]
		skeleton = append(skeleton, l.Text[end:from]...)
		skeleton = append(skeleton, name[:bytes.LastIndexByte(name, '-')+1]...)
		i, ok := index[string(name)]
		if !ok {
			i = len(l.names)
			l.names = append(l.names, string(name))
			index[l.names[i]] = i
		}
		skeleton = strconv.AppendInt(skeleton, int64(i), 10)
		end = to
	}
	skeleton = append(skeleton, l.Text[end:]...)
	sum := sha256.Sum256(skeleton)
	l.skeleton = string(sum[:16])
}

// equal reports whether a line of the first trace and one of the second have the same values,
// with names that can be of the same ids.
func (c *comparison) equal(a, b *Line) bool {
	if a.skeleton != b.skeleton {
		return false
	}
	for i, x := range a.names {
		if !c.canPair(x, b.names[i]) {
			return false
		}
	}
	return true
}

// bound reports whether the names of two lines that are equal all belong together already.
func (c *comparison) bound(a, b *Line) bool {
	for i, x := range a.names {
		if c.names[0][x] != b.names[i] {
			return false
		}
	}
	return true
}

// follow is how many lines about a name are looked at before names belong together.
const follow = 8

// certain reports whether two lines are equal, and what the window has about the names that are
// new is so, too. The starts of two messages can be equal although the messages are not.
func (c *comparison) certain(a, b *Line) bool {
	if !c.equal(a, b) {
		return false
	}
	for i, x := range a.names {
		y := b.names[i]
		if _, ok := c.names[0][x]; ok {
			continue
		}
		p, q := c.sides[0].about[x], c.sides[1].about[y]
		known := min(follow, len(p), len(q))
		if !slices.EqualFunc(p[:known], q[:known], func(m, n *Line) bool { return m.skeleton == n.skeleton }) {
			return false
		}
		if len(p) < min(follow, len(q)) && c.sides[0].ended || len(q) < min(follow, len(p)) && c.sides[1].ended {
			return false
		}
	}
	return true
}

// bind notes that the names of two lines that are equal are of the same ids.
func (c *comparison) bind(a, b *Line) {
	for i, x := range a.names {
		c.pair(x, b.names[i])
	}
}

// waiting is a difference that could become a move.
type waiting struct {
	*Difference
	at int // the value of comparison.done
}

// fill reads lines until each side has n, or has ended.
func (c *comparison) fill(n int) error {
	for i := range c.sides {
		s := &c.sides[i]
		for !s.ended && len(s.lines) < n && (len(s.lines) == 0 || s.bytes < windowBytes) {
			l, err := s.next()
			if err != nil {
				return err
			}
			if s.ended = l == nil; !s.ended {
				prepare(l)
				l.After, s.last = s.last, l.Type
				s.lines = append(s.lines, l)
				s.bytes += len(l.Text)
				if s.about == nil {
					s.about = map[string][]*Line{}
				}
				if l.order.of != "" {
					s.about[l.order.of] = append(s.about[l.order.of], l)
				}
			}
		}
	}
	return c.flush(Window)
}

// drop removes the first lines.
func (c *comparison) drop(a, b int) {
	for i, n := range [2]int{a, b} {
		s := &c.sides[i]
		for _, l := range s.lines[:n] {
			s.forget(l)
		}
		s.lines = s.lines[n:]
	}
	c.done += a
}

// reordered looks for the first line of one side in the other one. If it is there, and a client
// cannot notice its place, both are removed.
func (c *comparison) reordered(i int) bool {
	one, other := &c.sides[i], &c.sides[1-i]
	if c.Exact || len(one.lines) == 0 {
		return false
	}
	first := one.lines[0]
	for j, l := range other.lines {
		a, b := first, l
		if i == 1 {
			a, b = b, a
		}
		if c.certain(a, b) {
			if slices.ContainsFunc(other.lines[:j], func(before *Line) bool { return dependent(before, l) }) {
				return false
			}
			c.bind(a, b)
			c.same(a, b)
			other.lines = slices.Delete(slices.Clone(other.lines), j, j+1)
			one.lines = one.lines[1:]
			one.forget(first)
			other.forget(l)
			c.done++
			return true
		}
	}
	return false
}

// differ reports what differs up to the next lines that are equal.
func (c *comparison) differ() error {
	x, y, steps, limit := c.align()
	i, j, again := 0, 0, false
	for n, s := range steps {
		if n == limit {
			break
		}
		if s == both && c.equal(x[i], y[j]) {
			c.bind(x[i], y[j])
			c.same(x[i], y[j])
			i, j, again = i+1, j+1, true
			continue
		}
		if again { // something differs after lines that are equal
			c.drop(i, j)
			x, y, i, j, again = x[i:], y[j:], 0, 0, false
			if c.reordered(0) || c.reordered(1) {
				return nil
			}
		}
		var d *Difference
		switch s {
		case both:
			list, err := c.changes(x[i], y[j])
			if err != nil {
				return err
			}
			if d = (&Difference{Kind: Changed, A: x[i], B: y[j], Changes: list}); len(list) == 0 { // only names in other orders differed
				c.same(x[i], y[j])
				i, j = i+1, j+1
				continue
			}
			i, j = i+1, j+1
		case onlyA:
			d = &Difference{Kind: Missing, A: x[i]}
			i++
		case onlyB:
			d = &Difference{Kind: Added, B: y[j]}
			j++
		}
		c.add(d)
	}
	c.drop(i, j)
	return nil
}

// align returns the lines of the window, or the first of them, how they belong together, and how
// many of the steps are reliable: near the end, the lines that follow could change the result.
// Most differences are short, so that few lines are enough.
func (c *comparison) align() (x, y []*Line, steps []step, limit int) {
	for size := 16; ; size *= 4 {
		x, y = c.sides[0].lines, c.sides[1].lines
		whole := max(len(x), len(y)) <= size
		x, y = x[:min(size, len(x))], y[:min(size, len(y))]
		steps = alignment(len(x), len(y), func(i, j int) int32 { return c.similar(x[i], y[j]) })
		certain, i, j := 0, 0, 0
		for _, s := range steps {
			if s == both && c.certain(x[i], y[j]) {
				certain++
			}
			if s != onlyB {
				i++
			}
			if s != onlyA {
				j++
			}
		}
		switch {
		case whole && c.sides[0].ended && c.sides[1].ended:
			return x, y, steps, len(steps)
		case whole || certain >= size/4:
			return x, y, steps, max(1, len(steps)/2)
		}
	}
}

// same notes that both traces have a line.
func (c *comparison) same(a, b *Line) {
	if c.Same {
		d := &Difference{Kind: Same, A: a, B: b}
		c.waiting = append(c.waiting, waiting{d, c.done})
		c.held += d.bytes()
	}
}

// add notes a difference. A line that is missing here and added there was moved.
func (c *comparison) add(d *Difference) {
	for i, w := range c.waiting {
		switch {
		case d.Kind == Missing && w.Kind == Added && c.equal(d.A, w.B):
			w.Kind, w.A = Moved, d.A
			c.bind(d.A, w.B)
		case d.Kind == Added && w.Kind == Missing && c.equal(w.A, d.B):
			w.Kind, w.B = Moved, d.B
			c.bind(w.A, d.B)
		default:
			continue
		}
		c.waiting[i] = w
		c.held += d.bytes()
		return
	}
	c.waiting = append(c.waiting, waiting{d, c.done})
	c.held += d.bytes()
}

func (d *Difference) bytes() (n int) {
	for _, l := range [...]*Line{d.A, d.B} {
		if l != nil {
			n += len(l.Text)
		}
	}
	for _, c := range d.Changes {
		n += len(c.A) + len(c.B)
	}
	return n
}

// flush reports the differences that are further back than a number of lines.
func (c *comparison) flush(back int) error {
	for len(c.waiting) > 0 && (back == 0 || c.waiting[0].Kind == Same || c.waiting[0].at < c.done-back || len(c.waiting) > 4*Window || c.held > windowBytes) {
		if err := c.report(c.waiting[0].Difference); err != nil {
			return err
		}
		c.held -= c.waiting[0].bytes()
		c.waiting = c.waiting[1:]
	}
	return nil
}

// similar returns how much two lines are alike: 0 if they are about different things.
func (c *comparison) similar(a, b *Line) int32 {
	switch {
	case a.Type != b.Type:
		return 0
	case c.certain(a, b):
		return 4 * sampled
	case a.skeleton == b.skeleton, c.names[0][a.subject] == b.subject && b.subject != "":
		return 2 * sampled
	}
	return 1 + int32(a.common(b))
}

// sampled is the number of words of a line that are compared.
const sampled = 32

// common returns how many of the words of two lines are in both, of a sample: those with the
// least hashes of all (Broder 1997).
func (l *Line) common(other *Line) (n int) {
	x, y := l.sample(), other.sample()
	for i, j, taken := 0, 0, 0; taken < sampled && i < len(x) && j < len(y); taken++ {
		switch {
		case x[i] == y[j]:
			n, i, j = n+1, i+1, j+1
		case x[i] < y[j]:
			i++
		default:
			j++
		}
	}
	return n
}

// sample returns the least hashes of the words of a line, sorted.
func (l *Line) sample() []uint32 {
	if l.words == nil {
		l.words = []uint32{}
		for word := range bytes.FieldsFuncSeq(l.Text, func(r rune) bool { return strings.ContainsRune(` "{}[]:,`, r) }) {
			h := fnv.New32a()
			h.Write(word)
			l.words = append(l.words, h.Sum32())
		}
		slices.Sort(l.words)
		l.words = slices.Compact(l.words)
		l.words = slices.Clip(l.words[:min(sampled, len(l.words))])
	}
	return l.words
}
