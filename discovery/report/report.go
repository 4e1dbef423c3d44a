// Package report writes one self-contained HTML page about captures. For each run,
// the page shows the raw events, the messages that were kept, the values that were
// omitted and where, and the artifact.
//
// The results on the page are those of freezing the run. The package must not
// contain rules of a projection, and no content of a capture may run as code in a page.
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// Settings select what a page shows and where it is written.
type Settings struct {
	// Settings are the settings of the projections. An empty Projection means the
	// first that freezes a run, or emitted-snapshot-text if Snapshot chooses a snapshot.
	project.Settings
	// Run selects one run of each capture, by its id, or by its number as in "#2".
	// If it is empty, all runs are shown.
	Run  scan.RunSelector
	Tool record.Tool
	// Out is the path of the page.
	Out string
	// Force replaces an existing file if it is a page that this package wrote.
	Force bool
	// Redact defaults to RedactNone.
	Redact Redaction
	// Frozen has the records that were made from the captures. The page shows the state
	// of those of a run. It is nil if none were looked for.
	Frozen Frozen
	// Reading, if not nil, is called before each capture is read, and returns the
	// function that reports the progress.
	Reading func(path string) scan.Progress
	// Writing, if not nil, is called while the page is written, with the number of bytes
	// so far.
	Writing func(bytes int64)
}

// Redaction says whether a page shows the texts of its captures.
type Redaction string

const (
	// RedactNone shows the texts.
	RedactNone Redaction = "none"
	// RedactText shows only the lengths of the texts.
	RedactText Redaction = "text"
)

// Redactions returns the names of all redactions.
func Redactions() []string { return []string{string(RedactNone), string(RedactText)} }

// ParseRedaction returns the redaction with a name.
func ParseRedaction(name string) (Redaction, error) {
	if !slices.Contains(Redactions(), name) {
		return "", fmt.Errorf("redaction %s is not known; it is %s or %s", finding.Quote(name), RedactNone, RedactText)
	}
	return Redaction(name), nil
}

// Row is the result for one run, or the reason why no page was written.
type Row struct {
	Capture *string `json:"capture"`
	Run     *int    `json:"run"`
	// RunID is the id of the run, or its length if the page is redacted.
	RunID *string `json:"run_id"`
	// Verdict is frozen or refused, or error if no page was written.
	Verdict project.Verdict `json:"verdict"`
	// Projection is the projection that the page shows and that the findings are
	// from. If all projections refuse the run, it is the first. It is nil if the
	// capture cannot be used.
	Projection *project.Name   `json:"projection"`
	Origin     *project.Origin `json:"origin"`
	// ArtifactDigest is nil if the page is redacted.
	ArtifactDigest *digest.Digest `json:"artifact_digest"`
	ArtifactBytes  *int           `json:"artifact_bytes"`
	// Findings are redacted if the page is.
	Findings []finding.Finding `json:"findings"`
	// Report is the path of the page. Report, ReportDigest and ReportBytes are nil
	// if no page was written.
	Report       *string        `json:"report"`
	ReportDigest *digest.Digest `json:"report_digest"`
	ReportBytes  *int64         `json:"report_bytes"`
	// RunVerdict is the verdict that compare gives the run; nil if the capture cannot be
	// read or there is no page.
	RunVerdict *analysis.Verdict `json:"run_verdict"`
	// KeptMessages counts the messages of the artifact, Messages those that the run had,
	// and Events those of the run; nil if not known.
	KeptMessages *int `json:"kept_messages"`
	Messages     *int `json:"messages"`
	Events       *int `json:"events"`

	// Says is the headline of the run on the page.
	Says string `json:"-"`
	// Listed is the number of errors and warnings among Findings that the page lists.
	Listed int `json:"-"`
	// Failed reports that the run ended with RUN_ERROR.
	Failed bool `json:"-"`
	// Next is the command that freezes the run with the last of several snapshots. It is
	// empty if a snapshot was chosen or the last one produces no artifact.
	Next string `json:"-"`
}

// Normalize sets defaults and returns an error if settings contradict each other.
func (s *Settings) Normalize() error {
	if s.Projection == "" && s.Snapshot != "" && s.Snapshot != project.Only {
		s.Projection = project.EmittedSnapshotText
	}
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

// Write writes a page about the captures at paths. It writes either the whole page or
// nothing. An existing file with the same bytes counts as written. Any other existing
// file is an error, unless it is a page and Force is set. One version of the program
// writes the same bytes for the same captures.
//
// If the page was written, Write returns a row for each run. Otherwise it returns one row
// with the reason. It returns an error only for invalid settings or paths.
func Write(ctx context.Context, paths []string, s Settings) ([]Row, error) {
	return write(ctx, paths, s, bounds)
}

// write is Write with the given limits.
func write(ctx context.Context, paths []string, s Settings, left limits) ([]Row, error) {
	if err := s.Normalize(); err != nil {
		return nil, err
	}
	names, err := pageNames(paths)
	if err != nil {
		return nil, err
	}
	if err := s.checkOut(paths); err != nil {
		return nil, err
	}
	if len(paths) > left.sections {
		return []Row{failure(nil, errRoom())}, nil
	}
	if err := checkDistinct(paths); err != nil {
		return nil, err
	}
	page, rows, failed := s.gather(ctx, paths, names, left)
	if failed != nil {
		return []Row{*failed}, nil
	}
	return s.publish(ctx, page, rows), nil
}

// Render is Write for a page about one capture that is written to w. It does not use the
// settings about files. The error is a finding if the capture cannot be read; it is one of w
// if the page could not be written.
func Render(ctx context.Context, w io.Writer, path string, s Settings) error {
	if err := s.Normalize(); err != nil {
		return err
	}
	names, err := pageNames([]string{path})
	if err != nil {
		return err
	}
	page, _, failed := s.gather(ctx, []string{path}, names, bounds)
	if failed != nil {
		return failed.Findings[0]
	}
	return page.write(w)
}

// gather reads captures, and returns the page with a row for each run. If that fails, it returns
// the row with the reason.
func (s *Settings) gather(ctx context.Context, paths, names []string, left limits) (_ *page, rows []Row, failed *Row) {
	v := &viewer{left: &left, show: markup.Content{Redact: s.Redact == RedactText}, records: s.Frozen}
	g := &gatherer{settings: *s, viewer: v}
	page := newPage(s.Tool, len(paths), v.show.Redact)
	for i, path := range paths {
		err := g.gather(ctx, path, func(r *run) {
			row, s := r.row(path), page.add(names[i], r, v)
			row.Says, row.Next, row.Failed = s.says(), s.Command, s.Failed != ""
			s.count(&row, r)
			row.Listed = s.listed(r)
			if v.show.Redact {
				v.redact(&row)
			}
			rows = append(rows, row)
		})
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			row := failure(&path, err)
			return nil, nil, &row
		}
	}
	return page, rows, nil
}

// publish writes the page and adds its path, digest and size to the rows.
func (s *Settings) publish(ctx context.Context, page *page, rows []Row) []Row {
	hash := digest.Hash()
	size := counter{progress: s.Writing}
	left, err := s.writePage(ctx, func(w io.Writer) error {
		return page.write(io.MultiWriter(w, hash, &size))
	})
	if err != nil {
		return []Row{failure(nil, err)}
	}
	for _, name := range left {
		rows[0].Findings = append(rows[0].Findings, finding.Leftover(name))
	}
	sum, bytes := digest.Sum(hash), size.bytes
	for i := range rows {
		rows[i].Report, rows[i].ReportDigest, rows[i].ReportBytes = &s.Out, &sum, &bytes
	}
	return rows
}

// writePage writes the file of the page. It returns the names of temporary files that
// could not be removed.
func (s *Settings) writePage(ctx context.Context, write func(io.Writer) error) (left []string, err error) {
	dir, name := s.splitOut()
	to, err := atomicfile.OpenDirectory(dir)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	staged, err := to.CreateReplacement(name, write)
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

// splitOut splits Out into its directory and its name.
func (s *Settings) splitOut() (dir, name string) {
	dir, name = filepath.Split(s.Out) // filepath.Dir resolves link/../name differently from the system
	return cmp.Or(dir, "."), name
}

// checkOut returns an error if Out is one of the captures, a file of one, or inside a
// directory that is a capture. Links count as the files that they refer to.
func (s *Settings) checkOut(paths []string) error {
	dir, _ := s.splitOut()
	if err := capture.CheckOutside(dir); err != nil {
		return err
	}
	above, out := directories(dir), stat(s.Out)
	for _, path := range paths {
		info := stat(path)
		if os.SameFile(info, out) {
			return fmt.Errorf("%s is the capture %s; choose another name for the page", finding.Escape(s.Out), finding.Escape(path))
		}
		files, err := os.ReadDir(path)
		if err != nil {
			continue // a file, or reading it reports the error
		}
		if slices.ContainsFunc(above, func(dir fs.FileInfo) bool { return os.SameFile(info, dir) }) {
			return &capture.InsideError{Path: s.Out, Capture: path}
		}
		for _, f := range files {
			if os.SameFile(stat(filepath.Join(path, f.Name())), out) {
				return fmt.Errorf("%s is the file %s of the capture %s; choose another name for the page", finding.Escape(s.Out), finding.Escape(f.Name()), finding.Escape(path))
			}
		}
	}
	return nil
}

// stat returns what os.Stat returns, or nil for an error. A nil FileInfo is not the same
// file as any other.
func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// directories returns dir and the directories that contain it.
func directories(dir string) (list []fs.FileInfo) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil
	}
	for ; ; real = filepath.Dir(real) {
		list = append(list, stat(real))
		if real == filepath.Dir(real) {
			return list
		}
	}
}

// exists returns the finding for an existing file that cannot be replaced. The argument
// page reports whether that file is a page.
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

// failure returns the row for a page that was not written because of err.
func failure(capture *string, err error) Row {
	f, _ := finding.FromError(err)
	return Row{Capture: capture, Verdict: project.Failed, Findings: []finding.Finding{f}}
}

// row returns the row of a run.
func (r *run) row(path string) Row {
	row := Row{Capture: &path, Run: r.inspect.Run, RunID: r.inspect.RunID, Verdict: project.Refused, Findings: r.inspect.Findings}
	if r.subject != nil {
		of := r.subject
		row.Verdict, row.Findings, row.Projection = of.Verdict, of.Findings, &of.Projection
		if of.Frozen() {
			row.Origin, row.ArtifactDigest, row.ArtifactBytes = &of.Origin, &of.Digest, &of.Bytes
		}
	}
	return row
}

// count adds the verdict and the counts of a run to its row.
func (s *section) count(row *Row, r *run) {
	if s.Unread {
		return
	}
	row.RunVerdict = &s.Word
	if row.Run == nil {
		return
	}
	row.KeptMessages, row.Events = &s.Kept, &r.inspect.Events
	if r.frozen != nil || len(r.inspect.Snapshots) > 0 {
		row.Messages = &s.Messages
	}
}

// listed returns the number of errors and warnings that the page lists of the findings in
// the row of a run.
func (s *section) listed(r *run) (n int) {
	at := 0
	if len(s.Findings) > 1 { // one list for each projection
		at = slices.IndexFunc(r.outcomes, func(o outcome) bool { return !o.Unasked && o.Projection == r.subject.Projection })
	}
	for _, f := range s.Findings[at].List {
		if f.Severity != finding.Info {
			n++
		}
	}
	return n
}

// redact replaces the texts of a row as on a redacted page.
func (v *viewer) redact(row *Row) {
	if row.RunID != nil {
		id := v.short(*row.RunID)
		row.RunID = &id
	}
	row.ArtifactDigest = nil
	row.Findings = slices.Clone(row.Findings)
	for i := range row.Findings {
		f := &row.Findings[i]
		f.Message, f.Hint, f.Pointer, f.Excerpt = v.show.Message(*f), v.show.Next(*f), finding.Pointer(v.pointer(f.Pointer)), finding.Excerpt{}
	}
}

// counter counts the bytes written to it.
type counter struct {
	bytes    int64
	progress func(bytes int64) // or nil
}

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	if c.progress != nil {
		c.progress(c.bytes)
	}
	return len(p), nil
}

// checkDistinct returns an error if two paths refer to the same file or directory.
func checkDistinct(paths []string) error {
	infos := make([]fs.FileInfo, len(paths))
	for i, path := range paths {
		infos[i] = stat(path)
		for j, other := range infos[:i] {
			if os.SameFile(infos[i], other) {
				return fmt.Errorf("%s and %s are the same capture; name it once", finding.Escape(paths[j]), finding.Escape(path))
			}
		}
	}
	return nil
}

// pageNames returns the names of captures on a page: their base names, preceded by as
// many parent directories as needed to make them unique. So a page depends as little as
// possible on the location of the captures.
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
