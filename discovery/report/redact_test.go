package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project"
)

// Canaries are texts that a page cannot contain otherwise: with letters that no text of the
// program uses, with letters of identifiers, and numbers.
var (
	letters = rapid.StringOfN(rapid.RuneFrom([]rune("ꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒ")), 1, 20, -1)
	ascii   = rapid.StringMatching(`[qxzj]{10,20}`)
	digits  = rapid.StringMatching(`77[0-9]{14}`)
	texts   = rapid.OneOf(letters, ascii, digits)
	canary  = regexp.MustCompile(`[ꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒ]|[qxzj]{4}|77[0-9]{10}`)
)

// canaries draws a JSON value. All its strings and numbers and most of its keys are
// canaries.
func canaries(depth int) *rapid.Generator[any] {
	scalars := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Map(digits, func(n string) any { return json.Number(n) }), rapid.Map(texts, func(s string) any { return s }))
	if depth == 0 {
		return scalars
	}
	return rapid.OneOf(scalars,
		rapid.Map(rapid.SliceOfN(canaries(depth-1), 0, 3), func(l []any) any { return l }),
		rapid.Map(members(depth-1), func(m map[string]any) any { return m }))
}

// members draws the members of an object.
func members(depth int) *rapid.Generator[map[string]any] {
	keys := rapid.OneOf(texts, rapid.SampledFrom([]string{"type", "role", "id", "content", "name", "delta", "messageId", "snapshot", "rawEvent", "toolCalls", "metadata"}))
	return rapid.MapOfN(keys, canaries(depth), 0, 4)
}

// event draws an event of a type, with the members in own and others.
func event(t *rapid.T, kind string, own map[string]any) string {
	all := members(2).Draw(t, "members")
	maps.Copy(all, own)
	all["type"] = kind
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// drawRun draws the events of a run.
func drawRun(t *rapid.T) (events []string) {
	id, thread := texts.Draw(t, "run"), texts.Draw(t, "thread")
	events = append(events, event(t, eventnames.RunStarted, map[string]any{"runId": id, "threadId": thread, "parentRunId": texts.Draw(t, "parent"), "timestamp": 1767225600000}))
	for range rapid.IntRange(0, 4).Draw(t, "events") {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			events = append(events, texts.Draw(t, "no JSON"))
		case 1:
			events = append(events, event(t, texts.Draw(t, "unknown type"), nil))
		case 2:
			events = append(events, event(t, rapid.SampledFrom(eventnames.All()[3:]).Draw(t, "type"), nil))
		default:
			id := texts.Draw(t, "message")
			events = append(events,
				event(t, eventnames.TextMessageStart, map[string]any{"messageId": id, "role": rapid.OneOf(rapid.Just("assistant"), texts).Draw(t, "role")}),
				event(t, eventnames.TextMessageContent, map[string]any{"messageId": id, "delta": texts.Draw(t, "delta")}),
				event(t, eventnames.TextMessageEnd, map[string]any{"messageId": id}))
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "snapshots") {
		events = append(events, event(t, eventnames.MessagesSnapshot, map[string]any{"messages": drawMessages(t)}))
	}
	if rapid.Bool().Draw(t, "failed") {
		return append(events, event(t, eventnames.RunError, map[string]any{"message": texts.Draw(t, "error"), "code": texts.Draw(t, "code"), "timestamp": 1767225601000}))
	}
	return append(events, event(t, eventnames.RunFinished, map[string]any{"runId": id, "threadId": thread, "timestamp": 1767225601000}))
}

func drawMessages(t *rapid.T) (list []any) {
	for range rapid.IntRange(0, 4).Draw(t, "messages") {
		m := map[string]any{"id": texts.Draw(t, "id"), "role": rapid.SampledFrom([]string{"user", "assistant", "tool"}).Draw(t, "role")}
		switch rapid.IntRange(0, 4).Draw(t, "message") {
		case 0:
			m = members(2).Draw(t, "malformed")
		case 1:
			maps.Copy(m, members(2).Draw(t, "more"))
		default:
			m["content"] = strings.Repeat(texts.Draw(t, "content"), rapid.SampledFrom([]int{1, 1, 500}).Draw(t, "times"))
			m["name"] = texts.Draw(t, "name")
		}
		list = append(list, m)
	}
	return list
}

// A redacted page has no content of a capture.
func TestRedacted(t *testing.T) {
	verdicts := make(map[project.Verdict]int)
	base := t.TempDir()
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		dir := filepath.Join(base, fmt.Sprint(number))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		status := rapid.SampledFrom([]int{200, 200, 200, 422}).Draw(t, "status")
		request, err := json.Marshal(map[string]any{"runId": texts.Draw(t, "run"), "messages": drawMessages(t), "state": canaries(2).Draw(t, "state")})
		if err != nil {
			t.Fatal(err)
		}
		s := capture.Settings{
			Tool: capture.Tool{Name: "p20export", Version: ascii.Draw(t, "version")}, Framing: rapid.SampledFrom([]capture.Framing{capture.SSE, capture.NDJSON, capture.JSON}).Draw(t, "framing"),
			Request: request, Arrivals: rapid.Bool().Draw(t, "arrivals"),
			Labels: map[string]string{ascii.Draw(t, "label"): texts.Draw(t, "value")},
			Source: capture.Source{Kind: capture.KindHTTP, Method: "POST", URL: "http://" + ascii.Draw(t, "host") + "/" + ascii.Draw(t, "path"), Status: &status, ContentType: "text/" + ascii.Draw(t, "content type"), Headers: map[string]string{"server": ascii.Draw(t, "server")}},
		}
		var events []string
		for range rapid.IntRange(0, 2).Draw(t, "runs") {
			events = append(events, drawRun(t)...)
		}
		response := ""
		switch {
		case events == nil:
			body, err := json.Marshal(canaries(3).Draw(t, "body"))
			if err != nil {
				t.Fatal(err)
			}
			response = string(body[rapid.IntRange(0, 1).Draw(t, "begin"):])
		case s.Framing == capture.SSE:
			response = "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
		case s.Framing == capture.JSON:
			response = "[" + strings.Join(events, ",") + "]"
		default:
			response = strings.Join(events, "\n") + "\n"
		}
		path := filepath.Join(dir, "capture")
		w, err := capture.Create(path, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(response)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(capture.EndEOF); err != nil {
			t.Fatal(err)
		}
		paths := []string{path, filepath.Join(path, s.Framing.FileName())} // and as a plain file
		if rapid.Bool().Draw(t, "alone") {
			paths = paths[:1]
		}
		out := Settings{Tool: tool, Redact: RedactText, Out: filepath.Join(dir, "page.html")}
		out.Projection = rapid.SampledFrom([]project.Name{"", "", project.FoldedStream, project.EmittedSnapshotText}).Draw(t, "projection")
		rows, err := Write(context.Background(), paths, out)
		if err != nil || rows[0].Report == nil {
			t.Fatal(rows, err)
		}
		for _, row := range rows {
			verdicts[row.Verdict]++
			row.ReportDigest = nil // digits of the page's own digest can look like a canary
			text, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, row.Says+row.Next...)
			for _, f := range row.Findings {
				text = append(text, f.Excerpt.Text...)
			}
			if at := canary.FindIndex(text); at != nil {
				t.Errorf("a row has …%s…", around(text, at[0]))
			}
			if row.ArtifactDigest != nil {
				t.Error("a row has the digest of an artifact")
			}
		}
		page, err := os.ReadFile(out.Out)
		if err != nil {
			t.Fatal(err)
		}
		if at := canary.FindIndex(withoutCode(page)); at != nil {
			t.Errorf("the page has …%s…", around(withoutCode(page), at[0]))
		}
		if bytes.Contains(page, []byte("sha256:")) {
			t.Error("the page has a digest")
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	})
	if verdicts[project.Frozen] < 5 || verdicts[project.Refused] < 20 {
		t.Errorf("the pages are of %v", verdicts)
	}
}

// withoutCode returns a page without its policy, style and script, and with escapes
// decoded.
func withoutCode(page []byte) []byte {
	for _, code := range []string{`(?s)<style>.*?</style>`, `(?s)<script>.*?</script>`, `content="default-src[^"]*"`} {
		page = regexp.MustCompile(code).ReplaceAll(page, nil)
	}
	page = regexp.MustCompile(`\\u[0-9a-f]{4}`).ReplaceAllFunc(page, func(b []byte) []byte {
		var s string
		if json.Unmarshal([]byte(`"`+string(b)+`"`), &s) != nil {
			return b
		}
		return []byte(s)
	})
	return []byte(html.UnescapeString(string(page)))
}

func around(page []byte, at int) []byte { return page[max(0, at-200):min(len(page), at+200)] }

// The redacted page of a committed capture has no text of eight characters or more from its
// events or request, except words of AG-UI, the name of the capture, and text that every
// page has.
func TestCommittedCapturesRedacted(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(captures + "/*/*")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	_, bare := made(t, Settings{Redact: RedactText}, bounds, saved(t, "bare.sse", started, useless, finished, started, richer, finished))
	own := string(withoutCode(bare))
	checked := 0
	for _, path := range paths {
		found := make(map[string]bool)
		c, err := capture.Open(t.Context(), path, "")
		if err != nil {
			t.Fatal(err)
		}
		request, err := c.Request()
		if err != nil {
			t.Fatal(err)
		}
		collect(found, request)
		c.KeepHead(1 << 20)
		for {
			f, err := c.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			collect(found, f.Data)
		}
		body, _ := c.Head()
		collect(found, body)
		c.Close()
		_, page := made(t, Settings{Redact: RedactText}, bounds, path)
		checkPolicy(t, page)
		shown := string(withoutCode(page))
		for _, text := range slices.Sorted(maps.Keys(found)) {
			word := markup.Content{Redact: true}.Role(text) == text || markup.Content{Redact: true}.Pointer(finding.Pointer("/"+text)) == "/"+text
			if len([]rune(text)) < 8 || word || strings.Contains(own, text) || strings.Contains(filepath.Base(path), text) {
				continue
			}
			checked++
			if at := strings.Index(shown, text); at >= 0 {
				t.Errorf("%s: the page has %q in …%s…", path, text, around([]byte(shown), at))
			}
		}
	}
	if checked < 7_000 {
		t.Errorf("only %d texts", checked)
	}
}

// collect adds the strings and keys of JSON text, except words of AG-UI.
func collect(to map[string]bool, text []byte) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		if s, ok := token.(string); ok && !eventnames.IsReleased(s) {
			to[s] = true
		}
	}
}
