//go:build seals

package seal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

// python runs a program of the directory judge with the Python that has its packages, and returns
// what it prints.
func python(t testing.TB, args ...string) []byte {
	t.Helper()
	name := os.Getenv("P20EXPORT_SEALS_PYTHON")
	if name == "" {
		t.Fatal("P20EXPORT_SEALS_PYTHON is not set; use make seals")
	}
	cmd := exec.CommandContext(t.Context(), name, append([]string{"-B", "-W", "error"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, stderr.String())
	}
	return out
}

// verdict is a line that verify.py prints.
type verdict struct {
	Tenant  string `json:"tenant"`
	Thread  string `json:"thread_id"`
	Digest  string `json:"thread"`
	File    string `json:"file"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	// Position, From and To are of a thread, First and Last of a proof.
	Position int64  `json:"position"`
	From     *int64 `json:"differs_from"`
	To       *int64 `json:"differs_to"`
	First    int64  `json:"first"`
	Last     int64  `json:"last"`
}

// judged lets verify.py judge sources, given the key of an operator and checkpoints.
func (o *operator) judged(t testing.TB, known []store.Seal, sources ...string) []verdict {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "key.pem")
	testkit.Write(t, key, o.key.Public().PEM())
	args := []string{"judge/verify.py", "--trust", key}
	for i, s := range known {
		file := filepath.Join(dir, fmt.Sprint(i))
		testkit.Write(t, file, s.Checkpoint)
		args = append(args, "--against", file)
	}
	var all []verdict
	for d := json.NewDecoder(bytes.NewReader(python(t, append(args, sources...)...))); d.More(); {
		var v verdict
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// agree compares the verdicts of verify.py with those of this package. of finds the case of one.
func agree(t *testing.T, cases []seen, verdicts []verdict, of func(verdict) string) {
	t.Helper()
	byName := make(map[string]verdict)
	for _, v := range verdicts {
		byName[of(v)] = v
	}
	agreed := make(map[string]int)
	for _, c := range cases {
		v, ok := byName[c.key.Thread]
		if !ok || v.Verdict != string(c.row.Verdict) || v.Position != c.row.Position || !same(v.From, c.row.DiffersFrom) || !same(v.To, c.row.DiffersTo) {
			text, _ := json.Marshal(c.row)
			other, _ := json.Marshal(v)
			t.Errorf("%s, %s:\nGo     %s\nPython %s", c.key.Thread, c.name, text, other)
		}
		agreed[v.Verdict]++
	}
	t.Logf("%d cases agree: %v", len(cases), agreed)
}

func same(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// knownOf returns what the verifier knows of all cases.
func knownOf(cases []seen) []store.Seal {
	var known []store.Seal
	for _, c := range cases {
		known = append(known, c.known...)
	}
	return known
}

// byThread returns the thread of a verdict. A lost thread has only a digest.
func byThread(cases []seen) func(verdict) string {
	lost := make(map[string]string)
	for _, c := range cases {
		lost[hexDigest(c.key.Thread)] = c.key.Thread
	}
	return func(v verdict) string {
		if v.Digest != "" {
			return lost[v.Digest]
		}
		return v.Thread
	}
}

// hexDigest returns the SHA-256 of an id as checkpoints have it, without its prefix.
func hexDigest(id string) string {
	return strings.TrimPrefix(string(digest.Of([]byte(id))), "sha256:")
}

// TestSealsVectors lets the second verifier check the vectors.
func TestSealsVectors(t *testing.T) {
	t.Parallel()
	var result struct {
		Checked int
		Failed  []string
	}
	if err := json.Unmarshal(python(t, "judge/vectors.py", vectorsFile), &result); err != nil || len(result.Failed) > 0 || result.Checked < 350 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestSealsJudgeSQLite tampers with the threads of a log in a file, and compares the verdicts.
func TestSealsJudgeSQLite(t *testing.T) {
	t.Parallel()
	file, o := filepath.Join(t.TempDir(), "log.db"), newOperator(t)
	all := tamperWith(t, sqliteLog(file), o, 5)
	agree(t, all, o.judged(t, knownOf(all), file), byThread(all))
}

// TestSealsJudgeExports does the same with exports.
func TestSealsJudgeExports(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), newOperator(t)
	all := tamperExports(t, o, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != len(all) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	agree(t, all, o.judged(t, knownOf(all), files...), byThread(all))
}

// TestSealsJudgeHonest lets the second verifier judge an honest log, its exports and its proofs.
func TestSealsJudgeHonest(t *testing.T) {
	t.Parallel()
	o, file, dir := newOperator(t), filepath.Join(t.TempDir(), "log.db"), t.TempDir()
	log := sqliteLog(file).open(t)
	appendAll(t, log, thread, events("first", 300))
	o.sealed(t, log, thread)
	appendAll(t, log, thread, events("second", 20))
	last := o.sealed(t, log, thread)
	erased := store.Key{Thread: "erased"}
	appendAll(t, log, erased, events("r", 5))
	o.sealed(t, log, erased)
	if _, err := log.Delete(t.Context(), erased); err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, store.Key{Thread: "unsealed"}, events("r", 5))
	var proofs []string
	write := func(p *seal.Proof, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, filepath.Join(dir, fmt.Sprint(len(proofs))))
		testkit.Write(t, proofs[len(proofs)-1], text)
	}
	for position := int64(1); position <= 320; position += 7 {
		write(seal.Prove(t.Context(), log, thread, position, nil))
	}
	for r, err := range log.Runs(t.Context(), store.RunQuery{Thread: &thread.Thread}) {
		if err != nil {
			t.Fatal(err)
		}
		write(seal.ProveRun(t.Context(), log, thread, &r, nil))
	}
	want := map[string]string{thread.Thread: "unchanged", "erased": "erased", "unsealed": "unsealed"}
	for _, v := range o.judged(t, []store.Seal{last.Seal}, file) {
		if v.Verdict != want[v.Thread] {
			t.Errorf("%+v", v)
		}
		delete(want, v.Thread)
	}
	if len(want) > 0 {
		t.Errorf("nothing about %v", want)
	}
	for _, name := range []string{"thread.ndjson", "thread.ndjson.zst"} {
		exported := filepath.Join(dir, name)
		if row := transfer.ExportFile(t.Context(), log, thread, exported, 0); row.Verdict != project.Written {
			t.Fatalf("%+v", row)
		}
		if v := o.judged(t, nil, exported); len(v) != 1 || v[0].Verdict != "unchanged" || v[0].Position != last.Seal.Size {
			t.Errorf("%s: %+v", name, v)
		}
	}
	verdicts := o.judged(t, nil, proofs...)
	for i, v := range verdicts {
		if v.Verdict != "proved" || v.Digest != hexDigest(thread.Thread) || i < 46 && (v.First != int64(1+7*i) || v.Last != v.First) {
			t.Errorf("%+v", v)
		}
	}
	if len(verdicts) != len(proofs) || len(proofs) != 48 {
		t.Errorf("%d verdicts on %d proofs", len(verdicts), len(proofs))
	}
	for _, v := range newOperator(t).judged(t, nil, proofs[0]) {
		if v.Verdict != "unsealed" {
			t.Errorf("with another key: %+v", v)
		}
	}
}
