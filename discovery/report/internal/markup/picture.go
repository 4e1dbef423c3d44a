package markup

import (
	"fmt"
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
	lanes       []Lane
	width       int64 // of an interval
	seen        [stretches]uint16
}

// Lane is a family of events and the number of its events in the run.
type Lane struct {
	Family string
	Count  int
}

// stretches is the maximum number of intervals.
const stretches = 256

// families lists the families of events in the order of the lanes.
var families = []string{"run", "text", "reasoning", "tool", "state", "activity", "snapshot", "other", "bad"}

// Add adds an event. Events must be added in order.
func (p *Picture) Add(at int64, family string) {
	if p.width == 0 {
		p.First, p.width = at, 1
	}
	p.Last = max(p.Last, at)
	lane := slices.IndexFunc(p.lanes, func(l Lane) bool { return l.Family == family })
	if lane < 0 {
		lane = len(p.lanes)
		p.lanes = append(p.lanes, Lane{Family: family})
	}
	p.lanes[lane].Count++
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

// Lanes returns the lanes from top to bottom.
func (p *Picture) Lanes() []Lane {
	sorted := slices.Clone(p.lanes)
	sort.Slice(sorted, func(i, j int) bool {
		return slices.Index(families, sorted[i].Family) < slices.Index(families, sorted[j].Family)
	})
	return sorted
}

// Heights are in pixels. Widths are percentages of the width of the picture.
const (
	LaneHeight = 24
	mark       = 12
	axis       = 24

	border = 1.0 // left and right of the intervals
	margin = 4.0 // where a tick's label would not fit
	wide   = 1.2 // marks of adjacent intervals narrower than this are joined
)

// Height returns the height of the picture in pixels.
func (p *Picture) Height() int { return LaneHeight*len(p.lanes) + axis }

// slot returns the width of an interval.
func (p *Picture) slot() float64 {
	return (100 - 2*border) / float64((p.Last-p.First)/p.width+1)
}

// at returns the x coordinate of a position.
func (p *Picture) at(x int64) float64 {
	return border + (float64(x-p.First)/float64(p.width)+.5)*p.slot()
}

// middle returns the x coordinate of the middle of the interval that contains a position.
func (p *Picture) middle(x int64) float64 {
	return border + (float64((x-p.First)/p.width)+.5)*p.slot()
}

// Kept is an event that gets a ring in a picture.
type Kept struct {
	At     int64
	Family string
}

// SVG draws the picture: the marks of the events, a ring for each kept event, and ticks
// with the labels that tick returns. Marks of adjacent narrow intervals are joined.
func (p *Picture) SVG(kept []Kept, tick func(at, step int64) string) HTML {
	var b []byte
	lanes := p.Lanes()
	floor, slot := LaneHeight*len(lanes), p.slot()
	for _, t := range p.ticks() {
		x := p.at(t.at)
		b = fmt.Appendf(b, `<line class="tick" x1="%.2f%%" x2="%.2f%%" y2="%d"/><text x="%.2f%%" y="%d">`, x, x, floor+4, x, floor+18)
		b, _ = Append(b, tick(t.at, t.step), false, len(b)+100)
		b = append(b, `</text>`...)
	}
	for i, lane := range lanes {
		middle := i*LaneHeight + LaneHeight/2
		b = fmt.Appendf(b, `<line class="track" x1="0" x2="100%%" y1="%d" y2="%d"/>`, middle, middle)
		bit := slices.IndexFunc(p.lanes, func(l Lane) bool { return l == lane })
		for from := 0; from < stretches; from++ {
			to := from
			for to < stretches && p.seen[to]&(1<<bit) != 0 && (to == from || slot < wide) {
				to++
			}
			if to == from {
				continue
			}
			gap := slot / 8
			b = fmt.Appendf(b, `<rect class="%s" x="%.2f%%" y="%d" width="%.2f%%" height="%d"/>`, lane.Family, border+float64(from)*slot+gap, middle-mark/2, float64(to-from)*slot-2*gap, mark)
			from = to - 1
		}
		for _, k := range kept {
			if k.Family == lane.Family {
				b = fmt.Appendf(b, `<circle cx="%.2f%%" cy="%d" r="8"/>`, p.middle(k.At), middle)
			}
		}
	}
	return HTML(b)
}

type tickAt struct{ at, step int64 }

// ticks returns a few round positions between the first and the last event.
func (p *Picture) ticks() (list []tickAt) {
	const few = 4
	span := p.Last - p.First
	step := int64(1)
	for i := 0; span/step > few; i++ {
		step = step / []int64{1, 2, 5}[i%3] * []int64{2, 5, 10}[i%3]
	}
	for at := (p.First + step - 1) / step * step; at <= p.Last; at += step {
		if x := p.at(at); x > margin && x < 100-margin {
			list = append(list, tickAt{at, step})
		}
	}
	return list
}

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
