package golden

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/tracediff"
)

// The other files that Write writes.
const (
	changesName    = "CHANGES.md"
	attributesName = ".gitattributes"
	attributes     = "*" + suffix + " linguist-generated=true\n"
)

// maxBytes limits the goldens that are written at once, which are kept in memory until all
// captures have been read.
const maxBytes = 64 << 20

// Row is the outcome of writing the golden of one capture.
type Row struct {
	Name    string `json:"name"`
	Capture string `json:"capture"`
	// Golden is the path of the golden.
	Golden string `json:"golden"`
	// Verdict is written, or equal if the golden stays as it is. If one capture is refused,
	// nothing is written, and the others have the verdict skipped.
	Verdict project.Verdict `json:"verdict"`
	// Lines is the number of lines of the golden. It is nil if there is none.
	Lines *int `json:"lines"`
	// Change describes what changed in the golden, or is empty.
	Change   string            `json:"change"`
	Findings []finding.Finding `json:"findings"`

	text []byte // to be written
}

// CheckReason returns an error if a reason is not one line of text.
func CheckReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return errors.New("the reason is empty; say why the goldens change")
	case finding.Escape(reason) != reason:
		return fmt.Errorf("the reason %s is not one line of printable text", finding.Quote(reason))
	}
	return nil
}

// Write writes the goldens of captures that differ from them, or have none, and appends the
// reason and what changed to the file CHANGES.md. If a capture is damaged or incomplete, or
// lint refuses it for another reason than it refuses its golden, nothing is written. The
// captures must satisfy Check, and the reason CheckReason. The error is from writing.
func (d *Directory) Write(ctx context.Context, captures []string, reason string, now time.Time, reading func(path string, read func(scan.Progress))) ([]Row, error) {
	var rows []Row
	refused, size := false, 0
	for _, path := range captures {
		var row Row
		reading(path, func(p scan.Progress) { row = d.prepare(ctx, path, maxBytes-size, p) })
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		rows = append(rows, row)
		size += len(row.text)
		refused = refused || row.Verdict == project.Refused || row.Verdict == project.Failed
	}
	changed := slices.ContainsFunc(rows, func(r Row) bool { return r.Verdict == project.Written })
	switch {
	case refused:
		for i := range rows {
			if rows[i].Verdict == project.Written {
				rows[i].Verdict = project.Skipped
			}
		}
		return rows, nil
	case !changed:
		return rows, nil
	}
	return rows, d.write(rows, reason, now)
}

// prepare reads a capture and compares it with its golden. If the golden has to change, the row
// has its text, of at most limit bytes.
func (d *Directory) prepare(ctx context.Context, path string, limit int, progress scan.Progress) Row {
	row := Row{Name: capture.BaseName(path), Capture: path, Golden: d.file(capture.BaseName(path)), Verdict: project.Written, Findings: []finding.Finding{}}
	changes := map[string]int{}
	compared, _ := d.Compare(ctx, path, progress, func(diff tracediff.Difference) error {
		what := diff.EventType + " " + string(diff.Kind)
		if len(diff.Changes) > 0 {
			what += " at " + string(cmp.Or(diff.Changes[0].Path, diff.Changes[0].Pointer).Bounded())
		}
		changes[finding.Escape(what)]++
		return nil
	})
	if compared.Verdict == tracediff.Equal && compared.B.Incomplete == "" {
		row.Verdict, row.Lines = tracediff.Equal, compared.A.Events
		return row
	}
	lines := 0
	text := bytes.NewBuffer([]byte{}) // not nil, even if there are no lines
	file, err := tracediff.Lines(ctx, tracediff.Trace{Path: path, Progress: progress}, d.Settings.Options, func(l *trace.Line) error {
		if lines++; text.Len()+len(l.Text) >= limit {
			return finding.New(finding.GoldenUnfit, "the goldens would be larger than %d bytes", maxBytes).WithHint("use smaller captures, or fewer at once")
		}
		text.Write(l.Text)
		text.WriteByte('\n')
		return nil
	})
	switch {
	case err != nil:
		row.fail(err)
	case file.Verdict != project.Accepted:
		row.Verdict, row.Findings = file.Verdict, file.Findings
	case file.Incomplete != "":
		row.fail(finding.New(finding.GoldenUnfit, "%s is incomplete: %s", finding.Escape(path), file.Incomplete))
	case compared.A.Verdict == project.Failed:
		row.Verdict, row.Findings = project.Failed, compared.A.Findings
	case compared.A.Verdict == project.Refused && !isTrace(row.Golden):
		row.fail(finding.New(finding.GoldenUnfit, "%s is not a golden and is not replaced", finding.Escape(row.Golden)).WithHint(hint.ForeignGolden))
	case compared.A.Verdict == tracediff.Unmatched:
		row.text, row.Lines, row.Change = text.Bytes(), &lines, "new"
	default:
		row.text, row.Lines, row.Change = text.Bytes(), &lines, summary(changes)
		if compared.A.Verdict != project.Accepted {
			row.Change = "was malformed"
		} else if err := d.checkLint(ctx, row.Golden, row.text); err != nil {
			row.fail(err)
		}
	}
	if row.Verdict == project.Written {
		if err := replaceable(row.Golden); err != nil {
			row.fail(err)
		}
	}
	return row
}

// isTrace reports whether a file begins as a golden does.
func isTrace(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	return bytes.HasPrefix(head[:n], []byte(`{"type":"`))
}

// fail makes row the row of a capture that cannot become a golden.
func (row *Row) fail(err error) {
	found, isVerdict := finding.FromError(err)
	row.Verdict, row.Lines, row.Change, row.text = project.Failed, nil, "", nil
	if isVerdict {
		row.Verdict = project.Refused
	}
	row.Findings = []finding.Finding{found}
}

// summary describes changes, which are counted by type of event and kind.
func summary(changes map[string]int) string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(changes)) {
		if n := changes[what]; n > 1 {
			what += fmt.Sprintf(" (%d)", n)
		}
		list = append(list, what)
	}
	return strings.Join(list, ", ")
}

// checkLint returns a finding if lint refuses the new lines of a golden for a reason for which
// it does not refuse the old ones.
func (d *Directory) checkLint(ctx context.Context, golden string, text []byte) error {
	seen := lint.Capture(ctx, inputs.File(golden), lint.Options{}, nil).Findings
	var list []string
	for _, f := range lint.Reader(ctx, bytes.NewReader(text), golden, lint.Options{}).Findings {
		if f.Severity != finding.Error || slices.ContainsFunc(seen, func(old finding.Finding) bool { return old.Code == f.Code && old.Rule == f.Rule }) {
			continue
		}
		seen, list = append(seen, f), append(list, f.Message)
	}
	if len(list) == 0 {
		return nil
	}
	return finding.New(finding.GoldenUnfit, "lint refuses the capture, and not its golden: %s", strings.Join(list, "; ")).
		WithHint(hint.GoldenLint)
}

// write writes the changed goldens, the reason and the attributes. The reason comes first, so
// that no golden changes without one.
func (d *Directory) write(rows []Row, reason string, now time.Time) error {
	if err := os.MkdirAll(d.Path, 0o777); err != nil {
		return err
	}
	dir, err := os.Open(d.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	_ = atomicfile.Lock(dir) // so that two programs do not lose a reason; not every file system can
	for _, name := range []string{changesName, attributesName} {
		if err := replaceable(filepath.Join(d.Path, name)); err != nil {
			return err
		}
	}
	var entry strings.Builder
	fmt.Fprintf(&entry, "## %s\n\n%s\n\n", now.Format(time.DateOnly), reason)
	for _, row := range rows {
		if row.Verdict == project.Written {
			fmt.Fprintf(&entry, "- `%s`: %s; now %d lines\n", strings.ReplaceAll(finding.Escape(row.Name), "`", "'"), row.Change, *row.Lines)
		}
	}
	if err := d.append(changesName, "# Changes of the goldens\n", "\n"+entry.String()); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Verdict == project.Written {
			if err := atomicfile.ReplaceFile(row.Golden, row.text); err != nil {
				return err
			}
		}
	}
	return d.append(attributesName, "", attributes)
}

// append appends text to a file in the directory, unless it is there. A new file begins with
// title.
func (d *Directory) append(name, title, text string) error {
	path := filepath.Join(d.Path, name)
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = []byte(title), nil
	}
	if err != nil {
		return err
	}
	if name == attributesName && bytes.Contains(old, []byte(text)) {
		return nil
	}
	if n := len(old); n > 0 && old[n-1] != '\n' {
		old = append(old, '\n')
	}
	return atomicfile.ReplaceFile(path, append(old, text...))
}
