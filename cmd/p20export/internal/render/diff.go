package render

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/diff"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/difference"
)

// Diff prints the differences between two artifacts.
func (p *Printer) Diff(row difference.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	compared := row.Verdict == difference.Equal || row.Verdict == project.Differs
	if !compared {
		for _, f := range []difference.File{row.A, row.B} {
			p.Line("%s \t%s", p.verdict(f.Verdict), f.File)
			p.Findings(f.Findings)
		}
		return
	}
	p.Line("%s A %s", p.verdict(row.Verdict), row.A.File)
	p.Line("%-9s B %s", "", row.B.File)
	switch {
	case *row.A.Digest == *row.B.Digest:
		p.Line("  digest    \t%s (both)", string(*row.A.Digest))
		return
	case row.Verdict == difference.Equal:
		p.Line("  equal in value; only the formatting of the JSON differs")
	default:
		p.Line("  messages  \t%s", messageCounts(row))
	}
	p.Line("  digest    A %s", string(*row.A.Digest))
	p.Line("            B %s", string(*row.B.Digest))
	if row.Verdict == difference.Equal {
		p.Line("  canonical \t%s (both)", string(*row.A.CanonicalDigest))
	}
	for _, d := range row.Differences {
		p.difference(d)
	}
}

// messageCounts counts the messages by how they differ.
func messageCounts(row difference.Row) string {
	onlyA, onlyB, moved := 0, 0, 0
	changed := map[string]bool{}
	for _, d := range row.Differences {
		_, inA := d.A.(artifact.Message)
		_, inB := d.B.(artifact.Message)
		switch {
		case inA && inB:
			moved++
		case inA:
			onlyA++
		case inB:
			onlyB++
		case strings.HasPrefix(string(d.Pointer), "/messages/"):
			changed[string(d.Pointer[:strings.LastIndexByte(string(d.Pointer), '/')])] = true
		}
	}
	return fmt.Sprintf("%d identical, %d changed, %d moved, %d only in A, %d only in B", row.Same, len(changed), moved, onlyA, onlyB)
}

// difference prints one difference: its kind, its place and the values.
func (p *Printer) difference(d difference.Difference) {
	what := string(d.Kind)
	switch d.Kind {
	case difference.Added:
		what = "only in B"
	case difference.Removed:
		what = "only in A"
	}
	at := string(d.Pointer)
	if d.PointerB != "" {
		at += " (in B " + string(d.PointerB) + ")"
	}
	a, isText := d.A.(string)
	b, _ := d.B.(string)
	switch {
	case d.Microseconds != nil:
		what += ", " + timeShift(*d.Microseconds)
	case isText && d.B != nil && strings.HasSuffix(string(d.Pointer), "/content"):
		what += fmt.Sprintf(" starting at code point %d", utf8.RuneCountInString(a[:runeStart(a, diff.FirstDifference([]byte(a), []byte(b)))])+1)
	}
	p.Line("  %s %s", p.Paint(differenceColour(d.Kind), what+":"), at)
	for _, side := range []struct {
		name         string
		value, other any
	}{{"A", d.A, d.B}, {"B", d.B, d.A}} {
		switch v := side.value.(type) {
		case string:
			p.valueExcerpt(side.name, v, side.other)
		case artifact.Message:
			if side.name == "B" && d.Kind == difference.Moved {
				continue // its keys are listed as separate differences
			}
			p.Line("    role     %s", v.Role)
			p.valueExcerpt("id", v.ID, nil)
			if v.Name != "" {
				p.valueExcerpt("name", v.Name, nil)
			}
			p.valueExcerpt("content", v.Content, nil)
		}
	}
}

func differenceColour(w difference.Kind) string {
	switch w {
	case difference.Added:
		return green
	case difference.Removed:
		return red
	}
	return yellow
}

// excerptAt returns the part of a text around an offset.
func excerptAt(text []byte, offset int) finding.Excerpt {
	at := int64(offset)
	shown := []finding.Finding{{Offset: &at}}
	finding.Locate(text, shown)
	return shown[0].Excerpt
}

// valueExcerpt prints the text around the first difference between a value and other,
// with a caret below it. If other is not a string, it prints the beginning of the value.
func (p *Printer) valueExcerpt(name, value string, other any) {
	text := artifact.AppendString(nil, value)
	at := 0
	if s, ok := other.(string); ok {
		at = diff.FirstDifference(text, artifact.AppendString(nil, s))
	}
	excerpt := excerptAt(text, at)
	p.Line("    %-9s%s", name, painted(excerpt.Text))
	if at > 0 {
		p.Line("             %s^", strings.Repeat(" ", excerpt.Caret()))
	}
}

// runeStart returns the start of the code point that contains the byte at.
func runeStart(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// timeShift formats the interval between two times.
func timeShift(microseconds int64) string {
	switch {
	case microseconds == 0:
		return "the same time in another format"
	case microseconds < 0:
		return formatMicroseconds(-microseconds) + " earlier in B"
	}
	return formatMicroseconds(microseconds) + " later in B"
}

// formatMicroseconds formats a duration, which can be longer than a time.Duration.
func formatMicroseconds(microseconds int64) string {
	const day = int64(24 * time.Hour / time.Microsecond)
	var parts []string
	if days := microseconds / day; days > 0 {
		parts = append(parts, Plural(int(days), "day", "days"))
	}
	if rest := microseconds % day; rest > 0 {
		parts = append(parts, (time.Duration(rest) * time.Microsecond).String())
	}
	return strings.Join(parts, " ")
}
