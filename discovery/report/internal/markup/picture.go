package markup

import (
	"fmt"

	"github.com/p20export/p20export/internal/picture"
)

// Kept is an event that gets a ring in a picture.
type Kept struct {
	At     int64
	Family string
}

// SVG draws a picture: the marks of the events, a ring for each kept event, and ticks
// with the labels that tick returns.
func SVG(p *picture.Picture, kept []Kept, tick func(at, step int64) string) HTML {
	var b []byte
	lanes := p.Lanes()
	floor := picture.LaneHeight * len(lanes)
	for _, t := range p.Ticks() {
		b = fmt.Appendf(b, `<line class="tick" x1="%.2f%%" x2="%.2f%%" y2="%d"/><text x="%.2f%%" y="%d">`, t.X, t.X, floor+4, t.X, floor+18)
		b, _ = Append(b, tick(t.At, t.Step), false, len(b)+100)
		b = append(b, `</text>`...)
	}
	for _, lane := range lanes {
		b = fmt.Appendf(b, `<line class="track" x1="0" x2="100%%" y1="%d" y2="%d"/>`, lane.Y, lane.Y)
		for _, m := range lane.Marks {
			b = fmt.Appendf(b, `<rect class="%s" x="%.2f%%" y="%d" width="%.2f%%" height="%d"/>`, lane.Family, m.X, lane.Y-picture.MarkHeight/2, m.Width, picture.MarkHeight)
		}
		for _, k := range kept {
			if k.Family == lane.Family {
				b = fmt.Appendf(b, `<circle cx="%.2f%%" cy="%d" r="8"/>`, p.Middle(k.At), lane.Y)
			}
		}
	}
	return HTML(b)
}
