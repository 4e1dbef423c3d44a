// Package vectors_test writes the conformance vectors of docs/contract.md, and tests the Go
// library, the program and the JSON Schemas with them. docs/implementing.md describes how to
// test other validators.
package vectors_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/strictjson"
)

var update = flag.Bool("update", false, "write the vectors, and the tables of the documentation that are generated from them and the code")

// A vector is one case: a file and the result that a validator must report.
type vector struct {
	Name    string `json:"name"`
	Rule    string `json:"rule"`
	Kind    string `json:"kind"`
	Profile string `json:"profile"`
	About   string `json:"about"`
	Input   input  `json:"input"`
	// Outcome is accepted or malformed.
	Outcome  string     `json:"outcome"`
	Findings []expected `json:"findings"`
	// CanonicalDigest is the digest of the canonical file of an accepted artifact, or of
	// the input if it is an envelope in canonical form.
	CanonicalDigest string `json:"canonical_digest,omitzero"`
}

// An expected is a finding. It occurs Times times, or once if Times is zero.
type expected struct {
	Code    string `json:"code"`
	Pointer string `json:"pointer"`
	Times   int    `json:"times,omitzero"`
}

// An input describes the bytes of a file: a text, base64, or a list of inputs.
type input struct {
	Text   *string `json:"text,omitzero"`
	Base64 *string `json:"base64,omitzero"`
	Times  int     `json:"times,omitzero"`
	Parts  []input `json:"parts,omitzero"`
}

var repeated = regexp.MustCompile(`(?s)⟦(.+?)\*(\d+)⟧`)

// newInput returns an input for text, in which ⟦X*N⟧ means X repeated N times.
func newInput(text string) input {
	var parts []input
	add := func(s string, times int) {
		if s != "" {
			parts = append(parts, newPart(s, times))
		}
	}
	for {
		at := repeated.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		times, _ := strconv.Atoi(text[at[4]:at[5]])
		add(text[:at[0]], 0)
		add(text[at[2]:at[3]], times)
		text = text[at[1]:]
	}
	if len(parts) == 0 {
		return newPart(text, 0)
	}
	add(text, 0)
	return input{Parts: parts}
}

func newPart(s string, times int) input {
	if times == 1 {
		times = 0
	}
	if !utf8.ValidString(s) {
		s = base64.StdEncoding.EncodeToString([]byte(s))
		return input{Base64: &s, Times: times}
	}
	return input{Text: &s, Times: times}
}

// expand returns text with every ⟦X*N⟧ expanded.
func expand(text string) []byte {
	in := newInput(text)
	b, err := in.bytes()
	if err != nil {
		panic(err)
	}
	return b
}

func (in *input) bytes() ([]byte, error) {
	var b []byte
	var err error
	switch {
	case in.Text != nil:
		b = []byte(*in.Text)
	case in.Base64 != nil:
		b, err = base64.StdEncoding.DecodeString(*in.Base64)
	case in.Parts != nil:
		for i := range in.Parts {
			part, err := in.Parts[i].bytes()
			if err != nil {
				return nil, err
			}
			b = append(b, part...)
		}
	default:
		return nil, fmt.Errorf("an input without text, base64 or parts")
	}
	return bytes.Repeat(b, max(1, in.Times)), err
}

func sum(data []byte) string { return string(digest.Of(data)) }

// list returns each finding as "code pointer", repeated Times times.
func (v *vector) list() []string {
	out := []string{}
	for _, e := range v.Findings {
		for range max(1, e.Times) {
			out = append(out, strings.TrimSpace(e.Code+" "+e.Pointer))
		}
	}
	return out
}

func (v *vector) path() string {
	return filepath.Join("cases", v.Rule, strings.TrimPrefix(v.Name, v.Rule+"-")+".json")
}

// encode returns a vector in ASCII, so that every viewer shows its characters.
func (v *vector) encode(t *testing.T) []byte {
	t.Helper()
	b, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return append(strictjson.EscapeNonASCII(b), '\n')
}

// load reads every committed vector.
func load(t *testing.T) []vector {
	t.Helper()
	var all []vector
	err := filepath.WalkDir("cases", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var v vector
		if err := json.Unmarshal(b, &v, json.RejectUnknownMembers(true)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if v.path() != path {
			return fmt.Errorf("%s contains the vector %s", path, v.Name)
		}
		all = append(all, v)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 250 {
		t.Fatalf("only %d vectors were found", len(all))
	}
	return all
}

// The committed vectors are those of this package.
func TestVectorsAreAuthored(t *testing.T) {
	cases := authored()
	want := make(map[string][]byte)
	for i := range cases {
		v := &cases[i]
		if want[v.path()] != nil {
			t.Fatalf("two vectors are called %s", v.Name)
		}
		want[v.path()] = v.encode(t)
	}
	if *update {
		if err := os.RemoveAll("cases"); err != nil {
			t.Fatal(err)
		}
		for path, b := range want {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := load(t)
	for i := range got {
		v := &got[i]
		b, err := os.ReadFile(v.path())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, want[v.path()]) {
			t.Errorf("%s is out of date: run 'make vectors' and review the changes", v.path())
		}
		delete(want, v.path())
	}
	for path := range want {
		t.Errorf("%s is missing: run 'make vectors'", path)
	}
}
