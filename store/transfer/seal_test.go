package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

// operator seals threads, and trusts its own key.
type operator struct {
	seal.Settings
	trusts *seal.Policy
}

func newOperator(t testing.TB) *operator {
	t.Helper()
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := sign.ReadTrust(file(t, "key.pem", string(key.Public().PEM())))
	if err != nil {
		t.Fatal(err)
	}
	return &operator{seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{key}}, &seal.Policy{Trust: trust}}
}

// seal seals a thread.
func (o *operator) seal(t testing.TB, log store.Log, key store.Key) store.Seal {
	t.Helper()
	s, err := o.Seal(t.Context(), log, key)
	if err != nil {
		t.Fatal(err)
	}
	return s.Seal
}

// sealed returns a log with the thread of sample, which has 12 entries and seals of 7 and of
// all.
func (o *operator) sealed(t testing.TB) store.Log {
	t.Helper()
	log, key := newLog(), store.Key{Thread: "t"}
	mustImport(t, log, recording{name: "one", request: input("t", "1")}.write(t, run("t", "1", 3)...), transfer.ImportSettings{})
	o.seal(t, log, key)
	mustImport(t, log, recording{name: "two"}.write(t, append([]string{"no JSON"}, run("t", "2", 1)...)...), transfer.ImportSettings{})
	o.seal(t, log, key)
	return log
}

// sealsOf returns the seals of a thread.
func sealsOf(t testing.TB, log store.Log, key store.Key) (all []store.Seal) {
	t.Helper()
	for s, err := range log.Seals(context.Background(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *s)
	}
	return all
}

func sizes(all []store.Seal) (list []int64) {
	for _, s := range all {
		list = append(list, s.Size)
	}
	return list
}

// withDigest returns the lines of a file with the last line that belongs to them.
func withDigest(lines []string) string {
	text, n := strings.Join(lines, ""), 0
	for _, line := range lines {
		if strings.HasPrefix(line, `{"position":`) {
			n++
		}
	}
	return text + fmt.Sprintf("{\"entries\":%d,\"digest\":\"%s\"}\n", n, digest.Of([]byte(text)))
}

// withoutDigest returns the lines of a file without the last.
func withoutDigest(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	return lines[:len(lines)-1]
}

// A sealed thread is exported with its seals, imported with them, and exported again as the
// same bytes.
func TestSealedRoundTrip(t *testing.T) {
	o := newOperator(t)
	log, key := o.sealed(t), store.Key{Thread: "t"}
	text := export(t, log, key, 0)
	lines := withoutDigest(text)
	if !strings.HasPrefix(text, `{"schema":"p20export.log.v2","thread":"t","after":0}`+"\n") || withDigest(lines) != text || len(lines) != 15 ||
		!strings.HasPrefix(lines[13], `{"seal":{"size":7,"checkpoint":"agents.example/log/`) || !strings.HasPrefix(lines[14], `{"seal":{"size":12,`) {
		t.Fatalf("the export is\n%s", text)
	}
	again, path := newLog(), file(t, "thread", text)
	for _, part := range []transfer.Part{
		{Thread: "t", Appended: 12, Last: 12, Seals: 2}, {Thread: "t", Found: 12, Last: 12, Seals: 2},
	} {
		row := transfer.Import(t.Context(), again, inputs.File(path), transfer.ImportSettings{Policy: o.trusts})
		if row.Verdict != project.Written || len(row.Findings) > 0 || row.Parts[0] != part {
			t.Error(show(row))
		}
	}
	if got := export(t, again, key, 0); got != text {
		t.Errorf("the second export is\n%s", got)
	}
	if row, err := o.trusts.Verify(t.Context(), again, key); err != nil || row.Verdict != seal.Unchanged || row.Position != 12 {
		t.Errorf("Verify: %s, %v", show(row), err)
	}
	// The next seal is one of the copy.
	if _, err := again.Append(t.Context(), key, 12, []store.Entry{{Stream: "s", Kind: store.Event}}); err != nil {
		t.Fatal(err)
	}
	o.seal(t, again, key)
	if row, err := o.trusts.Verify(t.Context(), again, key); err != nil || row.Verdict != seal.Unchanged || row.Position != 13 {
		t.Errorf("Verify: %s, %v", show(row), err)
	}
	// In another tenant, the seals are of this thread id in the first one.
	row := transfer.Import(t.Context(), again, inputs.File(path), transfer.ImportSettings{Tenant: "x", Policy: o.trusts})
	if row.Verdict != project.Written || len(row.Findings) != 1 || row.Findings[0].Code != finding.SealOfOtherTenant || finding.Failed(row.Findings) || row.Parts[0].Seals != 2 {
		t.Error(show(row))
	}
	// Tokens are kept.
	if err := log.Seal(t.Context(), key, store.Seal{Size: 3, Checkpoint: o.checkpointOf(t, log, key, 3), Token: []byte("\x00\xff")}, store.Blocks{}); err != nil {
		t.Fatal(err)
	}
	text, again = export(t, log, key, 0), newLog()
	mustImport(t, again, file(t, "thread", text), transfer.ImportSettings{})
	if !strings.Contains(text, `,"token":"AP8="}}`+"\n") || export(t, again, key, 0) != text {
		t.Errorf("the export with a token is\n%s", text)
	}
}

// checkpointOf returns a signed checkpoint of the first entries of a thread.
func (o *operator) checkpointOf(t testing.TB, log store.Log, key store.Key, size int64) []byte {
	t.Helper()
	part := newLog()
	list := entries(t, log, key)[:size]
	if _, err := part.Append(t.Context(), key, 0, list); err != nil {
		t.Fatal(err)
	}
	return o.seal(t, part, key).Checkpoint
}

// Threads of any entries and seals can be exported in parts and imported.
func TestSealedParts(t *testing.T) {
	o := newOperator(t)
	rapid.Check(t, func(r *rapid.T) {
		log, again, key := newLog(), newLog(), store.Key{Thread: id().Draw(r, "thread")}
		last, exported := int64(0), int64(0)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"append", "seal", "export"}).Draw(r, "step") {
			case "append":
				for range rapid.SampledFrom([]int{1, 3, 300}).Draw(r, "entries") {
					if _, err := log.Append(t.Context(), key, last, []store.Entry{{Stream: "s", Kind: store.Event, Data: fmt.Append(nil, last)}}); err != nil {
						r.Fatal(err)
					}
					last++
				}
			case "seal":
				if last > 0 {
					o.seal(t, log, key)
				}
			case "export":
				if last > 0 {
					text := export(t, log, key, exported)
					mustImport(t, again, file(t, "part", text), transfer.ImportSettings{Policy: o.trusts})
					exported = last
				}
			}
		}
		if last == 0 {
			return
		}
		mustImport(t, again, file(t, "part", export(t, log, key, exported)), transfer.ImportSettings{Policy: o.trusts})
		want := export(t, log, key, 0)
		if got := export(t, again, key, 0); got != want {
			r.Errorf("imported in parts, the thread is\n%s\nand was\n%s", got, want)
		}
		if strings.Contains(want, "log.v2") != (len(sealsOf(t, log, key)) > 0) {
			r.Errorf("the schema of\n%s", want)
		}
		part := rapid.Int64Range(0, last).Draw(r, "after")
		list := sizes(sealsOf(t, log, key))
		n := 0
		for _, size := range list {
			if size >= part {
				n++
			}
		}
		if got := strings.Count(export(t, log, key, part), "\n"+`{"seal":`); got != n {
			r.Errorf("after %d, there are %d seals of the sizes %d", part, got, list)
		}
	})
}

// No change of the lines of seals is accepted, unless only a signature is another one.
func TestHostileSeals(t *testing.T) {
	o := newOperator(t)
	text := export(t, o.sealed(t), store.Key{Thread: "t"}, 0)
	other := unsealed(t, "u")
	foreign := o.seal(t, other, store.Key{Thread: "u"})
	foreignLine := withoutDigest(export(t, other, store.Key{Thread: "u"}, 0))[foreign.Size+1]
	root := strings.Split(withoutDigest(text)[13], `\n`)[2]
	for name, c := range map[string]struct {
		change func([]string) []string
		code   finding.Code
	}{
		"out of order":        {func(l []string) []string { l[13], l[14] = l[14], l[13]; return l }, finding.LogFileMalformed},
		"twice":               {func(l []string) []string { return append(l, l[14]) }, finding.LogFileMalformed},
		"before an entry":     {func(l []string) []string { l[12], l[13] = l[13], l[12]; return l }, finding.LogFileMalformed},
		"an entry after them": {func(l []string) []string { return append(l, strings.Replace(l[12], `:12,`, `:13,`, 1)) }, finding.LogFileMalformed},
		"too large":           {func(l []string) []string { return append(l[:12], l[13:]...) }, finding.LogFileMalformed},
		"version 1":           {replace(0, "log.v2", "log.v1"), finding.LogFileMalformed},
		"version 3":           {replace(0, "log.v2", "log.v3"), finding.LogFileMalformed},
		"no seals":            {func(l []string) []string { return l[:13] }, finding.LogFileMalformed},
		"another size":        {replace(13, `"size":7`, `"size":6`), finding.SealMalformed},
		"size 0":              {replace(13, `"size":7`, `"size":0`), finding.LogFileMalformed},
		"negative":            {replace(13, `"size":7`, `"size":-7`), finding.LogFileMalformed},
		"white space":         {replace(13, `"size":7`, `"size": 7`), finding.LogFileMalformed},
		"unknown key":         {replace(13, `"size":7`, `"size":7,"x":1`), finding.LogFileMalformed},
		"no checkpoint":       {func(l []string) []string { l[13] = `{"seal":{"size":7,"checkpoint":""}}` + "\n"; return l }, finding.LogFileMalformed},
		"no note":             {func(l []string) []string { l[13] = `{"seal":{"size":7,"checkpoint":"x"}}` + "\n"; return l }, finding.SealMalformed},
		"an empty token":      {replace(13, `"}}`, `","token":""}}`), finding.LogFileMalformed},
		"a token of null":     {replace(13, `"}}`, `","token":null}}`), finding.LogFileMalformed},
		"no Base64":           {replace(13, `"}}`, `","token":"%"}}`), finding.LogFileMalformed},
		"loose Base64":        {replace(13, `"}}`, `","token":"/x=="}}`), finding.LogFileMalformed},
		"another thread":      {func(l []string) []string { l[13] = foreignLine; return l[:14] }, finding.SealOfAnother},
		"another id":          {replace(0, `"thread":"t"`, `"thread":"u"`), finding.SealOfAnother},
		"another root":        {replace(13, root, otherText(root)), finding.ThreadRewritten},
		"another entry":       {replace(8, `"text":"no JSON"`, `"text":"no json"`), finding.ThreadRewritten},
		"another arrival":     {replace(1, `05.000006Z`, `05.000007Z`), finding.ThreadRewritten},
		"another stream":      {replace(4, `"stream":"one"`, `"stream":"onf"`), finding.ThreadRewritten},
	} {
		t.Run(name, func(t *testing.T) {
			changed := withDigest(c.change(withoutDigest(text)))
			if changed == text {
				t.Fatal("nothing was changed")
			}
			log := newLog()
			row := refused(t, log, file(t, "changed", changed), transfer.ImportSettings{}, c.code)
			if row.Form != transfer.FormLog || len(row.Findings) != 1 {
				t.Error(show(row))
			}
			if _, err := log.Thread(t.Context(), store.Key{Thread: "t"}); !errors.Is(err, store.ErrNoThread) {
				t.Errorf("the thread exists: %v", err)
			}
		})
	}
}

// otherText returns a text with another first letter.
func otherText(text string) string {
	if text[0] == 'A' {
		return "B" + text[1:]
	}
	return "A" + text[1:]
}

// An incremental file is refused if its seals are of other entries than the log has before its
// own.
func TestSealsOfEarlierEntries(t *testing.T) {
	o := newOperator(t)
	log, key := o.sealed(t), store.Key{Thread: "t"}
	part := file(t, "part", export(t, log, key, 7))
	for name, edit := range map[string]func(*store.Entry){
		"the same entries": func(*store.Entry) {},
		"other data":       func(e *store.Entry) { e.Data = append(bytes.Clone(e.Data), ' ') },
		"another arrival":  func(e *store.Entry) { e.Arrived = begin },
	} {
		again := newLog()
		list := entries(t, log, key)[:7]
		edit(&list[3])
		if _, err := again.Append(t.Context(), key, 0, list); err != nil {
			t.Fatal(err)
		}
		if name == "the same entries" {
			mustImport(t, again, part, transfer.ImportSettings{Policy: o.trusts})
			if got := sizes(sealsOf(t, again, key)); !slices.Equal(got, []int64{7, 12}) {
				t.Errorf("the seals are %d", got)
			}
			continue
		}
		refused(t, again, part, transfer.ImportSettings{}, finding.ThreadRewritten)
		if got := sealsOf(t, again, key); len(got) > 0 {
			t.Errorf("%s: the seals are %d", name, sizes(got))
		}
	}
}

// With a policy, a file is refused unless trusted keys have signed its seals.
func TestTrustedSeals(t *testing.T) {
	o, other := newOperator(t), newOperator(t)
	text := export(t, o.sealed(t), store.Key{Thread: "t"}, 0)
	refused(t, newLog(), file(t, "thread", text), transfer.ImportSettings{Policy: other.trusts}, finding.SealUntrusted)
	lines := withoutDigest(text)
	lines[13] = strings.Replace(lines[13], `\ntime 2`, `\ntime 1`, 1)
	broken := file(t, "broken", withDigest(lines))
	refused(t, newLog(), broken, transfer.ImportSettings{Policy: o.trusts}, finding.SealBroken)
	mustImport(t, newLog(), broken, transfer.ImportSettings{})
	mustImport(t, newLog(), file(t, "unsealed", export(t, sample(t), store.Key{Thread: "t"}, 0)), transfer.ImportSettings{Policy: other.trusts})
}

// A log keeps its own seals.
func TestSealKept(t *testing.T) {
	o, other := newOperator(t), newOperator(t)
	key, again := store.Key{Thread: "t"}, other.sealed(t)
	own := sealsOf(t, again, key)
	row := transfer.Import(t.Context(), again, inputs.File(file(t, "thread", export(t, o.sealedAs(t, again), key, 0))), transfer.ImportSettings{})
	if row.Verdict != project.Written || len(row.Findings) != 1 || row.Findings[0].Code != finding.SealKept || row.Findings[0].Severity != finding.Warning || row.Parts[0].Seals != 0 {
		t.Error(show(row))
	}
	if got := sealsOf(t, again, key); show(got) != show(own) {
		t.Errorf("the seals are %s and were %s", show(got), show(own))
	}
}

// sealedAs returns a log with the entries of a thread, sealed by this operator at the same sizes.
func (o *operator) sealedAs(t testing.TB, log store.Log) store.Log {
	t.Helper()
	copied, key := newLog(), store.Key{Thread: "t"}
	last, list := int64(0), entries(t, log, key)
	for _, size := range sizes(sealsOf(t, log, key)) {
		if _, err := copied.Append(t.Context(), key, last, list[last:size]); err != nil {
			t.Fatal(err)
		}
		o.seal(t, copied, key)
		last = size
	}
	return copied
}

// A thread is not exported if a seal could not be read back, or if sealed entries are missing.
func TestUnfitSeals(t *testing.T) {
	o := newOperator(t)
	for name, checkpoint := range map[string][]byte{"no text": {0xff, 0}, "no note": []byte("x"), "another thread": o.checkpointOf(t, unsealed(t, "u"), store.Key{Thread: "u"}, 3)} {
		log, out := sample(t), filepath.Join(t.TempDir(), "thread")
		if err := log.Seal(t.Context(), store.Key{Thread: "t"}, store.Seal{Size: 3, Checkpoint: checkpoint}, store.Blocks{}); err != nil {
			t.Fatal(err)
		}
		row := transfer.ExportFile(t.Context(), log, store.Key{Thread: "t"}, out, 0)
		if _, err := os.Stat(out); row.Verdict != project.Refused || row.Seals != nil || !finding.Has(row.Findings, finding.SealMalformed) && !finding.Has(row.Findings, finding.SealOfAnother) || err == nil {
			t.Errorf("%s: %s, %v", name, show(row), err)
		}
		if row := transfer.ExportFile(t.Context(), log, store.Key{Thread: "t"}, out, 4); row.Verdict != project.Written || *row.Seals != 0 {
			t.Errorf("%s, after the seal: %s", name, show(row))
		}
	}
	short := shortLog{o.sealed(t)}
	if row := transfer.Export(t.Context(), short, store.Key{Thread: "t"}, new(bytes.Buffer), 0); row.Verdict != project.Failed || !strings.Contains(show(row), "seal of 12 entries, but only 11 could be read") {
		t.Error(show(row))
	}
}

// unsealed returns a log with a thread of 10 entries.
func unsealed(t testing.TB, thread string) store.Log {
	t.Helper()
	log := newLog()
	mustImport(t, log, recording{name: "one"}.write(t, run(thread, "1", 7)...), transfer.ImportSettings{})
	return log
}

// shortLog is a log that has lost the last entry of each thread.
type shortLog struct{ store.Log }

func (l shortLog) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		t, err := l.Thread(ctx, key)
		for e, failed := range l.Log.Read(ctx, key, after) {
			if err == nil && failed == nil && e.Position == t.Last || !yield(e, failed) {
				return
			}
		}
	}
}

// sealingLog is a log in which something happens before or after a call of Seal.
type sealingLog struct {
	store.Log
	before, after func() error
}

func (l *sealingLog) Seal(ctx context.Context, key store.Key, s store.Seal, b store.Blocks) error {
	if l.before != nil {
		if err := l.before(); err != nil {
			return err
		}
	}
	err := l.Log.Seal(ctx, key, s, b)
	if err == nil && l.after != nil {
		err = l.after()
	}
	return err
}

// An import that stops at any seal, also if that was added, is completed by the next one.
func TestInterruptedSeals(t *testing.T) {
	o, key, stop := newOperator(t), store.Key{Thread: "t"}, errors.New("stop")
	text := export(t, o.sealed(t), key, 0)
	path := file(t, "thread", text)
	for at := range 2 {
		for _, added := range []bool{false, true} {
			n := -1
			fail := func() error {
				if n++; n == at {
					return stop
				}
				return nil
			}
			log := &sealingLog{Log: newLog()}
			if log.before = fail; added {
				log.before, log.after = nil, fail
			}
			if row := transfer.Import(t.Context(), log, inputs.File(path), transfer.ImportSettings{}); row.Verdict != project.Failed || row.Parts[0].Appended != 12 || row.Parts[0].Seals != int64(at) {
				t.Errorf("seal %d: %s", at, show(row))
			}
			mustImport(t, log, path, transfer.ImportSettings{})
			if got := export(t, log, key, 0); got != text {
				t.Errorf("stopped at seal %d (added: %v), the thread is\n%s", at, added, got)
			}
		}
	}
}

// Imports of one sealed thread at the same time add each seal once, also if another process
// has added a seal between the look and the call.
func TestConcurrentSeals(t *testing.T) {
	o, key := newOperator(t), store.Key{Thread: "t"}
	text := export(t, o.sealed(t), key, 0)
	path, log := file(t, "thread", text), newLog()
	racing := &sealingLog{Log: log}
	var once sync.Once
	racing.before = func() error {
		once.Do(func() { mustImport(t, log, path, transfer.ImportSettings{}) })
		return nil
	}
	row := transfer.Import(t.Context(), racing, inputs.File(path), transfer.ImportSettings{})
	if row.Verdict != project.Written || row.Parts[0].Seals != 2 || len(row.Findings) > 0 {
		t.Error(show(row))
	}
	log = newLog()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if row := transfer.Import(t.Context(), log, inputs.File(path), transfer.ImportSettings{}); row.Verdict != project.Written || row.Parts[0].Seals != 2 {
				t.Error(show(row))
			}
		})
	}
	all.Wait()
	if got := export(t, log, key, 0); got != text {
		t.Errorf("the thread is\n%s", got)
	}
}
