package markup

import (
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Every event has a mark where it belongs, there is no mark where none came, and
// nothing is drawn outside the picture.
func TestStrip(t *testing.T) {
	hues := []string{"run", "text", "tool", "state", "snapshot", "reasoning", "activity", "bad", "other"}
	rect := regexp.MustCompile(`<rect class="(\w+)" x="([0-9.]+)" y="(\d+)" width="([0-9.]+)" height="6"/>`)
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, 1<<40).Draw(t, "first")
		var s Strip
		at := first
		type event struct {
			micros int64
			hue    string
		}
		var events []event
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			e := event{at, rapid.SampledFrom(hues).Draw(t, "hue")}
			events = append(events, e)
			s.Add(e.micros, e.hue)
			at += rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "scale"))).Draw(t, "step")
		}
		if s.First != first || s.Last != events[len(events)-1].micros {
			t.Fatalf("from %d to %d", s.First, s.Last)
		}
		used := make(map[int]bool)
		drawn := rect.FindAllStringSubmatch(string(s.SVG()), -1)
		for _, e := range events {
			place := float64(e.micros-first) / float64(s.Last-first+1) * across
			found := false
			for i, r := range drawn {
				x, _ := strconv.ParseFloat(r[2], 64)
				w, _ := strconv.ParseFloat(r[4], 64)
				if x < 0 || x+w > across+0.11 {
					t.Errorf("%s is outside", r[0])
				}
				if r[1] == e.hue && x <= place+0.1 && place <= x+w+0.1 {
					found, used[i] = true, true
				}
			}
			if !found {
				t.Errorf("no mark at %.1f for %v of %v in %s", place, e, events, s.SVG())
			}
		}
		if len(used) != len(drawn) {
			t.Errorf("%d marks, %d used", len(drawn), len(used))
		}
	})
}
