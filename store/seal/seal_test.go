package seal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	formats "github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// operator is somebody who seals logs.
type operator struct {
	seal.Settings
	policy seal.Policy
	key    *sign.PrivateKey
}

// newOperator makes a key that is trusted.
func newOperator(t testing.TB) *operator {
	t.Helper()
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	return &operator{
		Settings: seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{key}},
		policy:   seal.Policy{Trust: trustIn(t, key)}, key: key,
	}
}

// trustIn trusts keys.
func trustIn(t testing.TB, keys ...*sign.PrivateKey) *sign.Trust {
	t.Helper()
	var files []string
	dir := t.TempDir()
	for i, key := range keys {
		file := filepath.Join(dir, fmt.Sprintf("operator%d.pem", i))
		if err := os.WriteFile(file, key.Public().PEM(), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	trust, err := sign.ReadTrust(files...)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// thread is the thread of the tests.
var thread = store.Key{Tenant: "a tenant", Thread: "a thread"}

// events returns entries of one run.
func events(run string, n int) []store.Entry {
	entries := []store.Entry{{Stream: run, Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"RUN_STARTED","runId":%q,"threadId":"t"}`, run)}}
	for i := range n - 2 {
		entries = append(entries, store.Entry{Stream: run, Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"CUSTOM","name":%q,"value":%d}`, run, i)})
	}
	return append(entries, store.Entry{Stream: run, Kind: store.Event, Data: []byte(`{"type":"RUN_FINISHED"}`)})
}

func appendAll(t testing.TB, log store.Log, key store.Key, entries []store.Entry) {
	t.Helper()
	last := int64(0)
	th, err := log.Thread(t.Context(), key)
	if err == nil {
		last = th.Last
	} else if !errors.Is(err, store.ErrNoThread) {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), key, last, entries); err != nil {
		t.Fatal(err)
	}
}

func (o *operator) sealed(t testing.TB, log store.Log, key store.Key) *seal.Sealed {
	t.Helper()
	s, err := o.Seal(t.Context(), log, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (o *operator) verify(t testing.TB, log store.Log, key store.Key, known ...seal.Known) seal.Row {
	t.Helper()
	row, err := o.policy.Verify(t.Context(), log, key, known...)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// TestSeals seals a thread while it grows, and verifies it after each step.
func TestSeals(t *testing.T) {
	log, o := memory.New(), newOperator(t)
	var handedOut []store.Seal
	for i, n := range []int{3, 10, 300, 2, 700, 1030, 2} {
		appendAll(t, log, thread, events(fmt.Sprint(i), n))
		s := o.sealed(t, log, thread)
		if !s.New {
			t.Errorf("seal %d is not new", i)
		}
		if again := o.sealed(t, log, thread); again.New || string(again.Seal.Checkpoint) != string(s.Seal.Checkpoint) {
			t.Errorf("seal %d is made again: %+v", i, again)
		}
		handedOut = append(handedOut, s.Seal)
		row := o.verify(t, log, thread, seal.Known{From: "a mail", Seals: handedOut})
		if row.Verdict != seal.Unchanged || row.Position != s.Seal.Size || len(row.Findings) > 0 || row.Seals != int64(2*(i+1)) {
			text, _ := json.Marshal(row)
			t.Errorf("after seal %d: %s", i, text)
		}
	}
	blocks, err := log.Blocks(t.Context(), thread)
	if err != nil || len(blocks) != 2047/store.BlockEntries*store.BlockHashBytes {
		t.Errorf("the log keeps %d bytes of blocks, %v", len(blocks), err)
	}
	if _, err := log.Pack(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	if row := o.verify(t, log, thread); row.Verdict != seal.Unchanged || row.Position != 2047 {
		t.Errorf("packed: %+v", row)
	}
}

// TestCheckpointIsC2SP reads a seal with the parser of the package formats.
func TestCheckpointIsC2SP(t *testing.T) {
	log, o := memory.New(), newOperator(t)
	appendAll(t, log, thread, events("r", 5))
	s := o.sealed(t, log, thread)
	vkey, err := seal.VerifierKey(s.Origin, o.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	c, rest, _, err := formats.ParseCheckpoint(s.Seal.Checkpoint, seal.OriginOf("agents.example/log", thread), v)
	if err != nil || c.Size != 5 || string(c.Hash) != string(s.Root[:]) || strings.Count(string(rest), "\n") != 3 {
		t.Errorf("%+v, %q, %v", c, rest, err)
	}
}

// TestProofs proves each entry and each run of a thread.
func TestProofs(t *testing.T) {
	log, o := memory.New(), newOperator(t)
	for i, n := range []int{2, 5, 400, 3, 200} {
		appendAll(t, log, thread, events(fmt.Sprint(i), n))
		if i != 1 {
			o.sealed(t, log, thread)
		}
	}
	check := func(p *seal.Proof, err error, want int) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		file, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := seal.DecodeProof(file)
		if err != nil {
			t.Fatalf("%v\n%.200s", err, file)
		}
		c, s, found := o.policy.CheckProof(t.Context(), read)
		same, tenant := c.IsOf(thread)
		if len(found) > 0 || s.Signer == nil || len(read.Entries) != want || !same || !tenant {
			t.Errorf("%v, %+v, %d entries", found, s, len(read.Entries))
		}
		for i, e := range read.Entries {
			if string(seal.AppendLeaf(nil, e)) != string(seal.AppendLeaf(nil, p.Entries[i])) {
				t.Errorf("entry %d is %+v", i, e)
			}
		}
		again, err := read.Encode()
		if err != nil || string(again) != string(file) {
			t.Errorf("the proof is written as\n%.200s, %v, and was\n%.200s", again, err, file)
		}
	}
	for position := int64(1); position <= 610; position++ {
		p, err := seal.Prove(t.Context(), log, thread, position, nil)
		check(p, err, 1)
	}
	for r, err := range log.Runs(t.Context(), store.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		p, err := seal.ProveRun(t.Context(), log, thread, &r, nil)
		check(p, err, int(r.Entries))
	}
	appendAll(t, log, thread, events("late", 2))
	if _, err := seal.Prove(t.Context(), log, thread, 611, nil); !isFinding(err, finding.SealMissing) {
		t.Errorf("an entry that is not sealed: %v", err)
	}
}

func isFinding(err error, code finding.Code) bool {
	f, ok := errors.AsType[finding.Finding](err)
	return ok && f.Code == code
}

// editedLog is a log some of whose entries were changed.
type editedLog struct {
	store.Log
	edit func(*store.Entry)
}

func (l editedLog) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range l.Log.Read(ctx, key, after) {
			if err == nil {
				c := *e
				l.edit(&c)
				e = &c
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestEdited changes an entry, and expects that a new seal is refused, and that the thread is
// verified as rewritten, between the right positions.
func TestEdited(t *testing.T) {
	log, o := memory.New(), newOperator(t)
	sizes := []int64{}
	for i, n := range []int{3, 300, 40, 600} {
		appendAll(t, log, thread, events(fmt.Sprint(i), n))
		sizes = append(sizes, o.sealed(t, log, thread).Seal.Size)
	}
	for _, position := range []int64{1, 3, 4, 256, 257, 303, 304, 343, 344, 900, 943} {
		edited := editedLog{log, func(e *store.Entry) {
			if e.Position == position {
				e.Data = append([]byte(" "), e.Data...)
			}
		}}
		from, to := int64(1), int64(0)
		for _, size := range sizes {
			if to = size; size >= position {
				break
			}
			from = size + 1
		}
		row := o.verify(t, edited, thread)
		if row.Verdict != seal.Rewritten || *row.DiffersFrom != from || *row.DiffersTo != to {
			t.Errorf("entry %d is changed: %+v", position, row)
		}
		row = o.verify(t, edited, thread, seal.Known{From: "an export", Entries: log.Read(t.Context(), thread, 0)})
		if row.Verdict != seal.Rewritten || *row.DiffersFrom != position || *row.DiffersTo != position {
			t.Errorf("entry %d is changed, with an export: %+v", position, row)
		}
	}
}

// TestChangedCopy compares a thread, and then what is left of it, with a copy that was changed. The
// seals show that the thread was not.
func TestChangedCopy(t *testing.T) {
	log, o := memory.New(), newOperator(t)
	appendAll(t, log, thread, events("r", 10))
	s := o.sealed(t, log, thread)
	var entries []store.Entry
	for e, err := range log.Read(t.Context(), thread, 0) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, *e)
	}
	copyOf := func(position int64) seal.Known {
		return seal.Known{From: "a copy", Seals: []store.Seal{s.Seal}, Entries: func(yield func(*store.Entry, error) bool) {
			for _, c := range entries {
				if c.Position == position {
					c.Stream = "other"
				}
				if !yield(&c, nil) {
					return
				}
			}
		}}
	}
	for _, want := range []project.Verdict{seal.Unchanged, seal.Erased} {
		if row := o.verify(t, log, thread, copyOf(0)); row.Verdict != want {
			t.Errorf("a copy: %+v", row)
		}
		row := o.verify(t, log, thread, copyOf(4))
		if row.Verdict != seal.Broken || !hasFinding(row.Findings, finding.LogFileMalformed) || row.DiffersFrom != nil {
			t.Errorf("a changed copy: %+v", row)
		}
		if _, err := log.Delete(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
	}
}
