// Package report makes one self-contained HTML page of captures: the raw events
// of each run, what was kept of them, what was left out and where, and the
// artifact that came of it.
//
// What the page says of a run is what freezing it gives. The package must hold
// no rule of a projection, and nothing of a capture may act in a page.
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// Settings choose what a page shows and where it goes.
type Settings struct {
	// Settings are those of the projections. An empty Projection stands for the
	// first that freezes a run; Snapshot is for emitted-snapshot-text alone.
	project.Settings
	// Run chooses one run of each capture, by its id or as "#2" by its number;
	// empty takes all.
	Run  scan.RunSelector
	Tool record.Tool
	// Out is the file of the page.
	Out string
	// Force replaces the file if it is a page that this package wrote.
	Force bool
	// Redact says whether the page shows what the captures hold; empty means that it
	// does.
	Redact Redaction
	// Reading is told which capture is read, and returns what is told how far;
	// it may be nil.
	Reading func(path string) scan.Progress
}

// Redaction says what a page shows of the texts of its captures.
type Redaction string

// A page shows the texts themselves, or only their lengths.
const (
	RedactNone Redaction = "none"
	RedactText Redaction = "text"
)

// Redactions returns all of them.
func Redactions() []string { return []string{string(RedactNone), string(RedactText)} }

// ParseRedaction returns the redaction of that name.
func ParseRedaction(name string) (Redaction, error) {
	if !slices.Contains(Redactions(), name) {
		return "", fmt.Errorf("redaction %s is not known; it is %s or %s", finding.Quote(name), RedactNone, RedactText)
	}
	return Redaction(name), nil
}

// Row is what the page shows of one run, or why there is no page.
type Row struct {
	Capture *string `json:"capture"`
	Run     *int    `json:"run"`
	RunID   *string `json:"run_id"`
	// Verdict is frozen or refused, and error where there is no page.
	Verdict project.Verdict `json:"verdict"`
	// Projection is the one the page is about, and the findings are of: the first
	// where all of them refuse the run; nil when nothing of the capture counts.
	Projection     *project.Name     `json:"projection"`
	Origin         *project.Origin   `json:"origin"`
	ArtifactDigest *digest.Digest    `json:"artifact_digest"`
	ArtifactBytes  *int              `json:"artifact_bytes"`
	Findings       []finding.Finding `json:"findings"`
	// Report, ReportDigest and ReportBytes are of the page; nil when there is
	// none.
	Report       *string        `json:"report"`
	ReportDigest *digest.Digest `json:"report_digest"`
	ReportBytes  *int64         `json:"report_bytes"`

	// Word is the verdict on the run, and Says what the page says below it: how much was
	// kept, and what was left out.
	Word analysis.Verdict `json:"-"`
	Says string           `json:"-"`
	// Last says that the run has several snapshots of which none was chosen, and
	// that emitted-snapshot-text with the last of them freezes it.
	Last bool `json:"-"`
}

// Normalize fills in defaults and reports settings that do not go together.
func (s *Settings) Normalize() error {
	if s.Projection != "" {
		return s.Settings.Normalize()
	}
	s.Projection = project.EmittedSnapshotText
	err := s.Settings.Normalize()
	s.Projection, s.Version = "", 0
	return err
}

func (s *Settings) progress(path string) scan.Progress {
	if s.Reading == nil {
		return nil
	}
	return s.Reading(path)
}

// Write writes the page of the captures that paths name. The page is there whole
// or not at all. A file with the same bytes counts as written; any other is an error,
// unless it is a page and Force is set. Equal captures make equal bytes under one version of the
// program. The rows are those of a page that was written, or of errors alone. The
// error is one of the settings or the paths; everything else is in the rows.
func Write(ctx context.Context, paths []string, s Settings) ([]Row, error) {
	return write(ctx, paths, s, bounds)
}

// write is Write within limits.
func write(ctx context.Context, paths []string, s Settings, left limits) ([]Row, error) {
	if err := s.Normalize(); err != nil {
		return nil, err
	}
	names, err := pageNames(paths)
	if err != nil {
		return nil, err
	}
	if len(paths) > left.sections {
		return []Row{failure(nil, errRoom())}, nil
	}
	v := &viewer{left: &left, show: markup.Content{Redact: s.Redact == RedactText}}
	g := &gatherer{settings: s, viewer: v}
	page := newPage(s.Tool, len(paths), v.show.Redact)
	var rows []Row
	for i, path := range paths {
		err := g.gather(ctx, path, func(r *run) {
			row, s := r.row(path), page.add(names[i], r, v)
			row.Word, row.Says = s.Word, s.Headline+separator+s.Lost
			rows = append(rows, row)
		})
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return []Row{failure(&path, err)}, nil
		}
	}
	return s.publish(ctx, page, rows), nil
}

// publish writes the page and tells the rows.
func (s *Settings) publish(ctx context.Context, page *page, rows []Row) []Row {
	hash := digest.Hash()
	var size counter
	left, err := s.writePage(ctx, func(w io.Writer) error {
		return page.write(io.MultiWriter(w, hash, &size))
	})
	if err != nil {
		return []Row{failure(nil, err)}
	}
	for _, name := range left {
		rows[0].Findings = append(rows[0].Findings, finding.Leftover(name))
	}
	sum, bytes := digest.Sum(hash), int64(size)
	for i := range rows {
		rows[i].Report, rows[i].ReportDigest, rows[i].ReportBytes = &s.Out, &sum, &bytes
	}
	return rows
}

// writePage writes the file of the page. It returns temporary names that could
// not be removed.
func (s *Settings) writePage(ctx context.Context, write func(io.Writer) error) (left []string, err error) {
	dir, name := filepath.Split(s.Out)
	dir = cmp.Or(dir, ".")
	if err := capture.CheckOutside(dir); err != nil {
		return nil, err
	}
	to, err := atomicfile.OpenDirectory(dir)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	staged, err := to.Create(write)
	if err != nil {
		return nil, err
	}
	defer staged.Discard()
	file := atomicfile.Named{Staged: staged, Name: name, Same: atomicfile.Equal}
	page := false
	err = to.Replace(ctx, file, func(there, _ *io.SectionReader) (replace bool, err error) {
		page, err = isPage(there)
		return page && s.Force, err
	})
	if errors.Is(err, fs.ErrExist) {
		return nil, s.exists(err, page)
	}
	if err != nil {
		return nil, err
	}
	return atomicfile.LeftoverNames(file), to.Sync()
}

// exists is the finding that the file of the page is another file, which may be a
// page.
func (s *Settings) exists(err error, page bool) error {
	what, next := finding.Escape(err.Error()), hint.OtherPage
	switch {
	case page:
		next = hint.ReplacePage
	case s.Force:
		what += "; it is not a page that this program wrote"
	}
	return finding.New(finding.OutputExists, "%s", what).WithHint("%s", next)
}

// failure is the row of a page that was not written.
func failure(capture *string, err error) Row {
	f, _ := finding.FromError(err)
	return Row{Capture: capture, Verdict: project.Failed, Findings: []finding.Finding{f}}
}

// row is what is said of a run outside the page.
func (r *run) row(path string) Row {
	row := Row{Capture: &path, Run: r.inspect.Run, RunID: r.inspect.RunID, Verdict: project.Refused, Findings: r.inspect.Findings}
	if r.subject != nil {
		of := r.subject
		row.Verdict, row.Findings, row.Projection = of.Verdict, of.Findings, &of.Projection
		if of.Frozen() {
			row.Origin, row.ArtifactDigest, row.ArtifactBytes = &of.Origin, &of.Digest, &of.Bytes
		}
		last := r.last()
		row.Last = last != nil && last.Frozen()
	}
	return row
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// pageNames returns how a page names captures: by their base names, with as many
// folders before them as it takes to tell them apart, so that a page does not
// depend on where the captures lie.
func pageNames(paths []string) ([]string, error) {
	elements := make([][]string, len(paths))
	for i, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if base := capture.BaseName(path); !utf8.ValidString(base) {
			return nil, fmt.Errorf("the name %s is not UTF-8 and cannot stand in a record; make the report of a copy with another name", finding.Quote(base))
		}
		elements[i] = strings.Split(filepath.ToSlash(abs), "/")
	}
	for n := 1; ; n++ {
		names := make([]string, len(paths))
		count := make(map[string]int)
		for i, e := range elements {
			names[i] = strings.Join(e[max(0, len(e)-n):], "/")
			count[names[i]]++
		}
		if len(count) == len(paths) {
			return names, nil
		}
		longest := 0
		for i, e := range elements {
			if count[names[i]] > 1 {
				longest = max(longest, len(e))
			}
		}
		if n >= longest {
			for i, name := range names {
				if count[name] > 1 {
					return nil, fmt.Errorf("%s is named twice", finding.Escape(paths[i]))
				}
			}
		}
	}
}
