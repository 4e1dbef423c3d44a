//go:build browser

package serve_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit/browser"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// openValues opens the page of a thread with runs. Each is the text of its request, and those of its
// events.
func openValues(t *testing.T, runs ...[]string) *browser.Tab {
	t.Helper()
	log := memory.New()
	t.Cleanup(func() { log.Close() })
	last := int64(0)
	for i, texts := range runs {
		stream := string(rune('a' + i))
		entries := []store.Entry{{Stream: stream, Kind: store.Input, Data: []byte(texts[0])}}
		for _, text := range texts[1:] {
			entries = append(entries, store.Entry{Stream: stream, Kind: store.Event, Data: []byte(text)})
		}
		var err error
		if last, err = log.Append(t.Context(), store.Key{Thread: "t"}, last, append(entries, store.Entry{Stream: stream, Kind: store.End, Data: []byte("eof")})); err != nil {
			t.Fatal(err)
		}
	}
	agent, err := url.Parse("http://127.0.0.1:9/")
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Settings{Log: log, Window: true, Agents: map[string]*url.URL{"nobody": agent}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	chromium, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chromium.Close)
	b := chromium.Open(t, server.URL+"/?thread=t", 1280, "light")
	b.Until(`document.querySelector(".run-row:enabled")`)
	t.Cleanup(func() {
		for _, p := range b.Problems() {
			t.Errorf("the browser says: %s", p)
		}
	})
	return b
}

// Numbers that JavaScript would change are shown as they were sent, also those with white space
// around them, as in the arguments that many agents send, and those of the usage.
func TestBrowserWindowNumbers(t *testing.T) {
	b := openValues(t, []string{
		input("t", "r"), started("t", "r"),
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"id\": 9007199254740993, \"list\": [\n 1e400 , 1.10\n, -0 ], \"n\":\t-1.50 }"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":[{"inputTokens":9007199254740993}]}`,
	})
	const scalars = `[...document.querySelectorAll("%s .scalar")].map((e) => e.textContent).join(" ")`
	b.Until(strings.Replace(scalars, "%s", ".call", 1) + ` === "9007199254740993 1e400 1.10 -0 -1.50"`)
	b.Until(`document.querySelector(".facts")`)
	b.Script(`for (const d of document.querySelectorAll(".folded details")) d.open = true`)
	b.Until(strings.Replace(scalars, "%s", ".folded", 1) + ` === "9007199254740993"`)
}

// A change deep in a state opens only a part of the way to it, because each level needs a part of
// the stack.
func TestBrowserWindowDeepState(t *testing.T) {
	const depth = 500
	b := openValues(t, []string{
		input("t", "r"), started("t", "r"),
		`{"type":"STATE_SNAPSHOT","snapshot":` + strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) + `}`,
		`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"` + strings.Repeat("/a", depth) + `","value":2}]}`,
		finished("t", "r"),
	})
	for _, position := range []string{"4", "3", "4", "5"} {
		b.Script(`{ const slider = document.getElementById("slider"); slider.value = ` + position + `; slider.dispatchEvent(new Event("input", {bubbles: true})); }`)
		b.Until(`document.querySelector(".thread").dataset.position === "` + position + `"`)
	}
}

// Whatever values the questions of an agent and their answers have, they are shown, and can be
// answered.
func TestBrowserWindowStrangeQuestions(t *testing.T) {
	b := openValues(t, []string{
		input("t", "r"), started("t", "r"),
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{},{"id":1e400,"message":1e400},{"id":"i","message":{"toString":1},"reason":"why"}]}}`,
	}, []string{
		`{"threadId":"t","runId":"s","parentRunId":"r","messages":[],"resume":[null,1,{"interruptId":"i","status":"resolved"}]}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"s","parentRunId":"r"}`, finished("t", "s"),
	})
	b.Until(`document.querySelectorAll(".run-end .ask").length === 3`)
	b.Click(".run-row")
	b.Until(`document.querySelector(".thread").dataset.position === "3"`)
	b.Script(`for (const d of document.querySelectorAll(".folded")) d.open = true`)
	b.Until(`[...document.querySelectorAll("button")].some((button) => button.textContent === "Show the request" && (button.click(), true))`)
	b.Until(`document.querySelectorAll(".continue fieldset").length === 3`)
}

// Keys that are pressed before the page knows the thread do not move it to a position that does not
// exist.
func TestBrowserWindowEarlyKeys(t *testing.T) {
	b := openValues(t, []string{input("t", "r"), started("t", "r"), finished("t", "r")})
	for _, unit := range []string{"event", "message", "run"} {
		b.Holds(`import("./window/thread_model.js").then(({ Model }) => {
			const model = new Model("t", () => {});
			model.open();
			model.step("` + unit + `", 1);
			model.close();
			return model.target === 0 && model.following;
		})`)
	}
}
