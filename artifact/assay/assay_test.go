package assay

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
)

// The event for testdata/valid.ag-ui.json was written by Assay's mapping. Writers in
// Python, Go and Rust confirmed its digests.
func TestSampleEvent(t *testing.T) {
	e, run := Placeholder(decoded(t, "valid.ag-ui.json")), sampleRun()
	if diff := cmp.Diff(string(read(t, "valid.assay.ndjson")), string(e.AppendLine(nil, run, 0))); diff != "" {
		t.Errorf("the line (-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	got, err := WriteBundle(&b, run, sequence(e))
	if err != nil {
		t.Fatal(err)
	}
	want := Bundle{
		RunRoot:      "sha256:b5e5dd74bab6aefb00c3351ec50233bac43b1c3d098ac20d578d63ff4060a79a",
		Events:       1,
		EventsBytes:  1336,
		EventsDigest: "sha256:dcc93849f31a6686abff6c39bdfc6e936d28711976317a07a6769e57683c41fa",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the bundle (-want +got):\n%s", diff)
	}
	hash := map[string]digest.Digest{
		"content":  e.ContentHash(),
		"manifest": digest.Of(got.manifest(run)),
		"tar":      digest.Of(unzip(t, b.Bytes())),
	}
	if diff := cmp.Diff(map[string]digest.Digest{
		"content":  "sha256:460198afb5f1555ef3d9f46e47139b17d08adba0b6cb4733d7115f7317273293",
		"manifest": "sha256:2fcf294acc668a40fd585039162c64755e764d3cfebc36e1fe7b1871670ff78f",
		"tar":      "sha256:538c15efff811300f7110eb8333a9301d32436212597c0a073daf163ca844705",
	}, hash); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
	// The reference writer's header: no name, no time, best compression, unknown system.
	if head := b.Bytes()[:10]; !bytes.Equal(head, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff}) {
		t.Errorf("the gzip header is % x", head)
	}
}

// The compressed bytes must not change. The compressor is pinned; another version that
// writes other bytes changes the format.
func TestBundleGolden(t *testing.T) {
	run := sampleRun()
	var events []Event
	a := decoded(t, "valid.ag-ui.json")
	for i := range 300 {
		a.Messages[0].Content = strings.Repeat("who said what, in which run ", i%12) + string(rune('a'+i%26))
		events = append(events, Placeholder(a))
	}
	for _, c := range []struct {
		events int
		want   digest.Digest
	}{
		{1, "sha256:eb37f353b56b4c8bea1f110ed6f9c14cbd4ee65871223dd584078840a531e495"},
		{300, "sha256:9dda49572086e01a9c8438465e64e4daf55181868fe66f409b8262ba5614445f"},
	} {
		if got := digest.Of(bundled(t, run, events[:c.events]...)); got != c.want {
			t.Errorf("%d events: the bundle is %s, want %s", c.events, got, c.want)
		}
	}
}

func unzip(t testing.TB, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// anyText draws text that is valid in the contract.
func anyText(most int) *rapid.Generator[string] {
	edge := rapid.SampledFrom([]rune("\"\\/\b\f\n\r\t\x00\x1f\x7f<>&\u2028\u2029\ufeff\u200b😀 é"))
	return rapid.Map(rapid.StringOfN(rapid.OneOf(rapid.Rune(), edge, rapid.RuneFrom([]rune("abc "))), 0, most-1, -1), func(s string) string { return s + "x" })
}

// anyArtifact draws an artifact that is valid under the Assay profile.
func anyArtifact() *rapid.Generator[*artifact.Artifact] {
	id := rapid.StringMatching(`[a-zA-Z0-9_.é-]{1,90}`)
	return rapid.Custom(func(t *rapid.T) *artifact.Artifact {
		a := artifact.New()
		a.ThreadIDRef, a.RunIDRef = id.Draw(t, "thread"), id.Draw(t, "run")
		if rapid.Bool().Draw(t, "child") {
			a.ParentRunIDRef = id.Draw(t, "parent")
		}
		a.StartedAt = rapid.SampledFrom([]string{"2026-04-14T20:00:00Z", "2026-04-14T20:00:00.5+02:00", "2025-12-31T23:59:59.000001Z"}).Draw(t, "started")
		if rapid.Bool().Draw(t, "finished") {
			a.FinishedAt = "2026-04-14T20:00:02.25Z"
		}
		a.TerminalEvent = artifact.RunFinished
		if rapid.Bool().Draw(t, "failed") {
			a.TerminalEvent = artifact.RunError
			a.ErrorMessage = id.Draw(t, "error")
			if rapid.Bool().Draw(t, "coded") {
				a.ErrorCode = "E_1"
			}
		}
		for _, id := range rapid.SliceOfNDistinct(id, 1, 4, rapid.ID[string]).Draw(t, "ids") {
			m := artifact.Message{ID: id, Role: rapid.SampledFrom(artifact.Roles()).Draw(t, "role"), Content: anyText(60).Draw(t, "content")}
			if rapid.Bool().Draw(t, "named") {
				m.Name = anyText(20).Draw(t, "name")
			}
			a.Messages = append(a.Messages, m)
		}
		again, found := artifact.Decode(artifact.Encode(a), artifact.Assay)
		if again == nil {
			t.Fatalf("drawn outside the profile: %v\n%s", found, artifact.Encode(a))
		}
		return again
	})
}

func receiptOf(a *artifact.Artifact) Receipt {
	return Receipt{ArtifactRef: "é \"one\".artifact.json", ArtifactDigest: digest.Of(artifact.Encode(a)), Reducer: "folded-stream@1", Origin: "built", ImportedAt: "2026-04-14T20:10:00Z"}
}

// Lines and manifests are canonical JSON according to another implementation of RFC
// 8785. Lines have the length that LineLen returns.
func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyArtifact().Draw(t, "artifact")
		run := Run{ID: anyText(20).Draw(t, "id"), Time: "2026-04-14T20:10:00.5Z", Producer: Producer{anyText(9).Draw(t, "name"), "1", rapid.SampledFrom([]string{"abc", UnknownGit}).Draw(t, "git")}}
		sequence := rapid.IntRange(0, 2_000_000).Draw(t, "sequence")
		for _, e := range []Event{Placeholder(a), receiptOf(a).Event(a)} {
			line := e.AppendLine(nil, run, sequence)
			mustBeCanonical(t, bytes.TrimSuffix(line, []byte{'\n'}))
			if got := LineLen(e.Type, len(e.Data), run, sequence); got != len(line) {
				t.Fatalf("LineLen = %d, want %d", got, len(line))
			}
		}
		mustBeCanonical(t, Bundle{RunRoot: zeroDigest(), EventsDigest: zeroDigest(), Events: sequence, EventsBytes: 7}.manifest(run))
	})
}

func mustBeCanonical(t *rapid.T, data []byte) {
	canonical := jsontext.Value(bytes.Clone(data))
	if err := canonical.Canonicalize(); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if diff := cmp.Diff(string(canonical), string(data)); diff != "" {
		t.Fatalf("not canonical (-want +got):\n%s", diff)
	}
}

// An event contains the artifact with trimmed strings and normalized times.
func TestTrimmed(t *testing.T) {
	a := decoded(t, "valid.ag-ui.json")
	want := string(Placeholder(a).Data)
	a.StartedAt, a.FinishedAt = "2026-04-14T22:00:00.0+02:00", "2026-04-14T20:00:02.000000Z"
	for _, s := range []*string{&a.Messages[0].ID, &a.Messages[1].Content, &a.Messages[2].ID} {
		*s = " \x1c\u3000" + *s + "\n\t "
	}
	if diff := cmp.Diff(want, string(Placeholder(a).Data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := CountTrimmed(a); got != 3 {
		t.Errorf("%d strings are trimmed, want 3", got)
	}
}

func TestFormatTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-04-14T20:10:00Z":             "2026-04-14T20:10:00Z",
		"2026-04-14T22:10:00.000+02:00":    "2026-04-14T20:10:00Z",
		"2026-04-14T20:10:00.5Z":           "2026-04-14T20:10:00.500Z",
		"2026-04-14T20:10:00.123Z":         "2026-04-14T20:10:00.123Z",
		"2026-04-14T20:10:00.1234Z":        "2026-04-14T20:10:00.123400Z",
		"2026-04-14T20:10:00.000000999Z":   "2026-04-14T20:10:00Z",
		"0001-01-01T00:00:00.000001-00:00": "0001-01-01T00:00:00.000001Z",
		"9999-12-31T23:59:59.999999999Z":   "9999-12-31T23:59:59.999999Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatTime(at); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestWriteBundleRefuses(t *testing.T) {
	t.Parallel()
	e, run := Placeholder(decoded(t, "valid.ag-ui.json")), sampleRun()
	many := func(n int, e Event) Events {
		return func(yield func(Event, error) bool) {
			for range n {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	big := func(n int) Event {
		return Event{Type: PlaceholderType, Data: []byte(`"` + strings.Repeat("x", n-2) + `"`)}
	}
	around := LineLen(PlaceholderType, 0, run, 0)
	wide := MaxLineBytes + 1 - around
	// full returns events with MaxEventsBytes and the given number of further bytes.
	full := func(more int) Events {
		return func(yield func(Event, error) bool) {
			const lines, each = 100, MaxEventsBytes / 100
			for i := range lines {
				n := each - LineLen(PlaceholderType, 0, run, i)
				if i+1 == lines {
					n += more
				}
				if !yield(big(n), nil) {
					return
				}
			}
		}
	}
	failing := errors.New("failing")
	broken := func(yield func(Event, error) bool) { yield(Event{}, failing) }
	turns := 0
	changing := func(yield func(Event, error) bool) {
		turns++
		yield(big(2+turns), nil)
	}
	for name, c := range map[string]struct {
		events Events
		want   string
	}{
		"none":           {sequence(), "a bundle must contain at least one event"},
		"most events":    {many(MaxEvents, big(2)), ""},
		"more events":    {many(MaxEvents+1, big(2)), "there are 100001 events; the limit of a bundle is 100000"},
		"longest line":   {sequence(big(wide)), ""},
		"longer line":    {sequence(big(wide + 1)), "the line of event 0 has 1048577 bytes; the limit is 1048576"},
		"too many bytes": {full(1), "the events have 104857601 bytes; the limit of a bundle is 104857600"},
		"most bytes":     {full(0), ""},
		"broken":         {broken, "failing"},
		"changed":        {changing, "the events changed while the bundle was written"},
		"plain":          {sequence(e), ""},
	} {
		_, err := WriteBundle(io.Discard, run, c.events)
		if got := errorText(err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if _, err := WriteBundle(fullDisk{}, run, sequence(e)); !errors.Is(err, errFull) {
		t.Errorf("on a full disk: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
