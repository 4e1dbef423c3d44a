package seal_test

import (
	"fmt"
	"math"
	"regexp"
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
	one, err := seal.Prove(t.Context(), log, thread, 7, nil)
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
		whole, err := seal.ProveRun(t.Context(), log, thread, &r, nil)
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

// hostileCheckpoints returns texts that are not checkpoints, among them some that the operator has
// signed but never writes.
func hostileCheckpoints(t testing.TB, o *operator, good string) map[string]string {
	t.Helper()
	text, signatures, _ := strings.Cut(good, "\n\n")
	text += "\n"
	lines := strings.Split(text, "\n")
	with := func(line int, value string) string { return withLine(lines, line, value) }
	signed := func(text string) string { return o.sign(t, text) }
	return map[string]string{
		"empty":                        "",
		"text":                         "a mail\n",
		"no signature":                 text,
		"an empty line more":           text + "\n\n" + signatures,
		"a line more":                  signed(text + "more\n"),
		"a million lines":              signed(text + strings.Repeat("more\n", 1_000_000)),
		"a line less":                  signed(strings.Join(lines[:5], "\n") + "\n"),
		"carriage returns":             strings.ReplaceAll(good, "\n", "\r\n"),
		"a control character":          strings.Replace(good, "agents", "ag\x1bents", 1),
		"size 0":                       signed(with(1, "0")),
		"a negative size":              signed(with(1, "-315")),
		"a size with a sign":           signed(with(1, "+315")),
		"a size with a zero":           signed(with(1, "0315")),
		"2^63":                         signed(with(1, "9223372036854775808")),
		"2^64+15":                      signed(with(1, "18446744073709551631")),
		"a thousand digits":            signed(with(1, strings.Repeat("1", 1000))),
		"a short root":                 signed(with(2, "AAAA")),
		"a root with unused bits":      signed(with(2, lines[2][:42]+string(lines[2][42]+1)+"=")),
		"capital digits":               signed(with(4, "thread sha256:"+strings.Repeat("A", 64))),
		"a time in another zone":       signed(with(5, "time 2026-11-28T20:10:00+00:00")),
		"a time with a fraction":       signed(with(5, "time 2026-11-28T20:10:00.5Z")),
		"a time that does not exist":   signed(with(5, "time 2026-02-30T20:10:00Z")),
		"an origin without a digest":   o.signAs(t, "agents.example/log", with(0, "agents.example/log")),
		"an origin without a name":     o.signAs(t, "/"+strings.Repeat("a", 64), with(0, "/"+strings.Repeat("a", 64))),
		"a signature with unused bits": good[:len(good)-3] + string(good[len(good)-3]+1) + good[len(good)-2:],
		"a short signature":            text + "\n" + strings.Join(strings.SplitN(signatures, " ", 3)[:2], " ") + " AAAA\n",
		"another time":                 strings.Replace(good, "time 2", "time 3", 1),
	}
}

func withLine(lines []string, n int, value string) string {
	changed := append([]string(nil), lines...)
	changed[n] = value
	return strings.Join(changed, "\n")
}

// TestHostileCheckpoints verifies a thread with checkpoints from elsewhere.
func TestHostileCheckpoints(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	log, sealed := o.sealedLog(t)
	good := string(sealed.Seal.Checkpoint)
	text, signatures, _ := strings.Cut(good, "\n\n")
	lines := strings.Split(text+"\n", "\n")
	signed := func(line int, value string) string { return o.sign(t, withLine(lines, line, value)) }
	check := func(name, checkpoint string, verdict any) {
		row := o.verify(t, log, thread, seal.Known{From: "a mail", Seals: []store.Seal{{Checkpoint: []byte(checkpoint)}}})
		if row.Verdict != verdict || (row.Verdict != seal.Unchanged) != (len(row.Findings) > 0) {
			t.Errorf("%s: %s, %v, want %s", name, row.Verdict, row.Findings, verdict)
		}
		for _, f := range row.Findings {
			if len(f.Message) > 1000 || strings.ContainsFunc(f.Message, func(r rune) bool { return r < ' ' || r == 0xfffd }) {
				t.Errorf("%s: the message is %q", name, f.Message)
			}
		}
	}
	if signed(1, "15") != good {
		t.Fatal("the operator signs in another way")
	}
	for name, checkpoint := range hostileCheckpoints(t, o, good) {
		check(name, checkpoint, seal.Broken)
	}
	check("another thread", signed(4, "thread sha256:"+strings.Repeat("a", 64)), seal.Broken)
	check("half a character", strings.Replace(good, "agents", "ag\xe2\x80ents", 1), seal.Broken)
	check("a thousand signatures", good+strings.Repeat("— somebody.example AAAAAAAAAAAA\n", 1000), seal.Broken)
	check("2^63-1", signed(1, strconv.Itoa(math.MaxInt64)), seal.CutOff)
	check("a larger size", signed(1, "16"), seal.CutOff)
	check("a smaller size", signed(1, "14"), seal.Forked)
	check("another root", signed(2, "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="), seal.Forked)
	check("the same signature twice", good+signatures, seal.Unchanged)
	check("unknown signatures", good+"— somebody.example AAAAAAAAAAAA\n— another.example AAAAAAAAAAAAAAAA\n", seal.Unchanged)
}

// hostileProofs returns texts that are not proofs.
func hostileProofs(entry, run, checkpoint string) map[string]string {
	hash := strings.Repeat("A", 43) + "=\n"
	index := regexp.MustCompile(`index \d+`).FindString(entry)
	first := regexp.MustCompile(`"first":\d+`).FindString(run)
	size := strings.Split(checkpoint, "\n")[1]
	withIndex := func(value string) string { return strings.Replace(entry, index, "index "+value, 1) }
	withFirst := func(value string) string { return strings.Replace(run, first, `"first":`+value, 1) }
	return map[string]string{
		"empty":                 "",
		"a checkpoint":          checkpoint,
		"the header":            "c2sp.org/tlog-proof@v1\n",
		"another version":       strings.Replace(entry, "@v1", "@v2", 1),
		"no extra line":         removeLine(entry, 1),
		"no index":              removeLine(entry, 2),
		"a hash less":           removeLine(entry, 3),
		"another index":         withIndex("5"),
		"an index outside":      withIndex(size),
		"an index near 2^64":    withIndex("18446744073709551615"),
		"a negative index":      withIndex("-6"),
		"an index with a zero":  strings.Replace(entry, "index ", "index 0", 1),
		"a hash more":           strings.Replace(entry, "\n\n", "\n"+hash+"\n", 1),
		"a million hashes":      strings.Replace(entry, "\n\n", "\n"+strings.Repeat(hash, 1_000_000)+"\n", 1),
		"no checkpoint":         strings.SplitAfter(entry, "\n\n")[0],
		"a size near 2^63":      strings.Replace(entry, "\n"+size+"\n", "\n9223372036854775807\n", 1),
		"something after":       entry + "more\n",
		"an object":             "{}\n",
		"a list":                "{\"schema\":[]}\n",
		"a deep object":         strings.Repeat(`{"a":`, 1_000_000),
		"another schema":        strings.Replace(run, "proof.v1", "proof.v2", 1),
		"space":                 strings.Replace(run, ",", ", ", 1),
		"an unknown key":        strings.Replace(run, `{"schema"`, `{"more":1,"schema"`, 1),
		"a key twice":           strings.Replace(run, `{"schema"`, `{"first":1,"schema"`, 1),
		"a key in capitals":     strings.Replace(run, `"first"`, `"First"`, 1),
		"position 0":            withFirst("0"),
		"a negative position":   withFirst("-6"),
		"another position":      withFirst("5"),
		"a position near 2^63":  withFirst("9223372036854775807"),
		"a position of 2^62":    withFirst("4611686018427387904"),
		"a fraction":            strings.Replace(run, first, first+".0", 1),
		"no leaves":             fmt.Sprintf("{\"schema\":\"p20export.proof.v1\",\"first\":1,\"leaves\":[],\"before\":[],\"after\":[],\"checkpoint\":%q}\n", checkpoint),
		"a leaf that is a hash": strings.Replace(run, `"leaf"`, `"hash"`, 1),
		"neither leaf nor hash": strings.Replace(run, `[{"leaf"`, `[{},{"leaf"`, 1),
		"a hash before more":    strings.Replace(run, `"before":[`, `"before":["`+hash[:44]+`",`, 1),
		"a hash after more":     strings.Replace(run, `"after":[`, `"after":["`+hash[:44]+`",`, 1),
		"two values":            run + run,
	}
}

// TestHostileProofs reads files that are not proofs.
func TestHostileProofs(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	log, sealed := o.sealedLog(t)
	entry, run := o.proofs(t, log)
	for name, file := range hostileProofs(string(entry), string(run), string(sealed.Seal.Checkpoint)) {
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
