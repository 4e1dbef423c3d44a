package markup

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Every event has a mark at its position, there are no other marks, and nothing is drawn
// outside the picture. A ring is on the mark of its event.
func TestPicture(t *testing.T) {
	rect := regexp.MustCompile(`<rect class="(\w+)" x="([-0-9.]+)%" y="(\d+)" width="([-0-9.]+)%" height="12"/>`)
	ring := regexp.MustCompile(`<circle cx="([-0-9.]+)%" cy="(\d+)" r="8"/>`)
	number := func(s string) float64 { x, _ := strconv.ParseFloat(s, 64); return x }
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, 1<<40).Draw(t, "first")
		var p Picture
		at := first
		var events []Kept
		count := make(map[string]int)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			e := Kept{at, rapid.SampledFrom(families).Draw(t, "family")}
			events = append(events, e)
			count[e.Family]++
			p.Add(e.At, e.Family)
			at += rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "scale"))).Draw(t, "step")
		}
		if p.First != first || p.Last != events[len(events)-1].At {
			t.Fatalf("from %d to %d", p.First, p.Last)
		}
		lanes := make(map[string]int)
		for i, l := range p.Lanes() {
			if lanes[l.Family] = i*LaneHeight + LaneHeight/2; l.Count != count[l.Family] {
				t.Errorf("%d of %s, want %d", l.Count, l.Family, count[l.Family])
			}
		}
		if len(lanes) != len(count) || p.Height() != len(lanes)*LaneHeight+axis {
			t.Errorf("%d lanes of %d, %d pixels", len(lanes), len(count), p.Height())
		}
		svg := string(p.SVG(events, Micros))
		drawn := rect.FindAllStringSubmatch(svg, -1)
		rings := ring.FindAllStringSubmatch(svg, -1)
		used := make(map[int]bool)
		for _, e := range events {
			place := p.middle(e.At)
			found := false
			for i, r := range drawn {
				x, w := number(r[2]), number(r[4])
				if x < border-.01 || x+w > 100-border+.01 || w <= 0 {
					t.Errorf("%s is outside", r[0])
				}
				if r[1] == e.Family && number(r[3])+mark/2 == float64(lanes[e.Family]) && x <= place+.01 && place <= x+w+.01 {
					found, used[i] = true, true
				}
			}
			if !found {
				t.Errorf("no mark at %.2f for %v of %v in %s", place, e, events, svg)
			}
			if !slices.ContainsFunc(rings, func(r []string) bool {
				return number(r[2]) == float64(lanes[e.Family]) && number(r[1]) > place-.01 && number(r[1]) < place+.01
			}) {
				t.Errorf("no ring at %.2f for %v", place, e)
			}
		}
		if len(used) != len(drawn) || len(rings) != len(events) {
			t.Errorf("%d marks, %d used; %d rings", len(drawn), len(used), len(rings))
		}
		if n := strings.Count(svg, "<text"); n > 6 {
			t.Errorf("%d ticks", n)
		}
	})
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
		var p Picture
		p.Add(test.first, "run")
		p.Add(test.last, "run")
		var got []string
		for _, tick := range p.ticks() {
			got = append(got, Micros(tick.at, tick.step))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d to %d: %s", test.first, test.last, diff)
		}
	}
}
