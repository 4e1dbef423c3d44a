package report

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// run is what is known of one run, or of a capture without one.
type run struct {
	inspect freeze.InspectRow
	alone   bool // in its capture
	// outcomes are those of the projections in their order; empty when nothing
	// of the capture counts. The files of the frozen ones are still there.
	outcomes []outcome
	subject  *outcome  // the one the page is about; nil when there are none
	asked    bool      // for that one
	timeline *timeline // nil when no event is listed
	request  []byte    // what a snapshot was built from, if it was
}

// snapshots is how many the run emitted. They are listed up to a number, and
// counted as long as their type is told apart from others.
func (r *run) snapshots() int {
	return max(len(r.inspect.Snapshots), r.inspect.Families.Count(envelope.MessagesSnapshot))
}

func (r *run) number() int { return numberOf(r.inspect.Run) }

// numberOf is 0 for what belongs to no run.
func numberOf(run *int) int {
	if run == nil {
		return 0
	}
	return *run
}

// gatherer reads captures one after the other. It holds no more of them than a
// page shows.
type gatherer struct {
	settings Settings
	left     *limits
}

// gather reads one capture under every projection, and calls show for each of
// its runs. Its error is why nothing can be said of the capture, or that of show;
// what is wrong with the capture as evidence is said of its runs.
func (g *gatherer) gather(ctx context.Context, path string, show func(*run) error) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return finding.New(finding.IOFailed, "%s is neither a directory nor a regular file, and a report reads it several times", finding.Escape(path)).WithHint(hint.ImportFirst)
	}
	progress := g.settings.progress(path)
	rows := freeze.Inspect(ctx, path, progress)
	if rows[0].Failed {
		return rows[0].Findings[0]
	}
	if g.settings.Run == "" || rows[0].Source.Digest == "" {
		if err := g.room(len(rows)); err != nil {
			return err
		}
	}
	if rows[0].Source.Digest == "" {
		return show(&run{inspect: rows[0]})
	}
	dir, err := os.MkdirTemp("", "p20export-report-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	alone := len(rows) == 1
	byRun := make(map[int][]outcome)
	several := make(map[int]bool) // snapshots, by the number of the run
	for _, row := range rows {
		if len(row.Snapshots) > 1 {
			several[numberOf(row.Run)] = true
		}
	}
	for i, o := range attempts(g.settings.Settings, len(several) > 0) {
		frozen, err := g.freeze(ctx, path, o.Settings, filepath.Join(dir, strconv.Itoa(i)), progress)
		if err != nil {
			return err
		}
		for _, o.Row = range frozen {
			for _, number := range about(o.Row, rows, byRun) {
				if !o.Unasked || several[number] {
					byRun[number] = append(byRun[number], o)
				}
			}
		}
	}
	if g.settings.Run != "" {
		// The projections know only the runs that were asked for.
		rows = slices.DeleteFunc(rows, func(row freeze.InspectRow) bool { return byRun[numberOf(row.Run)] == nil })
		if err := g.room(len(rows)); err != nil {
			return err
		}
	}
	timelines, err := g.timelines(ctx, path, byRun, rows[0].Source.Digest, progress)
	if err != nil {
		return err
	}
	for _, row := range rows {
		r := &run{inspect: row, alone: alone, outcomes: byRun[numberOf(row.Run)]}
		r.timeline = timelines[r.number()]
		r.subject, r.asked = choose(r.outcomes, g.settings.Projection), g.settings.Projection != ""
		if r.subject.Frozen() && r.subject.Projection == project.FoldedStream {
			if r.request, err = readRequest(ctx, path); err != nil {
				return err
			}
		}
		if err := show(r); err != nil {
			return err
		}
	}
	return nil
}

// about returns the numbers of the runs that a row of a projection is about. One
// without a run is about all that are shown so far, or all there are.
func about(row freeze.Row, all []freeze.InspectRow, shown map[int][]outcome) []int {
	if row.Run != nil {
		return []int{*row.Run}
	}
	if len(shown) > 0 {
		return slices.Collect(maps.Keys(shown))
	}
	var numbers []int
	for _, r := range all {
		numbers = append(numbers, numberOf(r.Run))
	}
	return numbers
}

// room takes the room that so many runs need on the page.
func (g *gatherer) room(runs int) error {
	if take(&g.left.sections, runs) < runs {
		return errRoom()
	}
	return nil
}

func errRoom() error {
	return finding.New(finding.IOFailed, "the captures hold more runs than a page shows").WithHint(hint.ChooseRun)
}

// timelines reads the events of the runs that are shown, and makes sure that
// they are those the projections saw.
func (g *gatherer) timelines(ctx context.Context, path string, shown map[int][]outcome, want digest.Digest, progress freeze.Progress) (map[int]*timeline, error) {
	first := 1 // which shows what stands before it, too
	if shown[0] != nil {
		first = 0
	}
	timelines, sum, err := readTimelines(ctx, path, func(run int) (int, bool) {
		run = max(run, first)
		return run, shown[run] != nil
	}, g.left, progress)
	if err == nil && sum != want {
		err = errChanged(path)
	}
	return timelines, err
}

func errChanged(path string) error {
	return finding.New(finding.IOFailed, "%s changed while it was read", finding.Escape(path)).WithHint("wait until it is whole, and make the page again")
}

// freeze freezes a capture's runs under one projection, exactly as the command
// does.
func (g *gatherer) freeze(ctx context.Context, path string, s project.Settings, dir string, progress freeze.Progress) ([]freeze.Row, error) {
	rows, err := freeze.Freeze(ctx, path, freeze.Settings{Settings: s, Dir: dir, Run: g.settings.Run, Tool: g.settings.Tool, Progress: progress})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		for _, f := range row.Findings {
			if row.Verdict == freeze.Failed || f.Code == finding.RunNotFound || f.Code == finding.RunAmbiguous {
				return nil, f
			}
		}
	}
	return rows, nil
}

func readRequest(ctx context.Context, path string) ([]byte, error) {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Request()
}
