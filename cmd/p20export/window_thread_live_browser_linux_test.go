//go:build browser

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/browser"
)

// A speaker is an agent that says what the test gives it, event by event.
type speaker struct {
	*httptest.Server
	say chan string // JSON of events without the ids of the thread and the run

	mu   sync.Mutex
	last string // the last request
}

func newSpeaker(t *testing.T) *speaker {
	s := &speaker{say: make(chan string)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var in struct{ ThreadID, RunID string }
		if err := json.Unmarshal(body, &in); err != nil {
			t.Error(err)
			return
		}
		s.mu.Lock()
		s.last = string(body)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		ids := fmt.Sprintf(`"threadId":%s,"runId":%s`, js(in.ThreadID), js(in.RunID))
		fmt.Fprintf(w, "data: {\"type\":\"RUN_STARTED\",%s}\n\n", ids)
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event := <-s.say:
				_, _ = io.WriteString(w, "data: "+strings.Replace(event, "IDS", ids, 1)+"\n\n")
				_ = http.NewResponseController(w).Flush()
				if strings.Contains(event, `"RUN_`) {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// request returns the last request.
func (s *speaker) request() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

const (
	begins   = `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`
	textEnds = `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`
	done     = `{"type":"RUN_FINISHED",IDS}`
)

func word(text string) string {
	return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":` + js(text) + `}`
}

// askAgent asks the agent as any client does, with a token if there is one, and returns its response,
// which is read until the test has ended.
func askAgent(t *testing.T, url, token, thread, run, text string) io.Reader {
	t.Helper()
	body := fmt.Sprintf(`{"threadId":%s,"runId":%s,"state":{},"messages":[{"id":%s,"role":"user","content":%s}],"tools":[],"context":[],"forwardedProps":{}}`, js(thread), js(run), js("u-"+run), js(text))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/agents/guide", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	return response.Body
}

// start starts a run of a thread, whose client stays until the test has ended.
func (s *speaker) start(t *testing.T, url, thread, run, text string) {
	t.Helper()
	response := askAgent(t, url, "", thread, run, text)
	go func() { _, _ = io.Copy(io.Discard, response) }()
}

const spoken = `[...document.querySelectorAll(".messages > .message .content")].at(-1)?.textContent`

// A run goes on in front of a page that another process serves. The page survives that this
// process is killed, and misses nothing. A reader who moves the slider is not disturbed.
func TestBrowserWindowThreadLive(t *testing.T) {
	a := newSpeaker(t)
	log := "sqlite:" + filepath.Join(t.TempDir(), "events.db")
	_, agents := startServer(t, "serve", "--store", log, "--upstream", "guide="+a.URL)
	const thread = "a/b ü<b>"
	a.start(t, agents, thread, "r1", "What is it?")
	a.say <- begins
	a.say <- word("one")

	w := openThreadWindow(t, "log", "view", "--store", log)
	b, other := w.thread(thread, 0, 1280, "light"), w.thread(thread, 0, 390, "dark")
	want := "one"
	for i := range 20 {
		text := fmt.Sprintf(" word%d", i)
		a.say <- word(text)
		want += text
	}
	for _, tab := range []*browser.Tab{b, other} {
		tab.Until(spoken + ` === ` + js(want))
		tab.Holds(`document.querySelector(".live").textContent === "Live"`)
		tab.Judge()
	}

	// The reader looks at an earlier position.
	b.Keys(kb.ArrowLeft, kb.ArrowLeft)
	last := browser.Evaluate[int](other, position)
	b.Until(fmt.Sprintf("%s === %d", position, last-2))
	b.Holds(`document.querySelector(".live").textContent.startsWith("Not following")`)
	for range 3 {
		a.say <- word(" more")
		want += " more"
	}
	other.Until(spoken + ` === ` + js(want))
	b.Until(`document.querySelector(".live").textContent.startsWith("Not following, 3 new entries")`)
	b.Holds(fmt.Sprintf("%s === %d", position, last-2))
	b.Keys(kb.End)
	b.Until(spoken + ` === ` + js(want))

	// The server is killed, and starts again.
	w.serve.kill(t, syscall.SIGKILL)
	w.serve.wait(t)
	b.Until(said + `.startsWith("The connection was lost")`)
	a.say <- word(" while nobody looked")
	want += " while nobody looked"
	w.serve, _ = startServer(t, append(w.args, "--listen", strings.TrimPrefix(w.url, "http://"))...)
	for _, tab := range []*browser.Tab{b, other} {
		tab.Until(spoken + ` === ` + js(want))
	}
	a.say <- word(", the end")
	want += ", the end"
	a.say <- textEnds
	a.say <- done
	for _, tab := range []*browser.Tab{b, other} {
		tab.Until(spoken + ` === ` + js(want) + ` && document.querySelector(".where .verdict").textContent === "finished"`)
		// The end of the stream is no event, but an entry.
		tab.Until(`fetch("threads/" + encodeURIComponent(` + js(thread) + `) + "/entries?limit=1").then((r) => r.json()).then(({ last }) => ` + position + ` === last)`)
		tab.Until(complete)
		tab.Forgive() // that the server did not answer
		if difference := browser.Evaluate[string](tab, walk); difference != "" {
			t.Error(difference)
		}
	}
	b.Holds(`[...document.querySelectorAll("button")].every((b) => !b.textContent.startsWith("Cancel"))`)
	w.clean(b)

	// A new run of the thread appears.
	b.Keys(kb.End)
	b.Until(`document.querySelector(".live").textContent === "Live"`)
	a.start(t, agents, thread, "r2", "And now?")
	a.say <- done
	b.Until(`document.querySelectorAll(".run-row").length === 2 && document.querySelector(".where code").textContent === "r2"`)
}

// A run is cancelled after a question.
func TestBrowserWindowThreadCancels(t *testing.T) {
	a := newSpeaker(t)
	w := openThreadWindow(t, "serve", "--store", "sqlite:"+filepath.Join(t.TempDir(), "events.db"), "--upstream", "guide="+a.URL)
	a.start(t, w.url, "t", "r1", "What is it?")
	a.say <- begins
	a.say <- word("one")
	b := w.thread("t", 0, 1280, "light")
	b.Until(spoken + ` === "one"`)
	b.Click(".cancel button")
	b.Until(`document.activeElement.textContent === "Cancel it"`)
	b.Judge()
	b.Keys(kb.Tab, kb.Enter)
	b.Until(`document.querySelector(".cancel").textContent === "Cancel the run"`)
	b.Click(".cancel button")
	b.Until(`document.activeElement.textContent === "Cancel it"`)
	b.Keys(kb.Enter)
	b.Until(`document.querySelector(".where .verdict").textContent === "cancelled" && !document.querySelector(".cancel")`)
	b.Until(`document.querySelector(".run-end.cancelled")?.textContent.includes("p20export.cancelled")`)
	b.Judge()
	w.clean(b)
}

// A run is continued: the request is shown first, and the page follows the new run. A question of
// the agent is answered, and the answer is shown.
func TestBrowserWindowThreadContinues(t *testing.T) {
	a := newSpeaker(t)
	w := openThreadWindow(t, "serve", "--store", "sqlite:"+filepath.Join(t.TempDir(), "events.db"), "--upstream", "guide="+a.URL)
	a.start(t, w.url, "t", "r1", "What is it?")
	for _, event := range []string{begins, word("It is one."), textEnds, done} {
		a.say <- event
	}
	b := w.thread("t", 0, 1280, "light")
	b.Until(`document.querySelector(".where .verdict").textContent === "finished"`)
	const actions = `[...document.querySelectorAll("details.folded")].at(-1)`
	b.Script(actions + `.open = true`)
	click := func(text string) {
		t.Helper()
		b.Until(`[...document.querySelectorAll("button")].some((b) => b.textContent === ` + js(text) + `)`)
		b.Script(`[...document.querySelectorAll("button")].find((b) => b.textContent === ` + js(text) + `).click()`)
	}
	click("Show the request")
	b.Until(`document.querySelector("form.continue textarea")`)
	b.Judge()
	// The form has the focus, and when it is closed the button that opens it.
	click("Do not send it")
	b.Until(`document.activeElement.textContent === "Show the request"`)
	b.Keys(kb.Enter)
	b.Until(`document.activeElement === document.querySelector("form.continue textarea")`)
	b.Keys("And two?")
	b.Until(`document.querySelector("form.continue .tree").textContent.includes("And two?")`)
	before := a.request()
	click("Send it")
	b.Until(`document.querySelectorAll(".run-row").length === 2`)
	var got struct {
		ParentRunID string
		Messages    []struct{ Role, Content string }
		Resume      []struct {
			InterruptID, Status string
			Payload             any
		}
	}
	if err := json.Unmarshal([]byte(a.request()), &got); err != nil || a.request() == before {
		t.Fatal(err, a.request())
	}
	if got.ParentRunID != "r1" || len(got.Messages) != 3 || got.Messages[1].Content != "It is one." || got.Messages[2].Role != "user" || got.Messages[2].Content != "And two?" {
		t.Errorf("the agent got %s", a.request())
	}
	a.say <- `{"type":"RUN_FINISHED",IDS,"outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"confirm","message":"Really two?"}]}}`
	b.Until(`document.querySelector(".run-end.interrupted")?.textContent.includes("Really two?")`)
	b.Holds(`document.querySelector(".run-end").textContent.includes("It waits for an answer.")`)
	b.Judge()

	click("Show the request")
	b.Until(`document.querySelector("form.continue fieldset textarea")`)
	b.Focus("form.continue fieldset textarea")
	b.Keys(`{"sure`)
	b.Until(`document.querySelector("form.continue [role=alert]")`)
	b.Keys(`":true}`)
	b.Until(`!document.querySelector("form.continue [role=alert]")`)
	click("Send it")
	b.Until(`document.querySelectorAll(".run-row").length === 3`)
	if err := json.Unmarshal([]byte(a.request()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Resume) != 1 || got.Resume[0].InterruptID != "i1" || got.Resume[0].Status != "resolved" || fmt.Sprint(got.Resume[0].Payload) != "map[sure:true]" {
		t.Errorf("the agent got %s", a.request())
	}
	a.say <- done
	b.Until(`document.querySelector(".run-end.interrupted")?.textContent.includes("resolved")`)
	b.Holds(`document.querySelector(".run-end .tree").textContent.includes("true")`)
	w.clean(b)
}

// Hostile content is shown as it is, and does nothing.
func TestBrowserWindowThreadHostile(t *testing.T) {
	var asked sync.Map
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.URL.String(), true) }))
	t.Cleanup(elsewhere.Close)
	a := newSpeaker(t)
	w := openThreadWindow(t, "serve", "--store", "sqlite:"+filepath.Join(t.TempDir(), "events.db"), "--upstream", "guide="+a.URL)
	markup := `<img src=x onerror="window.owned=1"><script>window.owned=1</script>` + "\u202e\u0000\u2028"
	hostile := js(markup)
	thread, run := "../"+strings.Trim(markup, "\x00")[:60]+"\u202e", "r/'\"<b>"
	a.start(t, w.url, thread, run, markup)
	large := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	for _, event := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":` + hostile + `,"role":"assistant","name":` + hostile + `}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":` + hostile + `,"delta":"[x](javascript:window.owned=1) \ud800 ` + "\\u202e" + ` ` + elsewhere.URL + `/link"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":` + hostile + `}`,
		`{"type":"TOOL_CALL_START","toolCallId":` + hostile + `,"toolCallName":` + hostile + `}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":` + hostile + `,"delta":"{\"__proto__\":{\"owned\":1},\"constructor\":{\"prototype\":2},\"big\":12345678901234567890}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":` + hostile + `}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"res","toolCallId":` + hostile + `,"role":"tool","content":` + hostile + `}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"__proto__":{"owned":1},` + hostile + `:` + hostile + `,"number":12345678901234567890,"a/b~c":[1]}}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/__proto__/more","value":true},{"op":"add","path":"/a~1b~0c/-","value":{"constructor":` + hostile + `}}]}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"act","activityType":` + hostile + `,"content":{"__proto__":1,"html":` + hostile + `}}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"think","role":"reasoning"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"think","delta":` + hostile + `}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"think"}`,
		`{"type":"CUSTOM","name":` + hostile + `,"value":` + hostile + `}`,
		`{"type":` + hostile + `}`,
		`{"type":"RUN_ERROR","message":` + hostile + `,"code":` + hostile + `}`,
	} {
		a.say <- event
	}
	b := w.thread(thread, 1, 1280, "light")
	if difference := browser.Evaluate[string](b, walk); difference != "" {
		t.Error(difference)
	}
	b.Script(`document.querySelectorAll("details").forEach((d) => d.open = true)`)
	b.Until(`document.querySelector(".picture") && document.querySelector(".entry-row") && document.querySelector(".command") && document.querySelector(".run-end.failed")`)
	b.Judge()
	b.Holds(`document.querySelector(".conversation").textContent.includes('<img src=x onerror="window.owned=1">')`)
	b.Holds(`document.querySelector("[aria-labelledby=state]").textContent.includes("12345678901234567890")`)
	b.Holds(`document.querySelectorAll(".thread :is(img, a, script, iframe, object, embed, link)").length === 0`)
	b.Holds(`window.owned === undefined && ({}).owned === undefined && ({}).more === undefined`)
	b.Holds(`!/[\u202e\u2028\0]/.test(document.body.textContent + document.title)`)
	// The commands are quoted: a shell gets the id as it is.
	b.Holds(`[...document.querySelectorAll(".command code")].every((c) => !/[^\x20-\x7e]/.test(c.textContent))`)

	// A message of 4 MiB is loaded when the reader wants it.
	a.start(t, w.url, thread, "r2", large)
	a.say <- done
	b.Keys(kb.End)
	b.Until(`[...document.querySelectorAll(".message button")].some((b) => b.textContent.startsWith("Show all (4,194,"))`)
	b.Holds(`document.querySelector(".conversation").textContent.length < 20000`)
	b.Script(`[...document.querySelectorAll(".message button")].find((b) => b.textContent.startsWith("Show all (4,194,")).click()`)
	b.Until(`document.querySelector(".conversation").textContent.includes("The rest is not shown here")`)
	asked.Range(func(address, _ any) bool {
		t.Errorf("the page asked for %s", address)
		return true
	})
	w.clean(b)
}

// The log is replaced by an older copy of it while the page is open. The page reads the thread
// again, and shows what is there.
func TestBrowserWindowThreadRewound(t *testing.T) {
	a := newSpeaker(t)
	dir := t.TempDir()
	file, old := filepath.Join(dir, "events.db"), filepath.Join(dir, "old.db")
	args := []string{"serve", "--store", "sqlite:" + file, "--upstream", "guide=" + a.URL}
	w := openThreadWindow(t, args...)
	say := func(run, text string) {
		t.Helper()
		a.start(t, w.url, "t", run, "What is it?")
		for _, event := range []string{begins, word(text), textEnds, done} {
			a.say <- event
		}
	}
	restart := func(replace func()) {
		t.Helper()
		w.serve.stop(t)
		replace()
		w.serve, _ = startServer(t, append(args, "--listen", strings.TrimPrefix(w.url, "http://"))...)
	}
	say("r1", "the first")
	b := w.thread("t", 0, 1280, "light")
	b.Until(spoken + ` === "the first" && document.querySelector(".where .verdict").textContent === "finished"`)
	restart(func() { testkit.Write(t, old, testkit.Read(t, file)) })
	b.Until(`document.querySelector(".live").textContent === "Live"`)
	say("r2", "the second")
	b.Until(spoken + ` === "the second" && document.querySelectorAll(".run-row").length === 2`)
	restart(func() {
		if err := os.Rename(old, file); err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			if err := os.Remove(file + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	})
	b.Until(spoken + ` === "the first" && document.querySelectorAll(".run-row").length === 1`)
	b.Until(complete)
	say("r3", "another second")
	b.Until(spoken + ` === "another second" && document.querySelectorAll(".run-row").length === 2`)
	b.Until(complete)
	if difference := browser.Evaluate[string](b, walk); difference != "" {
		t.Error(difference)
	}
	b.Forgive() // that the server did not answer
	w.clean(b)
}

// With its content security policy, the page works and logs nothing. Its downloads have the exact
// bytes.
func TestBrowserWindowThreadStrict(t *testing.T) {
	w := openThreadWindow(t, "log", "view", "--store", logOf(t, "adk/backend-tool", "adk/multimodal"))
	b := w.browser.Open(t, w.address("thread-backend-tool", 5), 1280, "light")
	b.Until(complete)
	b.Script(`document.querySelectorAll("details").forEach((d) => d.open = true)`)
	b.Until(`document.querySelector(".picture") && document.querySelector(".entry-row") && document.querySelector(".command")`)
	b.Holds(`document.querySelector(".virtual [role=presentation]") === null || document.querySelector(".virtual [role=presentation]").getBoundingClientRect().height > 0`)
	// What the page gives the user is what the server has.
	b.Script(`window.given = []; window.blobs = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blobs.push(blob); return make.call(URL, blob); }; HTMLAnchorElement.prototype.click = function () { given.push(this.download); }`)
	for _, download := range []struct{ button, name, path string }{
		{"Download the bytes", "entry-5.json", "threads/thread-backend-tool/entries/5"},
		{"Export of the thread", "thread-backend-tool.ndjson", "threads/thread-backend-tool/export"},
	} {
		b.Script(`given.length = 0; [...document.querySelectorAll("button")].find((b) => b.textContent === ` + js(download.button) + `).click()`)
		b.Until(`given.length === 1`)
		b.Holds(`given[0] === ` + js(download.name))
		b.Holds(`Promise.all([fetch(` + js(download.path) + `).then((r) => r.text()), blobs.at(-1).text()]).then(([x, y]) => x === y && x.length > 0)`)
	}
	// The picture leads to the event that is nearest.
	b.Script(`{ const svg = document.querySelector(".picture svg"), box = svg.getBoundingClientRect(); svg.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX: box.right - 1, clientY: box.top + 12})); }`)
	b.Until(`document.querySelector(".where .type").textContent === "RUN_FINISHED" && new URL(location).searchParams.get("at") !== "5"`)
	b.Script(`history.back()`)
	b.Until(position + ` === 5`)
	// A position that the thread does not have is not shown, and the reader can go on.
	c := w.browser.Open(t, w.address("thread-backend-tool", 1000), 1280, "light")
	c.Until(`document.querySelector(".failure button")`)
	c.Click(".failure button")
	c.Until(complete)
	c.Holds(`document.querySelector(".live") !== null`)
	// Print shows everything, and without the controls.
	b.Script(`window.print = () => { window.printed = document.querySelectorAll(".message").length; }`)
	b.Script(`[...document.querySelectorAll("button")].find((b) => b.textContent === "Print").click()`)
	b.Until(`window.printed > 0`)
	b.Run(browser.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.Until(`!document.querySelector("#slider").checkVisibility() && document.querySelector(".conversation").checkVisibility()`)
	w.clean(b)
}
