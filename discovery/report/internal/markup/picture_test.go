package markup

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/internal/picture"
)

// A drawing has the marks and ticks of the picture and nothing else. The ring of an event is
// on its mark.
func TestSVG(t *testing.T) {
	families := []string{"run", "text", "tool", "other"}
	rapid.Check(t, func(t *rapid.T) {
		var p picture.Picture
		var kept []Kept
		at := int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			at += rapid.Int64Range(0, 1<<20).Draw(t, "step")
			k := Kept{at, rapid.SampledFrom(families).Draw(t, "family")}
			kept = append(kept, k)
			p.Add(k.At, k.Family)
		}
		svg := string(SVG(&p, kept, picture.Micros))
		marks := 0
		for _, lane := range p.Lanes() {
			for _, m := range lane.Marks {
				marks++
				want := fmt.Sprintf(`<rect class="%s" x="%.2f%%" y="%d" width="%.2f%%" height="12"/>`, lane.Family, m.X, lane.Y-6, m.Width)
				if !strings.Contains(svg, want) {
					t.Errorf("%s is not in %s", want, svg)
				}
			}
			for _, k := range kept {
				want := fmt.Sprintf(`<circle cx="%.2f%%" cy="%d" r="8"/>`, p.Middle(k.At), lane.Y)
				if k.Family == lane.Family && !strings.Contains(svg, want) {
					t.Errorf("%s is not in %s", want, svg)
				}
			}
		}
		for _, tick := range p.Ticks() {
			want := fmt.Sprintf(`<text x="%.2f%%" y="%d">%s</text>`, tick.X, p.Height()-6, picture.Micros(tick.At, tick.Step))
			if !strings.Contains(svg, want) {
				t.Errorf("%s is not in %s", want, svg)
			}
		}
		if n := strings.Count(svg, "<rect"); n != marks {
			t.Errorf("%d marks, want %d", n, marks)
		}
		if rings, texts := strings.Count(svg, "<circle"), strings.Count(svg, "<text"); rings != len(kept) || texts != len(p.Ticks()) {
			t.Errorf("%d rings of %d events, %d ticks", rings, len(kept), texts)
		}
	})
}
