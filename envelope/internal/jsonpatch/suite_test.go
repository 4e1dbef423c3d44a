package jsonpatch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// suite has the files of npm's json-patch-test-suite 1.1.0, their digests, and the
// number of their cases.
var suite = []struct {
	file, digest string
	cases        int
}{
	{"spec_tests.json", "a26b050292207033e5cccc5d6102b7bd6f8add7db0d0680e5d46a7ecf40a8c7b", 17},
	{"tests.json", "c38f7d8f459746351d9e8119b1a25ed0a97dc0cbc3eecf02fd953fd4679fd971", 78},
}

// disabled are the cases that the suite disables. They are run, too.
var disabled = []string{
	"spec_tests.json 13 A.13 Invalid JSON Patch Document",
	"tests.json 10 Toplevel scalar values OK?",
	"tests.json 52 Whole document",
	"tests.json 76 duplicate ops",
}

func TestSuite(t *testing.T) {
	var skipped []string
	for _, file := range suite {
		data, err := os.ReadFile(filepath.Join("testdata/json-patch-test-suite", file.file))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != file.digest {
			t.Errorf("%s is not the file of the suite", file.file)
		}
		// Two cases have an operation with the same key twice; encoding/json keeps them as
		// text.
		var cases []struct {
			Comment, Error       string
			Disabled             bool
			Doc, Patch, Expected json.RawMessage
		}
		if err := json.Unmarshal(data, &cases); err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			name := fmt.Sprintf("%s %d %s", file.file, i, c.Comment)
			if c.Disabled {
				skipped = append(skipped, name)
			}
			t.Run(name, func(t *testing.T) {
				var d Document
				if err := d.Reset(read(t, c.Doc)); err != nil {
					t.Fatal(err)
				}
				var o strictjson.Object
				patch, err := strictjson.ReadText(&o, new(strictjson.Decoder), c.Patch)
				if err == nil {
					err = d.Apply(patch, RFC6902, nil)
				}
				checkDocument(t, &d)
				switch {
				case (err != nil) != (c.Error != ""):
					t.Errorf("the error is %v, want %q", err, c.Error)
				case err != nil:
					t.Log(err)
				case c.Expected != nil && !jsonvalue.Equal(d.Value(), jsonvalue.Parse(read(t, c.Expected))):
					t.Errorf("the document is %s, want %s", d.Append(nil), c.Expected)
				}
			})
		}
		if len(cases) != file.cases {
			t.Errorf("%s has %d cases, want %d", file.file, len(cases), file.cases)
		}
	}
	t.Logf("disabled in the suite, but run here: %q", skipped)
	if !slices.Equal(skipped, disabled) {
		t.Errorf("the suite disables %q, want %q", skipped, disabled)
	}
}
