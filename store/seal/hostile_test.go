package seal_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// proofs returns a proof of each kind.
func (o *operator) proofs(t testing.TB, log store.Log) (entry, run []byte) {
	t.Helper()
	one, err := seal.Prove(t.Context(), log, thread, 7)
	if err != nil {
		t.Fatal(err)
	}
	if entry, err = one.Encode(); err != nil {
		t.Fatal(err)
	}
	for r, err := range log.Runs(t.Context(), store.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.ID != "second" {
			continue
		}
		whole, err := seal.ProveRun(t.Context(), log, thread, &r)
		if err != nil {
			t.Fatal(err)
		}
		if run, err = whole.Encode(); err != nil {
			t.Fatal(err)
		}
	}
	return entry, run
}

// sealedLog returns a log with a sealed thread of three runs.
func (o *operator) sealedLog(t testing.TB) (store.Log, *seal.Sealed) {
	t.Helper()
	log := memory.New()
	for _, run := range []string{"first", "second", "third"} {
		appendAll(t, log, thread, events(run, 5))
	}
	return log, o.sealed(t, log, thread)
}

// accepts reports whether a proof leads to a checkpoint that a trusted key has signed.
func (o *operator) accepts(t testing.TB, file []byte) bool {
	t.Helper()
	p, err := seal.DecodeProof(file)
	if err != nil {
		return false
	}
	_, _, found := o.policy.CheckProof(t.Context(), p)
	return len(found) == 0
}

// flips calls do with each change of one bit of data.
func flips(data []byte, do func(at int, changed []byte)) {
	changed := append([]byte(nil), data...)
	for i := range changed {
		for bit := range 8 {
			changed[i] ^= 1 << bit
			do(i, changed)
			changed[i] ^= 1 << bit
		}
	}
}

// TestFlippedBits changes each bit of a checkpoint and of proofs. None is accepted.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	log, sealed := o.sealedLog(t)
	empty := memory.New() // has the entries, but no seal
	for e, err := range log.Read(t.Context(), thread, 0) {
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, empty, thread, []store.Entry{*e})
	}
	known := func(checkpoint []byte) seal.Known {
		return seal.Known{From: "a mail", Seals: []store.Seal{{Checkpoint: checkpoint}}}
	}
	if row := o.verify(t, empty, thread, known(sealed.Seal.Checkpoint)); row.Verdict != seal.Unchanged {
		t.Fatalf("%+v", row)
	}
	flips(sealed.Seal.Checkpoint, func(at int, changed []byte) {
		if row := o.verify(t, empty, thread, known(changed)); row.Verdict == seal.Unchanged {
			t.Errorf("byte %d of the checkpoint is changed, and it is accepted:\n%s", at, changed)
		}
	})
	entry, run := o.proofs(t, log)
	for _, file := range [][]byte{entry, run} {
		if !o.accepts(t, file) {
			t.Fatalf("refused:\n%s", file)
		}
		flips(file, func(at int, changed []byte) {
			if o.accepts(t, changed) {
				t.Errorf("byte %d is changed, and the proof is accepted:\n%s", at, changed)
			}
		})
	}
}

// TestHostileCheckpoints verifies a thread with checkpoints that the operator has not signed like
// this, or that it has signed but never writes.
func TestHostileCheckpoints(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	log, sealed := o.sealedLog(t)
	good := string(sealed.Seal.Checkpoint)
	text, signatures, _ := strings.Cut(good, "\n\n")
	text += "\n"
	lines := strings.Split(text, "\n")
	with := func(line int, value string) string {
		changed := append([]string(nil), lines...)
		changed[line] = value
		return strings.Join(changed, "\n")
	}
	signed := func(text string) string { return o.sign(t, text) }
	if signed(text) != good {
		t.Fatal("the operator signs in another way")
	}
	for name, tt := range map[string]struct {
		checkpoint string
		verdict    any
	}{
		"empty":                        {"", seal.Broken},
		"text":                         {"a mail\n", seal.Broken},
		"no signature":                 {text, seal.Broken},
		"an empty line more":           {text + "\n\n" + signatures, seal.Broken},
		"a line more":                  {signed(text + "more\n"), seal.Broken},
		"a million lines":              {signed(text + strings.Repeat("more\n", 1_000_000)), seal.Broken},
		"a line less":                  {signed(strings.Join(lines[:5], "\n") + "\n"), seal.Broken},
		"carriage returns":             {strings.ReplaceAll(good, "\n", "\r\n"), seal.Broken},
		"a control character":          {strings.Replace(good, "agents", "ag\x1bents", 1), seal.Broken},
		"half a character":             {strings.Replace(good, "agents", "ag\xe2\x80ents", 1), seal.Broken},
		"size 0":                       {signed(with(1, "0")), seal.Broken},
		"a negative size":              {signed(with(1, "-15")), seal.Broken},
		"a size with a sign":           {signed(with(1, "+15")), seal.Broken},
		"a size with a zero":           {signed(with(1, "015")), seal.Broken},
		"2^63":                         {signed(with(1, "9223372036854775808")), seal.Broken},
		"2^64+15":                      {signed(with(1, "18446744073709551631")), seal.Broken},
		"a thousand digits":            {signed(with(1, strings.Repeat("1", 1000))), seal.Broken},
		"2^63-1":                       {signed(with(1, strconv.Itoa(math.MaxInt64))), seal.CutOff},
		"a larger size":                {signed(with(1, "16")), seal.CutOff},
		"a smaller size":               {signed(with(1, "14")), seal.Forked},
		"a short root":                 {signed(with(2, "AAAA")), seal.Broken},
		"another root":                 {signed(with(2, "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=")), seal.Forked},
		"a root with unused bits":      {signed(with(2, lines[2][:42]+string(lines[2][42]+1)+"=")), seal.Broken},
		"another thread":               {signed(with(4, "thread sha256:"+strings.Repeat("a", 64))), seal.Broken},
		"capital digits":               {signed(with(4, "thread sha256:"+strings.Repeat("A", 64))), seal.Broken},
		"a time in another zone":       {signed(with(5, "time 2026-11-28T20:10:00+00:00")), seal.Broken},
		"a time with a fraction":       {signed(with(5, "time 2026-11-28T20:10:00.5Z")), seal.Broken},
		"an origin without a digest":   {o.signAs(t, "agents.example/log", with(0, "agents.example/log")), seal.Broken},
		"a signature with unused bits": {good[:len(good)-3] + string(good[len(good)-3]+1) + good[len(good)-2:], seal.Broken},
		"a short signature":            {text + "\n" + strings.SplitN(signatures, " ", 3)[0] + " " + sealed.Origin + " AAAA\n", seal.Broken},
		"the same signature twice":     {good + signatures, seal.Unchanged},
		"unknown signatures":           {good + "— somebody.example AAAAAAAAAAAA\n— another.example AAAAAAAAAAAAAAAA\n", seal.Unchanged},
		"a thousand signatures":        {good + strings.Repeat("— somebody.example AAAAAAAAAAAA\n", 1000), seal.Broken},
	} {
		row := o.verify(t, log, thread, seal.Known{From: "a mail", Seals: []store.Seal{{Checkpoint: []byte(tt.checkpoint)}}})
		if row.Verdict != tt.verdict || (row.Verdict != seal.Unchanged) != (len(row.Findings) > 0) {
			t.Errorf("%s: %s, %v, want %s", name, row.Verdict, row.Findings, tt.verdict)
		}
		for _, f := range row.Findings {
			if len(f.Message) > 1000 || strings.ContainsFunc(f.Message, func(r rune) bool { return r < ' ' || r == 0xfffd }) {
				t.Errorf("%s: the message is %q", name, f.Message)
			}
		}
	}
}

// TestHostileProofs reads files that are not proofs.
func TestHostileProofs(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	log, sealed := o.sealedLog(t)
	entry, run := o.proofs(t, log)
	checkpoint := string(sealed.Seal.Checkpoint)
	hash := strings.Repeat("A", 43) + "=\n"
	huge := strings.Replace(checkpoint, "\n15\n", fmt.Sprintf("\n%d\n", math.MaxInt64), 1)
	for name, file := range map[string]string{
		"empty":                     "",
		"a checkpoint":              checkpoint,
		"the header":                "c2sp.org/tlog-proof@v1\n",
		"another version":           strings.Replace(string(entry), "@v1", "@v2", 1),
		"no extra line":             removeLine(string(entry), 1),
		"no index":                  removeLine(string(entry), 2),
		"a hash less":               removeLine(string(entry), 3),
		"another index":             strings.Replace(string(entry), "index 6", "index 5", 1),
		"an index outside":          strings.Replace(string(entry), "index 6", "index 15", 1),
		"an index near 2^64":        strings.Replace(string(entry), "index 6", "index 18446744073709551615", 1),
		"a negative index":          strings.Replace(string(entry), "index 6", "index -6", 1),
		"an index with a zero":      strings.Replace(string(entry), "index 6", "index 06", 1),
		"a hash more":               strings.Replace(string(entry), "\n\n", "\n"+hash+"\n", 1),
		"a million hashes":          strings.Replace(string(entry), "\n\n", "\n"+strings.Repeat(hash, 1_000_000)+"\n", 1),
		"no checkpoint":             strings.SplitAfter(string(entry), "\n\n")[0],
		"a size near 2^63":          strings.SplitAfter(string(entry), "\n\n")[0] + huge,
		"something after":           string(entry) + "more\n",
		"an object":                 "{}",
		"a list":                    "{\"schema\":[]}",
		"a deep object":             strings.Repeat(`{"a":`, 1_000_000),
		"another schema":            strings.Replace(string(run), "proof.v1", "proof.v2", 1),
		"space":                     strings.Replace(string(run), ",", ", ", 1),
		"an unknown key":            strings.Replace(string(run), `{"schema"`, `{"more":1,"schema"`, 1),
		"a key twice":               strings.Replace(string(run), `{"schema"`, `{"first":1,"schema"`, 1),
		"a key in capitals":         strings.Replace(string(run), `"first"`, `"First"`, 1),
		"position 0":                strings.Replace(string(run), `"first":6`, `"first":0`, 1),
		"a negative position":       strings.Replace(string(run), `"first":6`, `"first":-6`, 1),
		"another position":          strings.Replace(string(run), `"first":6`, `"first":5`, 1),
		"a position near 2^63":      strings.Replace(string(run), `"first":6`, `"first":9223372036854775807`, 1),
		"a position that overflows": strings.Replace(string(run), `"first":6`, `"first":4611686018427387904`, 1),
		"a fraction":                strings.Replace(string(run), `"first":6`, `"first":6.0`, 1),
		"no leaves":                 fmt.Sprintf(`{"schema":"p20export.proof.v1","first":1,"leaves":[],"before":[],"after":[],"checkpoint":%q}`, checkpoint),
		"a leaf that is a hash":     strings.Replace(string(run), `"leaf"`, `"hash"`, 1),
		"neither leaf nor hash":     strings.Replace(string(run), `[{"leaf"`, `[{},{"leaf"`, 1),
		"a hash before more":        strings.Replace(string(run), `"before":[`, `"before":["`+hash[:44]+`",`, 1),
		"a hash after more":         strings.Replace(string(run), `"after":[`, `"after":["`+hash[:44]+`",`, 1),
		"two values":                string(run) + string(run),
	} {
		p, err := seal.DecodeProof([]byte(file))
		if err == nil {
			t.Errorf("%s: accepted: %+v", name, p)
			continue
		}
		if !isFinding(err, finding.ProofMalformed) && !isFinding(err, finding.ProofBroken) && !isFinding(err, finding.SealMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if len(err.Error()) > 1000 {
			t.Errorf("%s: the message is %.300q…", name, err)
		}
	}
}

func removeLine(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(append(lines[:n:n], lines[n+1:]...), "")
}

// TestKeys verifies seals with several keys, other keys, and keys that were valid once.
func TestKeys(t *testing.T) {
	t.Parallel()
	o, next, other := newOperator(t), newOperator(t), newOperator(t)
	log := memory.New()
	appendAll(t, log, thread, events("r", 5))
	o.Signers = append(o.Signers, next.key)
	o.sealed(t, log, thread)
	for name, tt := range map[string]struct {
		trust   *sign.Trust
		verdict any
	}{
		"the first key":             {trustIn(t, o.key), seal.Unchanged},
		"the second key":            {trustIn(t, next.key), seal.Unchanged},
		"both":                      {trustIn(t, o.key, next.key), seal.Unchanged},
		"another":                   {trustIn(t, other.key), seal.Unsealed},
		"all":                       {trustIn(t, other.key, o.key, next.key), seal.Unchanged},
		"one that was valid":        {o.validUntil(t, "2020-01-01T00:00:00Z"), seal.Unsealed},
		"one that is valid":         {o.validUntil(t, "9999-01-01T00:00:00Z"), seal.Unchanged},
		"one that was, one that is": {o.validUntil(t, "2020-01-01T00:00:00Z", next.key), seal.Unchanged},
	} {
		policy := seal.Policy{Trust: tt.trust}
		row, err := policy.Verify(t.Context(), log, thread)
		if err != nil || row.Verdict != tt.verdict {
			t.Errorf("%s: %+v, %v", name, row, err)
		}
	}
	key, err := sign.NewPrivateKey(sign.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	settings := seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{o.key, key}}
	if err := settings.Check(); err == nil {
		t.Error("a key of another type is accepted")
	}
	appendAll(t, log, thread, events("s", 5))
	if _, err := settings.Seal(t.Context(), log, thread); err == nil {
		t.Error("a key of another type signs")
	}
	if _, err := seal.VerifierKey("agents.example/log", key.Public()); err == nil {
		t.Error("a key of another type verifies")
	}
	policy := seal.Policy{Trust: trustIn(t, key, o.key)} // for other signatures
	if row, err := policy.Verify(t.Context(), log, thread); err != nil || row.Verdict != seal.Unchanged || row.Position != 5 {
		t.Errorf("%+v, %v", row, err)
	}
}
