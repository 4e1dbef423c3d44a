package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// A streamer compares the projections of some generated streams.
type streamer struct{ *mix }

// streams compares the projections of generated streams.
func (o *options) streams(ctx context.Context) error {
	total, err := o.compareStreams(ctx, o.command("project.py"))
	if err != nil || o.only >= 0 || o.n < 10_000 {
		return err
	}
	return total.missing()
}

// compareStreams compares the streams with the responses of a server, and prints the
// counts.
func (o *options) compareStreams(ctx context.Context, command []string) (*mix, error) {
	all := make([]streamer, workers())
	for i := range all {
		all[i] = streamer{newMix(o)}
	}
	took, err := distribute(ctx, o, command, o.n, all)
	if err != nil {
		return nil, err
	}
	total := newMix(o)
	for _, s := range all {
		total.add(s.mix)
	}
	fmt.Fprintf(o.out, "seed %d: %d streams with %d runs in %s, %d disagreements\n%s", o.seed, total.captures, total.runs, took, total.disagreed, total)
	return total, total.verdict()
}

// compare implements worker.
func (m streamer) compare(ctx context.Context, s *server, dir string, i int) error {
	made := newStream(m.seed, i)
	if m.only >= 0 {
		fmt.Fprintf(m.out, "%s\n%s%s\nmade for %s: %v\n", made.response, made.request, made.arrivals, made.target, made.kinds)
	}
	if err := made.write(dir); err != nil {
		return err
	}
	ours, err := m.compareRuns(ctx, s, dir, fmt.Sprintf("%d-%d", m.seed, i), &made.captured)
	if err != nil {
		return err
	}
	m.countTarget(made.target, &made.captured, ours)
	for k := range made.kinds {
		m.kinds[k]++
	}
	if m.only >= 0 {
		fmt.Fprint(m.out, ours.show(made.settings))
	}
	return nil
}

// committed lists the directories of committed captures.
var committed = []string{"discovery/captures", "discovery/drift/captures", "examples/ag-ui-compacted-message-snapshot-evidence/raw"}

// A committer compares the projections of some committed captures.
type committer struct {
	*mix
	found []capture.Found
}

// captures compares the projections of the committed captures.
func (o *options) captures(ctx context.Context) error {
	return o.compareCaptures(ctx, o.command("project.py"))
}

// compareCaptures compares them with the responses of a server.
func (o *options) compareCaptures(ctx context.Context, command []string) error {
	found, err := capture.Find(ctx, committed)
	if err != nil {
		return err
	}
	all := make([]committer, workers())
	for i := range all {
		all[i] = committer{newMix(o), found}
	}
	took, err := distribute(ctx, o, command, len(found), all)
	if err != nil {
		return err
	}
	total := newMix(o)
	for _, c := range all {
		total.add(c.mix)
	}
	fmt.Fprintf(o.out, "%d committed captures in %s, %d disagreements\n%s", total.captures, took, total.disagreed, total)
	return total.verdict()
}

// compare implements worker.
func (c committer) compare(ctx context.Context, s *server, _ string, i int) error {
	path := c.found[i].Path
	one, err := readCaptured(ctx, path)
	if err != nil {
		return err
	}
	if c.only >= 0 {
		fmt.Fprintln(c.out, path)
	}
	ours, err := c.compareRuns(ctx, s, path, strings.ReplaceAll(path, string(filepath.Separator), "-"), one)
	if c.only >= 0 {
		fmt.Fprint(c.out, ours.show(one.settings))
	}
	return err
}

// readCaptured reads a capture directory, with settings for both profiles and every
// selection of a snapshot.
func readCaptured(ctx context.Context, dir string) (*captured, error) {
	c, err := capture.Open(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	one := &captured{framing: c.Framing(), started: c.Manifest().StartedAt}
	if one.request, err = c.Request(); err != nil {
		return nil, err
	}
	if one.response, err = os.ReadFile(filepath.Join(dir, c.Framing().FileName())); err != nil {
		return nil, err
	}
	if one.arrivals, err = os.ReadFile(filepath.Join(dir, capture.ArrivalsName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	snapshots := 0
	for _, run := range scan.Inspect(ctx, inputs.File(dir), nil) {
		snapshots = max(snapshots, len(run.Snapshots))
	}
	for _, p := range artifact.Profiles() {
		one.settings = append(one.settings, settings(p, project.OperatorTimes{}, snapshots)...)
	}
	return one, nil
}

// settings returns the settings to project a capture with: every projection, and every
// selection if a run has several snapshots.
func settings(p artifact.Profile, times project.OperatorTimes, snapshots int) []project.Settings {
	var all []project.Settings
	add := func(name project.Name, s project.Selection) {
		all = append(all, project.Settings{Projection: name, Version: name.Version(), Snapshot: s, Profile: p, Operator: times})
	}
	for _, name := range project.Names() {
		add(name, project.Only)
	}
	if snapshots > 1 {
		add(project.EmittedSnapshotText, project.First)
		add(project.EmittedSnapshotText, project.Last)
		for n := range min(snapshots, 5) {
			add(project.EmittedSnapshotText, project.Selection(strconv.Itoa(n+1)))
		}
	}
	return all
}
