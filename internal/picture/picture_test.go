package picture_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/picture"
)

type event struct {
	at     int64
	family string
}

// types has an event type of each family, in the order of the lanes.
var types = []string{"RUN_STARTED", "TEXT_MESSAGE_START", "THINKING_START", "TOOL_CALL_END", "STATE_DELTA", "ACTIVITY_DELTA", "MESSAGES_SNAPSHOT", "CUSTOM", ""}

// Every event has a mark at its position, there are no other marks, and nothing is outside
// the picture.
func TestPicture(t *testing.T) {
	var families []string
	for _, kind := range types {
		families = append(families, picture.Family(kind))
	}
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, 1<<40).Draw(t, "first")
		var p picture.Picture
		at := first
		var events []event
		count := make(map[string]int)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			e := event{at, rapid.SampledFrom(families).Draw(t, "family")}
			events = append(events, e)
			count[e.family]++
			p.Add(e.at, e.family)
			at += rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "scale"))).Draw(t, "step")
		}
		if p.First != first || p.Last != events[len(events)-1].at {
			t.Fatalf("from %d to %d", p.First, p.Last)
		}
		lanes := p.Lanes()
		marks, used := 0, make(map[picture.Mark]bool)
		for i, l := range lanes {
			if l.Count != count[l.Family] || l.Y != i*picture.LaneHeight+picture.LaneHeight/2 || l.Name == "" {
				t.Errorf("lane %d is %+v, want %d events", i, l, count[l.Family])
			}
			if i > 0 && slices.Index(families, lanes[i-1].Family) >= slices.Index(families, l.Family) {
				t.Errorf("%s is above %s", lanes[i-1].Family, l.Family)
			}
			for j, m := range l.Marks {
				if m.X < .99 || m.X+m.Width > 99.01 || m.Width <= 0 || j > 0 && m.X < l.Marks[j-1].X+l.Marks[j-1].Width {
					t.Errorf("mark %v after %v", m, l.Marks[:j])
				}
			}
			clear(used)
			for _, e := range events {
				if e.family != l.Family {
					continue
				}
				place := p.Middle(e.at)
				at := slices.IndexFunc(l.Marks, func(m picture.Mark) bool { return m.X <= place+.01 && place <= m.X+m.Width+.01 })
				if at < 0 {
					t.Fatalf("no mark at %.2f for %v of %v in %v", place, e, events, l.Marks)
				}
				used[l.Marks[at]] = true
			}
			if marks += len(l.Marks); len(used) != len(l.Marks) {
				t.Errorf("%d marks, %d used", len(l.Marks), len(used))
			}
		}
		if len(lanes) != len(count) || p.Height() != (len(lanes)+1)*picture.LaneHeight || marks > 256*len(lanes) {
			t.Errorf("%d lanes of %d, %d pixels, %d marks", len(lanes), len(count), p.Height(), marks)
		}
		if ticks := p.Ticks(); len(ticks) > 6 {
			t.Errorf("ticks %v", ticks)
		}
	})
}

// A picture without events has no lanes and no ticks.
func TestEmptyPicture(t *testing.T) {
	var p picture.Picture
	if len(p.Lanes())+len(p.Ticks()) != 0 || p.Height() != picture.LaneHeight {
		t.Errorf("%v, %v, %d pixels", p.Lanes(), p.Ticks(), p.Height())
	}
}

// TestFamily checks that events of AG-UI have families of their own, except those that are
// of no particular kind.
func TestFamily(t *testing.T) {
	var other []string
	for _, kind := range eventnames.Released() {
		if picture.Family(kind) == "other" {
			other = append(other, kind)
		}
	}
	if diff := cmp.Diff([]string{"RAW", "CUSTOM"}, other); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, kind := range types {
		var p picture.Picture
		p.Add(0, picture.Family(kind))
		names = append(names, p.Lanes()[0].Name)
	}
	if diff := cmp.Diff([]string{"Run", "Text", "Reasoning", "Tools", "State", "Activity", "Snapshot", "Other", "Not an event"}, names); diff != "" {
		t.Error(diff)
	}
}

// Ticks are round, and few.
func TestTicks(t *testing.T) {
	for _, test := range []struct {
		first, last int64
		want        []string
	}{
		{9_096, 82_932, []string{"20 ms", "40 ms", "60 ms", "80 ms"}},
		{0, 0, []string{"0.000 ms"}},
		{12_300_000, 12_374_000, []string{"12.32 s", "12.34 s", "12.36 s"}},
		{0, 2_309_000, []string{"500 ms", "1000 ms", "1500 ms", "2000 ms"}},
		{0, 90_000_000, []string{"20 s", "40 s", "60 s", "80 s"}},
		{100, 900, []string{"0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms"}},
		{7_000, 7_003, []string{"7.000 ms", "7.001 ms", "7.002 ms", "7.003 ms"}},
	} {
		var p picture.Picture
		p.Add(test.first, "run")
		p.Add(test.last, "run")
		var got []string
		for _, tick := range p.Ticks() {
			got = append(got, picture.Micros(tick.At, tick.Step))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d to %d: %s", test.first, test.last, diff)
		}
	}
}
