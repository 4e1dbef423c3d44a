package markup

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

func TestContent(t *testing.T) {
	if got := (Content{Redact: true}).Text(""); got != "" {
		t.Errorf("no text is shown as %s", got)
	}
	if b, _ := (Content{Redact: true}).Append(nil, "", true, 100); string(b) != "⟨0 characters⟩" {
		t.Errorf("no content is shown as %s", b)
	}
	for text, want := range map[string]string{"é": "⟨1 character⟩", "a\nb": "⟨3 characters⟩", "a\xff": "⟨2 bytes⟩"} {
		if got := (Content{Redact: true}).Text(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
		b, n := Content{Redact: true}.Append([]byte("x"), text, true, 100)
		if string(b) != "x"+want || n != len(text) {
			t.Errorf("%q appends %s, %d bytes of it", text, b, n)
		}
	}
	if got := (Content{}).Text("<b>"); got != "<b>" {
		t.Errorf("the text is shown as %s", got)
	}
}

// Words of AG-UI are kept where AG-UI uses them. All other texts are replaced with their
// lengths.
func TestContentKeeps(t *testing.T) {
	c := Content{Redact: true}
	about, _ := finding.Describe(finding.NoRun)
	for got, want := range map[string]string{
		c.Type("RUN_STARTED"):                             "RUN_STARTED",
		c.Type("RUN_SECRET"):                              "⟨10 characters⟩",
		c.Role("assistant"):                               "assistant",
		c.Role("secret"):                                  "⟨6 characters⟩",
		c.Pointer("/messages/12/content/a~1b"):            "/messages/12/content/⟨key, 3 characters⟩",
		c.Pointer("/snapshot/4111111111111111"):           "/snapshot/⟨key, 16 characters⟩",
		c.Omitted("/messages/12345/content/1000/secret"):  "/messages/12345/content/1000/⟨key, 6 characters⟩",
		c.Omitted("/input/messages/12345/123"):            "/input/messages/12345/⟨key, 3 characters⟩",
		c.Omitted("/messages/0/toolCalls/12345"):          "/messages/0/toolCalls/⟨key, 5 characters⟩",
		c.Omitted("/123"):                                 "/⟨key, 3 characters⟩",
		c.Omitted("/state/messages/123"):                  "/state/messages/⟨key, 3 characters⟩",
		c.Omitted("/messages"):                            "/messages",
		c.Omitted(""):                                     "",
		c.Pointer(""):                                     "",
		c.Short(strings.Repeat("é", 1_000), 10):           "⟨1000 characters⟩",
		(Content{}).Short("secret", 3):                    "sec…",
		(Content{}).Type("RUN_\x1b"):                      "RUN_␛",
		c.Message(finding.New(finding.NoRun, "a secret")): about.Meaning,
		c.Message(finding.New(finding.HTTPStatus, "the response has status 422")): "the response has status 422",
		c.ContentType("application/json"):                                         "application/json",
		c.ContentType("text/event-stream; charset=UTF-8"):                         "text/event-stream; charset=utf-8",
		c.ContentType("text/html; secret"):                                        "text/html; ⟨6 characters⟩",
		c.ContentType("text/secret;charset=utf-8"):                                "⟨11 characters⟩; charset=utf-8",
		(Content{}).ContentType("text/secret"):                                    "text/secret",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRedactedEvent(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema":"` + artifact.Schema + `","framework":"ag_ui","surface":"` + artifact.Surface + `"}`:                      `{"schema":"` + artifact.Schema + `","framework":"ag_ui","surface":"` + artifact.Surface + `"}`,
		`{"schema":"v1","framework":"ag-ui","message":{"surface":"` + artifact.Surface + `"}}`:                               `{"schema":⟨2 characters⟩,"framework":⟨5 characters⟩,"message":{"surface":⟨35 characters⟩}}`,
		`{"type":"RUN_STARTED","threadId":"secret","n":-1.5e3,"b":true,"z":null,"messages":[{"role":"user","content":"é"}]}`: `{"type":"RUN_STARTED","threadId":⟨6 characters⟩,⟨key, 1 character⟩:⟨number⟩,⟨key, 1 character⟩:⟨boolean⟩,⟨key, 1 character⟩:null,"messages":[{"role":"user","content":⟨1 character⟩}]}`,
		// The same words elsewhere are content.
		`{"content":"RUN_STARTED","state":{"type":"RUN_STARTED","role":"user"},"role":"tool"}`: `{"content":⟨11 characters⟩,"state":{"type":⟨11 characters⟩,"role":⟨4 characters⟩},"role":"tool"}`,
		`{"type":"SECRET","type":"RUN_ERROR"}`:                                                 `{"type":⟨6 characters⟩,"type":"RUN_ERROR"}`,
		`[[],{},"\ud800",""]`:                                                                  `[[],{},⟨3 bytes⟩,⟨0 characters⟩]`,
		`"secret"`:                                                                             `⟨6 characters⟩`,
		"not JSON":                                                                             `⟨8 characters⟩`,
		`{"type":"RUN_STARTED","secret`:                                                        `⟨29 characters⟩`,
		"not UTF-8 \xff":                                                                       `⟨11 bytes⟩`,
		"":                                                                                     "",
	} {
		b, n := Content{Redact: true}.AppendEvent(nil, []byte(text), 1<<20)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || got != want || n != len(text) {
			t.Errorf("%s\nis shown as %s\nwant          %s (%d bytes, %v)", text, got, want, n, err)
		}
	}
}

// canary draws a text with letters that no page has otherwise.
func canary() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ꙀꙂꙄꙆꙈ"+"ꙊꙌꙎꙐꙒ")), 1, 20, -1)
}

// canaries draws a JSON value. All its keys, strings and numbers are canaries.
func canaries(depth int) *rapid.Generator[any] {
	number := rapid.Map(rapid.StringMatching(`77[0-9]{14}`), func(n string) any { return json.Number(n) })
	scalars := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), number, rapid.Map(canary(), func(s string) any { return s }))
	if depth == 0 {
		return scalars
	}
	names := rapid.OneOf(canary(), rapid.SampledFrom([]string{"type", "role", "messages", "content", "id"}), rapid.StringMatching(`77[0-9]{14}`))
	return rapid.OneOf(scalars,
		rapid.Map(rapid.SliceOfN(canaries(depth-1), 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(names, canaries(depth-1), 0, 4), func(m map[string]any) any { return m }))
}

var leaked = regexp.MustCompile(`[ꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒ]|77[0-9]{2}|true|false`)

// The redacted tree and the redacted event have no content of the JSON text, even if the
// text is truncated.
func TestRedactedHasNoContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(canaries(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		text = text[:rapid.IntRange(max(0, len(text)-3), len(text)).Draw(t, "end")] // often not JSON
		limit := rapid.SampledFrom([]int{20, 200, 1 << 20}).Draw(t, "limit")
		tree, _ := Content{Redact: true}.AppendTree(nil, text, new(Mark), limit)
		event, _ := Content{Redact: true}.AppendEvent(nil, text, limit)
		for _, shown := range [][]byte{tree, event} {
			if at := leaked.Find(shown); at != nil {
				t.Errorf("%s is in %s", at, shown)
			}
		}
		if len(event) > limit+400 || !json.Valid(event) {
			t.Errorf("limit %d: %s", limit, event)
		}
	})
}
