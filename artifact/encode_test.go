package artifact_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
)

func TestEncodeGolden(t *testing.T) {
	everything := full()
	everything.ErrorMessage = `"boom" \ é🙂` + "\u007f\u2028\u2029</script>"
	everything.Messages = append(everything.Messages, artifact.Message{ID: "m2", Role: "tool", Content: "a\nb\tc\r\b\f\x00\x1b/"})
	least := artifact.New()
	least.ThreadIDRef, least.RunIDRef, least.StartedAt, least.TerminalEvent = "t", "r", "2026-01-01T00:00:00Z", artifact.RunFinished
	least.Messages = []artifact.Message{{ID: "m1", Role: "user", Content: "hi"}}
	for file, a := range map[string]*artifact.Artifact{"everything.json": everything, "least.json": least} {
		want, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(artifact.Encode(a))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		if !artifact.IsCanonical(want, a) {
			t.Errorf("%s is not canonical", file)
		}
	}
}

func TestIsCanonical(t *testing.T) {
	a, findings := artifact.Decode([]byte(base), artifact.V1)
	if a == nil {
		t.Fatal(findings)
	}
	canonical := string(artifact.Encode(a))
	for _, text := range []string{
		base, canonical + "\n", strings.TrimSuffix(canonical, "\n"), " " + canonical,
		strings.Replace(canonical, "  ", "\t", 1), strings.Replace(canonical, `"hi"`, `"\u0068i"`, 1),
		strings.ReplaceAll(canonical, "\n", "\r\n"), "",
	} {
		if artifact.IsCanonical([]byte(text), a) {
			t.Errorf("%q is canonical", text)
		}
	}
	if !artifact.IsCanonical([]byte(canonical), a) {
		t.Error("the canonical bytes are not canonical")
	}
}

// An empty artifact is encoded with every required key.
func TestEncodeNothing(t *testing.T) {
	const want = `{"schema":"","framework":"","surface":"","thread_id_ref":"","run_id_ref":"","started_at":"","messages":[],"terminal_event":""}`
	got := jsontext.Value(artifact.Encode(&artifact.Artifact{}))
	if err := got.Compact(); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// An independent encoder that follows the struct has the same key order, indent and
// escapes.
func TestEncodeAgainstJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := validArtifact().Draw(t, "artifact")
		want, err := json.Marshal(a, jsontext.WithIndent("  "))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want)+"\n", string(artifact.Encode(a))); diff != "" {
			t.Fatalf("(-json +Encode):\n%s", diff)
		}
	})
}

func TestAppendString(t *testing.T) {
	check := func(t rapid.TB, s string) {
		want := jsontext.Value(mustQuote(t, s))
		if err := want.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if got := string(artifact.AppendString([]byte("before"), s)); got != "before"+string(want) {
			t.Fatalf("%q is %s, want %s", s, got, want)
		}
	}
	for r := rune(0); r <= 0x10ffff; r++ {
		if r > 0x3000 && r%97 != 0 && r < 0x10fff0 || !utf8.ValidRune(r) {
			continue
		}
		check(t, string(r))
	}
	rapid.Check(t, func(t *rapid.T) {
		special := rapid.SampledFrom([]rune("\x00\x01\x08\t\n\v\f\r\x0e\x1f \"/\\a\x7f\u0080é\u2028🙂"))
		check(t, rapid.StringOf(rapid.OneOf(special, rapid.Rune())).Draw(t, "text"))
	})
}

func mustQuote(t rapid.TB, s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
