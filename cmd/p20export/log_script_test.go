package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// appendLog DATABASE FILE appends the entries in FILE to a log; see appendEntries.
func appendLog(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(appendEntries(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[1]))))
}

// appendEntries appends entries to a log in an SQLite file, which it creates if it does not
// exist. Each line is an entry: its thread and kind, its data as JSON or its text, and
// optionally its tenant, its stream and its time of arrival.
func appendEntries(file string, lines []byte) error {
	ctx := context.Background()
	log, err := sqlite.Open(ctx, file, true)
	if err != nil {
		return err
	}
	defer log.Close()
	for line := range bytes.Lines(lines) {
		e := struct {
			Tenant, Thread, Stream, Kind, Text string
			Data                               json.RawMessage
			At                                 time.Time
		}{Stream: "s1"}
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.Data == nil {
			e.Data = []byte(e.Text)
		}
		key := store.Key{Tenant: e.Tenant, Thread: e.Thread}
		t, err := log.Thread(ctx, key)
		if err == nil || errors.Is(err, store.ErrNoThread) {
			_, err = log.Append(ctx, key, t.Last, []store.Entry{{Stream: e.Stream, Kind: store.Kind(e.Kind), Data: e.Data, Arrived: e.At}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
