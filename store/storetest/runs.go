package storetest

import (
	"fmt"
	"time"

	"github.com/p20export/p20export/store"
)

func runTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"runs/of one stream":          oneStream,
		"runs/interleaved streams":    interleaved,
		"runs/the same id twice":      sameRunTwice,
		"runs/ends":                   ends,
		"runs/closing entries":        closing,
		"runs/inputs":                 inputs,
		"runs/parents of inputs":      parents,
		"runs/events outside of runs": outside,
	}
}

// started returns a RUN_STARTED.
func started(stream, run, parent string) store.Entry {
	data := fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"t","runId":%q`, run)
	if parent != "" {
		data += fmt.Sprintf(`,"parentRunId":%q`, parent)
	}
	return event(stream, data+"}")
}

// finished returns a RUN_FINISHED.
func finished(stream string) store.Entry { return event(stream, `{"type":"RUN_FINISHED"}`) }

// custom returns an event in the middle of a run.
func custom(stream string) store.Entry { return event(stream, `{"type":"CUSTOM"}`) }

// input returns an input.
func input(stream string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.Input, Data: []byte(`{}`)}
}

// runsOf returns the run of each entry of a thread.
func (f *fixture) runsOf(k store.Key) []int64 {
	f.Helper()
	var runs []int64
	for _, e := range f.read(k, 0) {
		runs = append(runs, e.Run)
	}
	return runs
}

// spread gives entries times of arrival, a second apart.
func spread(entries ...store.Entry) []store.Entry {
	for i := range entries {
		entries[i].Arrived = at(int64(i) * 1e6)
	}
	return entries
}

func second(n int64) time.Time { return at(n * 1e6) }

// inEachDivision runs a test with the entries in one batch, and with a batch for each.
func inEachDivision(f *fixture, entries []store.Entry, test func(k store.Key)) {
	whole, single := key("whole"), key("single")
	f.append(whole, 0, entries...)
	for i, e := range entries {
		f.append(single, int64(i), e)
	}
	test(whole)
	test(single)
}

func oneStream(f *fixture) {
	entries := spread(input("s"), started("s", "a", ""), custom("s"), finished("s"), started("s", "b", "a"), custom("s"), finished("s"), custom("s"), end("s"))
	inEachDivision(f, entries, func(k store.Key) {
		equal(f, "the runs of entries", f.runsOf(k), []int64{0, 2, 2, 2, 5, 5, 5, 5, 0})
		equal(f, "the runs", f.runs(store.RunQuery{Thread: &k.Thread}), []store.Run{
			{Key: k, ID: "a", Stream: "s", Input: 1, Start: 2, Last: 4, Entries: 3, Bytes: 49 + 17 + 23, StartedAt: second(1), LastAt: second(3), End: store.Finished},
			{Key: k, ID: "b", Parent: "a", Stream: "s", Start: 5, Last: 8, Entries: 4, Bytes: 67 + 17 + 23 + 17, StartedAt: second(4), LastAt: second(7), End: store.Finished},
		})
		if n := f.thread(k).Runs; n != 2 {
			f.Errorf("Thread.Runs is %d", n)
		}
	})
}

func interleaved(f *fixture) {
	entries := spread(
		input("a"), input("b"), started("a", "1", ""), started("b", "2", "1"), custom("a"), custom("b"),
		finished("b"), custom("a"), end("b"), started("c", "3", "1"), event("a", `{"type":"RUN_ERROR"}`), end("a"), custom("c"),
	)
	inEachDivision(f, entries, func(k store.Key) {
		equal(f, "the runs of entries", f.runsOf(k), []int64{0, 0, 3, 4, 3, 4, 4, 3, 0, 10, 3, 0, 10})
		equal(f, "the runs", f.runs(store.RunQuery{Thread: &k.Thread}), []store.Run{
			{Key: k, ID: "1", Stream: "a", Input: 1, Start: 3, Last: 11, Entries: 4, Bytes: 49 + 17 + 17 + 20, StartedAt: second(2), LastAt: second(10), End: store.Failed},
			{Key: k, ID: "2", Parent: "1", Stream: "b", Input: 2, Start: 4, Last: 7, Entries: 3, Bytes: 67 + 17 + 23, StartedAt: second(3), LastAt: second(6), End: store.Finished},
			{Key: k, ID: "3", Parent: "1", Stream: "c", Start: 10, Last: 13, Entries: 2, Bytes: 67 + 17, StartedAt: second(9), LastAt: second(12), End: store.Open},
		})
	})
}

func sameRunTwice(f *fixture) {
	inEachDivision(f, []store.Entry{started("a", "r", ""), started("b", "r", ""), custom("a"), finished("b"), started("b", "r", "r"), finished("a")}, func(k store.Key) {
		equal(f, "the runs of entries", f.runsOf(k), []int64{1, 2, 1, 2, 5, 1})
		id := "r"
		var starts []int64
		for _, r := range f.runs(store.RunQuery{Thread: &k.Thread, ID: &id}) {
			starts = append(starts, r.Start)
		}
		equal(f, "the starts", starts, []int64{1, 2, 5})
	})
}

func ends(f *fixture) {
	for i, tt := range []struct {
		want store.RunEnd
		rest []string
	}{
		{store.Open, nil},
		{store.Open, []string{`{"type":"CUSTOM"}`, `{"type":"RUN_FINISHED"`}},
		{store.Finished, []string{`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`}},
		{store.Finished, []string{`{"type":"RUN_FINISHED","outcome":{"type":"success"}}`}},
		{store.Finished, []string{`{"type":"RUN_FINISHED"}`, `{"type":"RUN_ERROR"}`}},
		{store.Finished, []string{`{"type":"RUN_FINISHED"}`, "end"}},
		{store.Finished, []string{`{"type":"RUN_FINISHED"}`, `{"type":"RUN_STARTED"}`}},
		{store.Interrupted, []string{`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}}`}},
		{store.Interrupted, []string{`{"type":"RUN_FINISHED","outcome":"interrupt","interrupt":{"id":"i"}}`, "end"}},
		{store.Failed, []string{`{"type":"CUSTOM"}`, `{"type":"RUN_ERROR","message":"broken"}`}},
		{store.Cancelled, []string{`{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}`, "end"}},
		{store.Failed, []string{`{"type":"RUN_ERROR"}`, `{"type":"RUN_FINISHED"}`, "end"}},
		{store.Cut, []string{"end"}},
		{store.Cut, []string{`{"type":"CUSTOM"}`, "end"}},
		{store.Cut, []string{`{"type":"RUN_STARTED"}`}},
	} {
		k := key(fmt.Sprint(i))
		after := f.append(k, 0, started("s", "r", ""))
		for _, data := range tt.rest {
			e := event("s", data)
			if data == "end" {
				e = end("s")
			}
			after = f.append(k, after, e)
		}
		// Another stream changes nothing.
		f.append(k, after, started("other", "q", ""), finished("other"), end("other"))
		id := "r"
		if runs := f.runs(store.RunQuery{Thread: &k.Thread, ID: &id}); len(runs) != 1 || runs[0].End != tt.want {
			f.Errorf("after %q the run is %+v, want its end %s", tt.rest, runs, tt.want)
		}
	}
}

func closing(f *fixture) {
	entries := spread(started("s", "r", ""), custom("s"), store.Entry{Stream: "s", Kind: store.Closing, Data: []byte(`{"type":"RUN_ERROR"}`)}, end("s"))
	inEachDivision(f, entries, func(k store.Key) {
		equal(f, "the runs of entries", f.runsOf(k), []int64{1, 1, 1, 0})
		equal(f, "the runs", f.runs(store.RunQuery{Thread: &k.Thread}), []store.Run{
			{Key: k, ID: "r", Stream: "s", Start: 1, Last: 3, Entries: 3, Bytes: 49 + 17 + 20, StartedAt: second(0), LastAt: second(2), End: store.Failed},
		})
	})
}

func inputs(f *fixture) {
	inEachDivision(f, []store.Entry{
		input("s"), input("s"), input("other"), started("s", "a", ""), input("s"), custom("s"), finished("s"), started("s", "b", ""), started("s", "c", ""),
	}, func(k store.Key) {
		var got []int64
		for _, r := range f.runs(store.RunQuery{Thread: &k.Thread}) {
			got = append(got, r.Input)
		}
		equal(f, "the inputs of the runs", got, []int64{2, 5, 0})
		equal(f, "the runs of entries", f.runsOf(k), []int64{0, 0, 0, 4, 0, 4, 4, 8, 9})
	})
}

// parents has runs whose parent only the input names, as most agents do.
func parents(f *fixture) {
	child := input("s")
	child.Data = []byte(`{"messages":[],"parentRunId":"in the input"}`)
	null := event("s", `{"type":"RUN_STARTED","parentRunId":null}`)
	inEachDivision(f, []store.Entry{
		child, null, child, input("s"), started("s", "b", ""), child, started("s", "c", "of the event"), started("s", "d", ""), child, started("other", "e", ""),
	}, func(k store.Key) {
		var got []string
		for _, r := range f.runs(store.RunQuery{Thread: &k.Thread}) {
			got = append(got, r.Parent)
		}
		equal(f, "the parents of the runs", got, []string{"in the input", "", "of the event", "", ""})
		text := "in the input"
		if runs := f.runs(store.RunQuery{Thread: &k.Thread, Parent: &text}); len(runs) != 1 || runs[0].Start != 2 {
			f.Errorf("the children are %+v", runs)
		}
	})
}

func outside(f *fixture) {
	inEachDivision(f, []store.Entry{custom("s"), finished("s"), event("s", "torn {"), event("s", `{"type":"RUN_ERROR"}`), end("s")}, func(k store.Key) {
		equal(f, "the runs of entries", f.runsOf(k), []int64{0, 0, 0, 0, 0})
		if runs := f.runs(store.RunQuery{Thread: &k.Thread}); len(runs) != 0 {
			f.Errorf("there are runs: %+v", runs)
		}
	})
}
