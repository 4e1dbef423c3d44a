package seal_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// cosigner has the key of a witness.
type cosigner struct {
	*cosignature.Signer
	verifier note.Verifier
}

func newCosigner(t testing.TB, name string) cosigner {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := cosignature.NewSignerForCosignatureV1(skey)
	if err != nil {
		t.Fatal(err)
	}
	if vkey, err = cosignature.VKeyToCosignatureV1(vkey); err != nil {
		t.Fatal(err)
	}
	v, err := seal.ParseWitness(vkey)
	if err != nil {
		t.Fatal(err)
	}
	return cosigner{s, v}
}

// lines returns the signature lines of the witness for a checkpoint in a request.
func (c cosigner) lines(t testing.TB, body []byte) []byte {
	t.Helper()
	_, signed, _ := bytes.Cut(body, []byte("\n\n"))
	text := signed[:bytes.LastIndex(signed, []byte("\n\n"))+1]
	cosigned, err := note.Sign(&note.Note{Text: string(text)}, c)
	if err != nil {
		t.Error(err)
	}
	return bytes.TrimPrefix(cosigned, append(text, '\n'))
}

// TestWitness seals a thread with witnesses that cosign everything, and counts their cosignatures.
func TestWitness(t *testing.T) {
	t.Parallel()
	o, log := newOperator(t), memory.New()
	var olds []string
	for i := range 2 {
		c := newCosigner(t, fmt.Sprint("witness.example/", i))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			old, _, _ := strings.Cut(string(body), "\n")
			olds = append(olds, r.Method+" "+r.URL.Path+" "+old)
			w.Write(c.lines(t, body))
		}))
		defer server.Close()
		o.Witnesses = append(o.Witnesses, server.URL+"/w/")
		o.WitnessKeys = append(o.WitnessKeys, c.verifier)
	}
	for i, want := range []string{"0", "0", "5", "5"} {
		if i%2 == 0 {
			appendAll(t, log, thread, events(fmt.Sprint(i), 5))
			if s := o.sealed(t, log, thread); len(s.Cosigners) != 2 {
				t.Errorf("%+v", s)
			}
		}
		if got := olds[i]; got != "POST /w/add-checkpoint old "+want {
			t.Errorf("request %d is %s", i, got)
		}
	}
	for _, tt := range []struct {
		keys    []note.Verifier
		quorum  int
		verdict any
	}{
		{o.WitnessKeys, 2, seal.Unchanged},
		{o.WitnessKeys[:1], 1, seal.Unchanged},
		{o.WitnessKeys[:1], 2, seal.Broken},
		{nil, 1, seal.Broken},
		{[]note.Verifier{newCosigner(t, "witness.example/0").verifier}, 1, seal.Broken},
		{nil, 0, seal.Unchanged},
	} {
		p := o.policy
		p.Witnesses, p.Quorum = tt.keys, tt.quorum
		row, err := p.Verify(t.Context(), log, thread)
		if err != nil || row.Verdict != tt.verdict || (row.Verdict == seal.Broken) != hasFinding(row.Findings, finding.WitnessMissing) {
			t.Errorf("%d of %d: %+v, %v", tt.quorum, len(tt.keys), row, err)
		}
		entry, err := seal.Prove(t.Context(), log, thread, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, s, found := p.CheckProof(t.Context(), entry); (len(found) == 0) != (row.Verdict == seal.Unchanged) || len(s.Cosigners) > len(tt.keys) {
			t.Errorf("%d of %d: the proof is judged as %+v, %v", tt.quorum, len(tt.keys), s, found)
		}
	}
}

func hasFinding(found []finding.Finding, code finding.Code) bool {
	for _, f := range found {
		if f.Code == code {
			return true
		}
	}
	return false
}

// lies has witnesses that do not cosign, each with the text of its finding.
func lies(t testing.TB, c cosigner) map[string]struct {
	answer http.HandlerFunc
	says   string
} {
	type lie = struct {
		answer http.HandlerFunc
		says   string
	}
	text := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	const size = "text/x.tlog.size"
	another := newCosigner(t, "another.example")
	same := newCosigner(t, c.Name()) // the name, with another key
	toggle := 0
	cosigned := func(by cosigner, change func([]byte) []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Write(change(by.lines(t, body)))
		}
	}
	return map[string]lie{
		"another key":              {cosigned(another, bytes.Clone), "another.example"},
		"a key with the same name": {cosigned(same, bytes.Clone), "no signature by a known key"},
		"a broken signature":       {cosigned(c, func(b []byte) []byte { b[len(b)-10] ^= 1; return b }), "not a valid cosignature"},
		"other entries": {func(w http.ResponseWriter, r *http.Request) {
			w.Write(c.lines(t, []byte("old 0\n\nother.example\n5\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n")))
		}, "not a valid cosignature"},
		"a whole checkpoint": {func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, signed, _ := bytes.Cut(body, []byte("\n\n"))
			w.Write(signed)
		}, "no signature by a known key"},
		"a cosignature of more": {func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, signed, _ := bytes.Cut(body, []byte("\n\n"))
			text := "more\n\n"
			all := append(bytes.Clone(signed[:bytes.LastIndex(signed, []byte("\n\n"))+2]), text...)
			w.Write(append([]byte(text), c.lines(t, append([]byte("old 0\n\n"), append(all, '\n')...))...))
		}, "not a valid cosignature"},
		"a cosignature that it copied": {func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Write(body[bytes.LastIndex(body, []byte("\n\n"))+2:])
		}, "no signature by a known key"},
		"nothing": {text(200, "text/plain", ""), "not a valid cosignature"},
		"garbage": {text(200, "text/plain", "\x00\xff\x1b[2J"), "not a valid cosignature"},
		"a page":  {text(200, "text/html", "<html>\n"), "not a valid cosignature"},
		"an endless answer": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("— a.example AAAAAAAA\n"), 1000)); err != nil {
					return
				}
			}
		}, "more than"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "307"},
		"an end":           {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"a larger size":    {text(409, size, "1000\n"), "it has cosigned 1000 entries"},
		"a size near 2^63": {text(409, size, "9223372036854775807\n"), "it has cosigned"},
		"a size near 2^64": {text(409, size, "18446744073709551615\n"), "cannot be"},
		"a negative size":  {text(409, size, "-1\n"), "cannot be"},
		"the same size":    {text(409, size, "5\n"), "cannot be"},
		"no size":          {text(409, size, "\x1b[2J\n"), "cannot be"},
		"a conflict":       {text(409, "text/plain", "5\n"), "not those that it has cosigned"},
		"a size, and again another": {func(w http.ResponseWriter, r *http.Request) {
			toggle++
			text(409, size, fmt.Sprintf("%d\n", toggle%3))(w, r)
		}, "with another size"},
		"a proof that is refused":  {text(422, "text/plain", "no\n"), "not those that it has cosigned"},
		"an unknown origin":        {text(404, "text/plain", "no\n"), "does not know the origin of the verifier key agents.example/log/"},
		"an unknown key or origin": {text(403, "text/plain", "no\n"), "does not know the verifier key agents.example/log/"},
		"an error":                 {text(500, "text/plain", "\x1b[2J"+strings.Repeat("x", 10_000)), "500"},
	}
}

// TestLyingWitness seals a thread with witnesses that do not cosign. Each is a finding, and no seal
// is stored.
func TestLyingWitness(t *testing.T) {
	t.Parallel()
	c := newCosigner(t, "witness.example")
	for name, lie := range lies(t, c) {
		t.Run(name, func(t *testing.T) {
			o, log := newOperator(t), memory.New()
			server := httptest.NewServer(lie.answer)
			defer server.Close()
			appendAll(t, log, thread, events("a", 5))
			before := o.sealed(t, log, thread)
			appendAll(t, log, thread, events("b", 5))
			o.Witnesses, o.WitnessKeys = []string{server.URL}, []note.Verifier{c.verifier}
			o.refused(t, log, lie.says)
			th, err := log.Thread(t.Context(), thread)
			if err != nil || th.Sealed != before.Seal.Size {
				t.Errorf("the thread is sealed up to %d, %v", th.Sealed, err)
			}
		})
	}
}

// TestWitnessCopies asks a witness that repeats the cosignature of the one before.
func TestWitnessCopies(t *testing.T) {
	t.Parallel()
	o, log, c := newOperator(t), memory.New(), newCosigner(t, "witness.example")
	appendAll(t, log, thread, events("a", 5))
	for _, answer := range []func(body []byte) []byte{
		func(body []byte) []byte { return c.lines(t, body) },
		func(body []byte) []byte { return body[bytes.LastIndex(body, []byte("\n\n"))+2:] },
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Write(answer(body))
		}))
		defer server.Close()
		o.Witnesses = append(o.Witnesses, server.URL)
	}
	o.WitnessKeys = []note.Verifier{c.verifier, newCosigner(t, "another.example").verifier}
	o.refused(t, log, "which the seal already has")
}

// refused expects that a witness does not cosign the next seal of a thread.
func (o *operator) refused(t testing.TB, log store.Log, says string) {
	t.Helper()
	_, err := o.Seal(t.Context(), log, thread)
	if !isFinding(err, finding.WitnessRefused) || !strings.Contains(err.Error(), says) || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%v, want %s", err, says)
	}
}

// TestWitnessRestarted asks a witness that has ended the connection of the request before. It
// is not parallel: the servers of other tests close all idle connections when they end.
func TestWitnessRestarted(t *testing.T) {
	o, log, c := newOperator(t), memory.New(), newCosigner(t, "witness.example")
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		w.Write(c.lines(t, body))
	}))
	defer server.Close()
	o.Witnesses, o.WitnessKeys = []string{server.URL}, []note.Verifier{c.verifier}
	for i := range 2 {
		appendAll(t, log, thread, events(fmt.Sprint(i), 5))
		if s := o.sealed(t, log, thread); len(s.Cosigners) != 1 {
			t.Errorf("seal %d is cosigned by %v", i, s.Cosigners)
		}
	}
	if n := requests.Load(); n != 3 {
		t.Errorf("there were %d requests", n)
	}
}

// TestWitnessCancelled stops waiting for a witness.
func TestWitnessCancelled(t *testing.T) {
	t.Parallel()
	o, log := newOperator(t), memory.New()
	appendAll(t, log, thread, events("a", 5))
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	o.Witnesses, o.WitnessKeys = []string{server.URL}, []note.Verifier{newCosigner(t, "w").verifier}
	if _, err := o.Seal(ctx, log, thread); err != context.Canceled {
		t.Error(err)
	}
	o.Witnesses = []string{"http://" + testkit.FreeAddress(t) + "/?secret=1"}
	_, err := o.Seal(t.Context(), log, thread)
	if !isFinding(err, finding.WitnessRefused) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a witness that is away: %v", err)
	}
	if th, err := log.Thread(t.Context(), thread); err != nil || th.Sealed != 0 {
		t.Errorf("%+v, %v", th, err)
	}
}
