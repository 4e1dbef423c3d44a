package facts

import (
	"time"

	"github.com/p20export/p20export/internal/picture"
	"github.com/p20export/p20export/store"
)

// Picture is the picture of a run, as package picture describes it: x coordinates and widths
// are percentages of the width, and y coordinates and the height are pixels.
type Picture struct {
	// By is time if the axis is the time since the request was sent, or since the first
	// event if that is not known. It is order if the axis has the positions of the thread,
	// because the time of an event is not known.
	By     string `json:"by"`
	Height int    `json:"height"`
	Lanes  []Lane `json:"lanes"`
	Ticks  []Tick `json:"ticks"`
	// FirstUS is the time from the request to the first event, in microseconds, or nil if it
	// is not known.
	FirstUS *int64 `json:"first_us"`
}

// Lane shows the events of a family.
type Lane struct {
	Family string `json:"family"`
	Name   string `json:"name"`
	Count  int    `json:"count"`
	Y      int    `json:"y"`
	// Marks are pairs of an x coordinate and a width.
	Marks [][2]float64 `json:"marks"`
}

// Tick is a label of the axis.
type Tick struct {
	X     float64 `json:"x"`
	Label string  `json:"label"`
}

// timeline has the times of the events of a run.
type timeline struct {
	byTime, byOrder picture.Picture
	// unknown means that the time of an event is not known, so that byTime lacks events.
	unknown bool
	// first and last are the times of arrival of the first and of the last event.
	first, last time.Time
	// sent is the time of the request, or of the first event.
	sent      time.Time
	knowsSent bool
	begun     bool
}

// add adds an event of a run whose request was sent at a time, which is zero if it is not
// known. A clock may have been set back, so times need not be in order: in the picture, an
// event is never before one that precedes it.
func (t *timeline) add(e *store.Entry, sent time.Time) {
	family := picture.Family(e.Type)
	t.byOrder.Add(e.Position, family)
	t.last = e.Arrived
	if !t.begun {
		t.begun, t.first, t.sent = true, e.Arrived, sent
		if t.knowsSent = !sent.IsZero(); !t.knowsSent {
			t.sent = e.Arrived
		}
	}
	t.unknown = t.unknown || e.Arrived.IsZero()
	if !t.unknown {
		t.byTime.Add(max(e.Arrived.UnixMicro()-t.sent.UnixMicro(), t.byTime.Last), family)
	}
}

// duration returns the time from the first event to the last, or nil if it is not known.
func (t *timeline) duration() *int64 {
	micros := t.last.UnixMicro() - t.first.UnixMicro()
	if t.first.IsZero() || t.last.IsZero() || micros < 0 {
		return nil
	}
	return &micros
}

// picture returns the picture.
func (t *timeline) picture() Picture {
	from, label := &t.byTime, picture.Micros
	p := Picture{By: "time", Lanes: []Lane{}, Ticks: []Tick{}}
	if t.unknown {
		from, label, p.By = &t.byOrder, picture.Index, "order"
	} else if t.knowsSent {
		p.FirstUS = &from.First
	}
	p.Height = from.Height()
	for _, l := range from.Lanes() {
		lane := Lane{Family: l.Family, Name: l.Name, Count: l.Count, Y: l.Y, Marks: make([][2]float64, len(l.Marks))}
		for i, m := range l.Marks {
			lane.Marks[i] = [2]float64{m.X, m.Width}
		}
		p.Lanes = append(p.Lanes, lane)
	}
	for _, tick := range from.Ticks() {
		p.Ticks = append(p.Ticks, Tick{tick.X, label(tick.At, tick.Step)})
	}
	return p
}
