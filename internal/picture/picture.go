// Package picture computes the picture of a run: when events of each family arrived. It
// knows the types of AG-UI's events, and nothing of how a picture is drawn.
package picture

import (
	"math"
	"slices"
	"sort"
	"strconv"
)

// Picture shows when the events of a run arrived. It has a lane for each family of
// events. A lane has a mark for each interval in which such events arrived. The size of a
// Picture does not depend on the number of events.
type Picture struct {
	// First and Last are the positions of the first and the last event: times in
	// microseconds, or indexes.
	First, Last int64
	counts      []count
	width       int64 // of an interval
	seen        [stretches]uint16
}

// count is the number of events of a family.
type count struct {
	family string
	events int
}

// stretches is the maximum number of intervals.
const stretches = 256

// Add adds an event of one of the families of [Family]. Events must be added in order.
func (p *Picture) Add(at int64, family string) {
	if p.width == 0 {
		p.First, p.width = at, 1
	}
	p.Last = max(p.Last, at)
	lane := slices.IndexFunc(p.counts, func(c count) bool { return c.family == family })
	if lane < 0 {
		lane = len(p.counts)
		p.counts = append(p.counts, count{family: family})
	}
	p.counts[lane].events++
	for (at-p.First)/p.width >= stretches {
		for i := range p.seen {
			both := uint16(0)
			if 2*i < stretches {
				both = p.seen[2*i] | p.seen[2*i+1]
			}
			p.seen[i] = both
		}
		p.width *= 2
	}
	p.seen[(at-p.First)/p.width] |= 1 << lane
}

// Heights are in pixels. Widths and x coordinates are percentages of the width of the
// picture, rounded to hundredths.
const (
	// LaneHeight is the height of a lane, and MarkHeight that of the marks in its middle.
	LaneHeight = 24
	MarkHeight = 12
	axis       = 24

	border = 1.0 // left and right of the intervals
	margin = 4.0 // where a tick's label would not fit
	wide   = 1.2 // marks of adjacent intervals narrower than this are joined
)

// Height returns the height of the picture: that of its lanes, and of an axis below them.
func (p *Picture) Height() int { return LaneHeight*len(p.counts) + axis }

// Lane shows the events of a family.
type Lane struct {
	Family string // as Family returns it
	Name   string // for people
	Count  int    // number of events
	Y      int    // y coordinate of the middle
	Marks  []Mark // from left to right
}

// Mark shows that events arrived in an interval, or in several adjacent ones.
type Mark struct{ X, Width float64 }

// Lanes returns the lanes from top to bottom. Marks of adjacent narrow intervals are joined.
func (p *Picture) Lanes() []Lane {
	lanes := make([]Lane, len(p.counts))
	for bit, c := range p.counts {
		lanes[bit] = Lane{Family: c.family, Name: name(c.family), Count: c.events, Marks: p.marks(bit)}
	}
	sort.Slice(lanes, func(i, j int) bool {
		return slices.Index(families, lanes[i].Family) < slices.Index(families, lanes[j].Family)
	})
	for i := range lanes {
		lanes[i].Y = i*LaneHeight + LaneHeight/2
	}
	return lanes
}

// marks returns the marks of the family with a bit in seen.
func (p *Picture) marks(bit int) (marks []Mark) {
	slot := p.slot()
	gap := slot / 8
	for from := 0; from < stretches; from++ {
		to := from
		for to < stretches && p.seen[to]&(1<<bit) != 0 && (to == from || slot < wide) {
			to++
		}
		if to == from {
			continue
		}
		marks = append(marks, Mark{round(border + float64(from)*slot + gap), round(float64(to-from)*slot - 2*gap)})
		from = to - 1
	}
	return marks
}

// slot returns the width of an interval.
func (p *Picture) slot() float64 {
	return (100 - 2*border) / float64((p.Last-p.First)/max(p.width, 1)+1)
}

// Middle returns the x coordinate of the middle of the interval that contains a position
// from First to Last.
func (p *Picture) Middle(at int64) float64 {
	return round(border + (float64((at-p.First)/p.width)+.5)*p.slot())
}

// Tick is a round position on the axis. Step is the distance between ticks.
type Tick struct {
	X        float64
	At, Step int64
}

// Ticks returns a few round positions between the first and the last event.
func (p *Picture) Ticks() (ticks []Tick) {
	const few = 4
	if len(p.counts) == 0 {
		return nil
	}
	span := p.Last - p.First
	step := int64(1)
	for i := 0; span/step > few; i++ {
		step = step / []int64{1, 2, 5}[i%3] * []int64{2, 5, 10}[i%3]
	}
	for at := (p.First + step - 1) / step * step; at <= p.Last; at += step {
		x := border + (float64(at-p.First)/float64(p.width)+.5)*p.slot()
		if x > margin && x < 100-margin {
			ticks = append(ticks, Tick{round(x), at, step})
		}
	}
	return ticks
}

// round rounds to hundredths.
func round(x float64) float64 { return math.Round(x*100) / 100 }

// Micros formats a time in microseconds as the label of a tick. The step between ticks
// determines the precision.
func Micros(at, step int64) string {
	unit, name := int64(1_000), " ms"
	if at >= 10_000_000 || step >= 1_000_000 {
		unit, name = 1_000_000, " s"
	}
	digits := 0
	for s := step; s < unit; s *= 10 {
		digits++
	}
	return strconv.FormatFloat(float64(at)/float64(unit), 'f', digits, 64) + name
}

// Index formats the index of an event as the label of a tick.
func Index(at, _ int64) string { return "#" + strconv.FormatInt(at, 10) }
