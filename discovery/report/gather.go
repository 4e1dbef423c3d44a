package report

import (
	"context"
	"iter"
	"os"
	"slices"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// run describes one run, or a capture without runs.
type run struct {
	inspect scan.Inspection
	alone   bool // the capture has no other run
	// outcomes has the outcome of each projection, in order. It is empty if the
	// capture cannot be used.
	outcomes []outcome
	subject  *outcome // the outcome that the page shows; nil if there is none
	asked    bool     // the settings name the projection of subject
	// frozen has the files of subject; nil if it refused the run.
	frozen   *frozen
	timeline *timeline // nil if no event is listed
	request  []byte    // the request that the snapshot was built from, if any
	body     *body     // a response that has no run and is not an event stream
}

// snapshots returns the number of snapshots that the run emitted. The list of snapshots
// and the counts by event type are both limited, so snapshots uses the larger number.
func (r *run) snapshots() int {
	return max(len(r.inspect.Snapshots), r.inspect.Families.Count(envelope.MessagesSnapshot))
}

// gatherer reads captures in order, each once. It keeps in memory only what the page
// shows.
type gatherer struct {
	settings Settings
	*viewer
}

// gather reads one capture, applies every projection and calls show for each run. It
// returns an error if no page can be written. Problems with the capture as evidence are
// findings of its runs instead.
func (g *gatherer) gather(ctx context.Context, path string, show func(*run)) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return finding.New(finding.IOFailed, "%s is neither a directory nor a regular file, and a page names captures by their files", finding.Escape(path)).WithHint(hint.ImportFirst)
	}
	progress := g.settings.progress(path)
	before := *g.left
	var r reading
	defer r.close()
	c, err := capture.Open(ctx, path, "")
	if err == nil {
		defer c.Close()
		r = reading{settings: &g.settings, viewer: g.viewer, tries: tries(g.settings.Settings), capture: c, inspector: scan.NewInspector(path)}
		err = r.read(ctx, progress)
	}
	if err != nil {
		*g.left = before
		row := scan.FailedInspection(path, err)
		if row.Failed {
			return row.Findings[0]
		}
		if take(&g.left.sections, 1) == 0 {
			return errRoom()
		}
		show(&run{inspect: row})
		return nil
	}
	if r.result.Runs > 0 {
		if err := g.settings.Run.Check(r.result, r.chosen); err != nil {
			return err
		}
	}
	shown := max(r.chosen, 1)
	if take(&g.left.sections, shown) < shown {
		return errRoom()
	}
	return r.show(show)
}

func errRoom() error {
	return finding.New(finding.IOFailed, "the captures hold more runs than a page shows").WithHint(hint.ChooseRun)
}

// reading is the scan.Consumer that collects the runs of one capture.
type reading struct {
	*viewer
	settings  *Settings
	tries     []outcome
	capture   *capture.Capture
	inspector *scan.Inspector

	request   []byte
	noRequest error // why the request cannot be read
	project   scan.Projector
	chosen    int // number of selected runs
	runs      []*held
	spool     *atomicfile.Spool
	events    timelines
	result    scan.Result
}

// held is a run that waits for the end of the capture. The files of its frozen outcome
// are in the spool.
type held struct {
	number   int
	outcomes []outcome
	files    int // the index in the spool of the first of the three files
}

// read reads the capture to its end.
func (r *reading) read(ctx context.Context, progress scan.Progress) (err error) {
	if r.request, err = r.capture.Request(); err != nil {
		if _, isVerdict := finding.FromError(err); !isVerdict {
			return err
		}
		r.noRequest = err
	}
	settings := make([]project.Settings, len(r.tries))
	for i := range r.tries {
		settings[i] = r.tries[i].Settings
	}
	r.project = scan.Projector{Request: r.request, Settings: func(*envelope.Run) []project.Settings { return settings }, Handle: r.made}
	r.events = timelines{viewer: r.viewer, byRun: make(map[int]*timeline)}
	if m := r.capture.Manifest(); m != nil {
		r.events.start = m.StartedAt
	}
	r.capture.KeepHead(r.left.body)
	r.result, err = scan.Run(ctx, r.capture, progress, r.inspector, r)
	return err
}

// Frame implements scan.FrameConsumer.
func (r *reading) Frame(run *envelope.Run, f *capture.Frame, e *envelope.Event) {
	r.events.add(run, f, e, r.wants)
}

// wants reports whether a run is selected and the page has room for it. Other selected
// runs are only counted.
func (r *reading) wants(run *envelope.Run) bool {
	return r.settings.Run.Matches(run) && r.chosen < r.left.sections
}

// Begin implements scan.Consumer.
func (r *reading) Begin(run *envelope.Run) scan.Observer {
	wanted := r.wants(run)
	if r.settings.Run.Matches(run) {
		r.chosen++
	}
	if !wanted {
		return nil
	}
	return r.project.Begin(run)
}

// made keeps the results of the projections of a run.
func (r *reading) made(run *envelope.Run, each iter.Seq[*scan.Projection]) error {
	made := slices.Collect(each)
	k := &held{number: run.Number}
	folded := made[slices.IndexFunc(made, func(p *scan.Projection) bool { return p.Projection == project.FoldedStream })]
	for i := range made {
		o := r.tries[i]
		if o.Unasked && run.SnapshotCount < 2 {
			continue
		}
		if o.Projection == project.FoldedStream && r.noRequest != nil {
			o.refuse(r.noRequest)
		} else {
			o.take(made[i])
			if r.noRequest == nil {
				o.Findings = scan.Advise(o.Findings, folded)
			}
		}
		k.outcomes = append(k.outcomes, o)
	}
	r.runs = append(r.runs, k)
	subject := choose(k.outcomes, r.settings.Projection)
	out := made[subject].Output
	if !k.outcomes[subject].Frozen() {
		return nil
	}
	if r.spool == nil {
		spool, err := atomicfile.NewSpool("")
		if err != nil {
			return err
		}
		r.spool = spool
	}
	draft, err := record.New(out, run, made[subject].Settings, r.settings.Tool).Encode()
	if err != nil {
		return err
	}
	for i, data := range [][]byte{out.Bytes, out.Envelope, draft} {
		n, err := r.spool.Add(data)
		if err != nil {
			return err
		}
		if i == 0 {
			k.files = n
		}
	}
	return nil
}

// Finish implements scan.Consumer.
func (r *reading) Finish(scan.Result) error { return nil }

func (r *reading) close() { r.spool.Close() }

// show calls show for each run that was kept, or once for a capture without runs.
func (r *reading) show(show func(*run)) error {
	r.settings.Run.CheckOperatorTimes(&r.result, r.settings.Operator)
	rows := r.inspector.Inspections()
	if r.result.Runs == 0 {
		none := &held{}
		for _, o := range r.tries {
			if o.Projection == project.FoldedStream && r.noRequest != nil {
				o.refuse(r.noRequest)
			}
			if !o.Unasked {
				none.outcomes = append(none.outcomes, o)
			}
		}
		r.runs = []*held{none}
	}
	for _, k := range r.runs {
		one := &run{inspect: rows[max(k.number, 1)-1], alone: r.result.Runs <= 1, outcomes: k.outcomes, timeline: r.events.byRun[k.number]}
		if r.result.Runs == 0 {
			one.body = newBody(r.capture, r.result)
		}
		for i := range k.outcomes {
			k.outcomes[i].judge(r.result)
		}
		confirm(k.outcomes)
		one.subject, one.asked = &k.outcomes[choose(k.outcomes, r.settings.Projection)], r.settings.Projection != ""
		if one.subject.Frozen() {
			var err error
			if one.frozen, err = r.files(k); err != nil {
				return err
			}
			if one.subject.Projection == project.FoldedStream {
				one.request = r.request
			}
		}
		show(one)
	}
	return nil
}
