package markup

import (
	"fmt"
	"slices"
)

// Strip is a picture of when the events of a run arrived: a lane for each colour
// of event, and in it a mark for each stretch of time in which some came. It
// holds the same little, however many events there are.
type Strip struct {
	// First and Last are when events arrived, in microseconds.
	First, Last int64
	lanes       []string
	width       int64 // of a stretch, in microseconds
	seen        [stretches]uint16
}

// stretches is into how many the time is divided at most.
const stretches = 256

// Add notes an event. Arrivals never fall from event to event.
func (s *Strip) Add(micros int64, hue string) {
	if s.width == 0 {
		s.First, s.width = micros, 1
	}
	s.Last = max(s.Last, micros)
	lane := slices.Index(s.lanes, hue)
	if lane < 0 {
		lane = len(s.lanes)
		s.lanes = append(s.lanes, hue)
	}
	for (micros-s.First)/s.width >= stretches {
		for i := range s.seen {
			both := uint16(0)
			if 2*i < stretches {
				both = s.seen[2*i] | s.seen[2*i+1]
			}
			s.seen[i] = both
		}
		s.width *= 2
	}
	s.seen[(micros-s.First)/s.width] |= 1 << lane
}

// The sizes of the picture, in its own units.
const (
	across = 1000
	lane   = 8
	tick   = 6 // the height of a mark

	narrowest = 3
)

// Height is that of the picture, in pixels.
func (s *Strip) Height() int { return lane * len(s.lanes) }

// SVG draws the marks as SVG, those of neighbours in one.
func (s *Strip) SVG() HTML {
	var b []byte
	span := float64(s.Last-s.First) + 1
	for i, hue := range s.lanes {
		b = fmt.Appendf(b, `<rect class="track" y="%d" width="%d" height="%d"/>`, i*lane, across, tick)
		for from := 0; from < stretches; from++ {
			to := from
			for to < stretches && s.seen[to]&(1<<i) != 0 {
				to++
			}
			if to == from {
				continue
			}
			x := float64(int64(from)*s.width) / span * across
			end := min(float64(int64(to)*s.width)/span*across, across)
			// A mark is never too narrow to be seen, nor outside.
			w := max(end-x, narrowest)
			x = min(x, across-w)
			b = fmt.Appendf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`, hue, x, i*lane, w, tick)
			from = to
		}
	}
	return HTML(b)
}
