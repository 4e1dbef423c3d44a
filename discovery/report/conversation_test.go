package report

import (
	"context"
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
)

// turns returns the messages of the conversation of a page, and their blocks.
func turns(t *testing.T, page []byte) (list []string, blocks string) {
	t.Helper()
	tags := regexp.MustCompile(`<[^>]*>`)
	for _, li := range strings.Split(element(t, page, `<ol class="messages">`, "</ol>"), "\n<li")[1:] {
		li, _, _ = strings.Cut(li, `<details class="raw">`)
		li = strings.NewReplacer(` class="ghost"><p class="who">`, "- ", `><p class="who">`, "+ ", `</p><div class="what">`, "| ", `<p class="id">id `, "#", `<li class="tag">`, " !").Replace(li)
		list = append(list, strings.TrimSpace(html.UnescapeString(tags.ReplaceAllString(li, ""))))
	}
	for _, class := range regexp.MustCompile(`<i class="(\w+)">`).FindAllStringSubmatch(element(t, page, `<p class="blocks"`, "</p>"), -1) {
		blocks += class[1] + " "
	}
	return list, blocks
}

// Omitted messages appear in order among the kept messages, and each kept message names its
// omitted parts.
func TestConversation(t *testing.T) {
	const (
		messages = `[{"id":"1","role":"user","content":"hi"},{"id":"2","role":"assistant","toolCalls":[{"function":{"name":"f<"}},{"function":{"name":"g"}},{"function":1},{"function":{"name":"h"}},{"function":{"name":"i"}}]},` +
			`{"id":"3","role":"tool","name":"n","content":"4","toolCallId":"c"},{"id":"4","role":"activity","content":{"a":1}},{"role":"user","content":[{"type":"image"}]},{"id":"6","role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","k":1}]}]`
		text = `{"type":"TEXT_MESSAGE_START","messageId":"s1","role":"assistant"}` + "\n" + `{"type":"TEXT_MESSAGE_CONTENT","messageId":"s1","delta":" "}` + "\n" + `{"type":"TEXT_MESSAGE_END","messageId":"s1"}` + "\n" +
			`{"type":"TEXT_MESSAGE_START","messageId":"s2","role":"assistant"}` + "\n" + `{"type":"TEXT_MESSAGE_CONTENT","messageId":"s2","delta":"yes"}` + "\n" + `{"type":"TEXT_MESSAGE_END","messageId":"s2"}`
	)
	list := []string{
		"+ user| hi#1",
		"- assistant| Left out: a message without text. It called f<, g, h, ….",
		"+ tool n| 4 !left out: toolCallId#3",
		"- activity| Left out: a message whose role is not in the contract; a message that is not plain text.",
		"- user| Left out: a message that is not plain text.",
		"+ user| ab !changed: text parts joined !left out: part of content#6",
	}
	const blocks = "kept gone part gone gone part "
	streamed := []string{"- streamed| Left out: a message with blank text. event 1", "+ assistant| yes#s2"}
	withInput := strings.TrimSuffix(started, "}") + `,"input":{"threadId":"t","runId":"r","messages":` + messages + `}}`
	for _, c := range []struct {
		name    string
		events  []string
		request string
		want    []string
		blocks  string
	}{
		{"emitted", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":` + messages + `}`, finished}, "", list, blocks},
		{"built from the request", append(append([]string{started}, strings.Split(text, "\n")...), finished), `{"threadId":"t","runId":"r","messages":` + messages + `}`, append(list[:6:6], streamed...), blocks + "gone kept "},
		{"built from the input", append(append([]string{withInput}, strings.Split(text, "\n")...), finished), "", append(list[:6:6], streamed...), blocks + "gone kept "},
		{"the request of another run", append(append([]string{started}, strings.Split(text, "\n")...), finished), `{"threadId":"t","runId":"other","messages":` + messages + `}`, streamed, "gone kept "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			settings := capture.Settings{Tool: capture.Tool{Name: "p20export", Version: "0"}}
			if c.request != "" {
				settings.Request = []byte(c.request)
			}
			if _, _, err := capture.Import(context.Background(), strings.NewReader("data: "+strings.Join(c.events, "\n\ndata: ")+"\n\n"), dir, settings); err != nil {
				t.Fatal(err)
			}
			_, page := made(t, Settings{}, bounds, dir)
			got, drawn := turns(t, page)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if drawn != c.blocks {
				t.Errorf("the blocks are %s", drawn)
			}
			if n := strings.Count(element(t, page, `<ol class="messages">`, "</ol>\n</section>"), `<details class="raw"><summary>JSON</summary>`+"\n"+`<div class="tree"><div class="ln`); n != len(c.want)-strings.Count(strings.Join(c.want, "\n"), "streamed|") {
				t.Errorf("%d messages have their JSON", n)
			}
		})
	}
}

// A message is left out if an omission is about exactly that message. Keys that look like
// indexes and empty keys are parts of messages.
func TestMessagesAreFound(t *testing.T) {
	snapshot := func(messages string) []string {
		return []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[` + messages + `]}`, finished}
	}
	for name, c := range map[string]struct {
		events []string
		want   []string
		blocks string
	}{
		"numeric keys": {
			snapshot(`{"id":"u","role":"user","content":"question","1":"x","12345":"y","-0":1},{"id":"r","role":"reasoning","content":"hidden"},{"id":"a","role":"assistant","content":"answer"}`),
			[]string{"+ user| question !left out: 1 !left out: 12345 !left out: -0#u", "- reasoning| Left out: a message whose role is not in the contract.", "+ assistant| answer#a"}, "part gone kept ",
		},
		"numeric keys of the input": {
			[]string{strings.TrimSuffix(started, "}") + `,"input":{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"first","7":"x"},{"id":"v","role":"user","content":"second"}]}}`,
				`{"type":"TEXT_MESSAGE_START","messageId":"s","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"s","delta":"yes"}`, `{"type":"TEXT_MESSAGE_END","messageId":"s"}`, finished},
			[]string{"+ user| first !left out: 7#u", "+ user| second#v", "+ assistant| yes#s"}, "part kept kept ",
		},
		"an empty key":         {snapshot(`{"id":"u","role":"user","content":"question","":"x"}`), []string{`+ user| question !left out: ""#u`}, "part "},
		"a key of a text part": {snapshot(`{"id":"u","role":"user","content":[{"type":"text","text":"a","5":"x"}]}`), []string{"+ user| a !changed: text parts joined !left out: part of content#u"}, "part "},
	} {
		t.Run(name, func(t *testing.T) {
			_, page := made(t, Settings{}, bounds, saved(t, "run.sse", c.events...))
			got, blocks := turns(t, page)
			if diff := cmp.Diff(c.want, got); diff != "" || blocks != c.blocks {
				t.Errorf("the blocks are %s\n%s", blocks, diff)
			}
			if strings.Contains(string(page), "left out ()") || strings.Contains(string(page), "left out: <") {
				t.Error("an empty key is not shown")
			}
			for i, li := range strings.Split(element(t, page, `<ol class="messages">`, "</ol>\n</section>"), "\n<li")[1:] {
				content, _, _ := strings.Cut(strings.TrimPrefix(got[i][strings.Index(got[i], "| ")+2:], "Left out"), " !")
				content, _, _ = strings.Cut(content, "#")
				if _, json, _ := strings.Cut(li, `<div class="tree">`); !strings.HasPrefix(content, ":") && !strings.Contains(json, "&#34;"+content+"&#34;") {
					t.Errorf("message %d has the JSON of another message:\n%s", i, json)
				}
			}
		})
	}
}

// Messages past the omissions that a record lists are found by their ids, and counted.
func TestUnlistedMessages(t *testing.T) {
	t.Parallel()
	var list []string
	add := func(role, text string) {
		list = append(list, fmt.Sprintf(`{"id":"%d","role":"%s","content":"%s"}`, len(list), role, text))
	}
	const gone, question = 10_100, 10_050
	for i := range gone {
		if i == question {
			add("user", "question")
		}
		add("assistant", "")
	}
	add("assistant", "answer")
	messages := `"messages":[` + strings.Join(list, ",") + `]`
	stream := []string{`{"type":"TEXT_MESSAGE_START","messageId":"s","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"s","delta":"yes"}`, `{"type":"TEXT_MESSAGE_END","messageId":"s"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"e","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"e","delta":" "}`, `{"type":"TEXT_MESSAGE_END","messageId":"e"}`}
	for name, c := range map[string]struct {
		events         []string
		kept, messages int
	}{
		"emitted": {[]string{started, `{"type":"MESSAGES_SNAPSHOT",` + messages + `}`, finished}, 2, gone + 2},
		"built":   {append(append([]string{strings.TrimSuffix(started, "}") + `,"input":{"threadId":"t","runId":"r",` + messages + `}}`}, stream...), finished), 3, gone + 4},
	} {
		t.Run(name, func(t *testing.T) {
			left := bounds
			left.trees = 64 << 20
			_, page := made(t, Settings{}, left, saved(t, "run.sse", c.events...))
			got, _ := turns(t, page)
			if len(got) != c.messages {
				t.Fatalf("%d messages", len(got))
			}
			if got[question-1] != "- assistant| Left out: a message that the record does not list." || got[question] != fmt.Sprintf("+ user| question#%d", question) || got[gone+1] != fmt.Sprintf("+ assistant| answer#%d", gone+1) {
				t.Errorf("%s\n%s\n%s", got[question-1], got[question], got[gone+1])
			}
			for _, want := range []string{fmt.Sprintf("Kept %d of %s messages", c.kept, humanize.Grouped(int64(c.messages))), fmt.Sprintf("%d kept, at least 0 of them in part, %d left out", c.kept, c.messages-c.kept), " that the record does not list left out"} {
				if !strings.Contains(string(page), want) {
					t.Errorf("the page does not say %q", want)
				}
			}
		})
	}
}

// The blocks and their description count all messages, also those that are not shown.
func TestBlocksCountAllMessages(t *testing.T) {
	var list []string
	for i := range 12 {
		list = append(list, fmt.Sprintf(`{"id":"%d","role":"user","content":"%s"}`, i, strings.Repeat("y", 1_000*(i%2))))
	}
	left := bounds
	left.trees, left.share = 2_000, 0
	_, page := made(t, Settings{}, left, saved(t, "run.sse", started, `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Join(list, ",")+`]}`, finished))
	_, blocks := turns(t, page)
	if blocks != strings.Repeat("gone kept ", 6) {
		t.Errorf("the blocks are %s", blocks)
	}
	for _, want := range []string{"Kept 6 of 12 messages", "6 kept whole, 0 in part, 6 left out", "more messages are not shown here"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// The number of blocks is limited.
func TestBlocksAreBounded(t *testing.T) {
	messages := strings.Repeat(`{"id":"%","role":"user","content":"hi"},`, 100)
	for strings.Contains(messages, "%") {
		messages = strings.Replace(messages, "%", strings.Repeat("i", strings.Count(messages, "%")), 1)
	}
	_, page := made(t, Settings{}, bounds, saved(t, "run.sse", started, `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.TrimSuffix(messages, ",")+`]}`, finished))
	if _, blocks := turns(t, page); strings.Count(blocks, "kept") != shownBlocks || !strings.Contains(string(page), "<span>+ 40 more</span>") {
		t.Errorf("%s", blocks)
	}
}

// Every reason to omit a message is described in words, also on the pages of all committed
// captures.
func TestMessagesLeftInWords(t *testing.T) {
	for _, reason := range []finding.Code{finding.ContentMissing, finding.ContentBlank, finding.ContentNotText, finding.RoleOutsideSubset, finding.SubagentText, finding.SnapshotLacksText} {
		if strings.Contains(messageLeft(reason), string(reason)) {
			t.Errorf("%s has no words", reason)
		}
	}
	paths, err := filepath.Glob(captures + "/*/*")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	_, page := made(t, Settings{}, bounds, paths...)
	why := regexp.MustCompile(`<em>Left out</em>: ([^<.]*)`).FindAllSubmatch(page, -1)
	for _, w := range why {
		if strings.Contains(string(w[1]), "_") {
			t.Errorf("a page says %s", w[1])
		}
	}
	if len(why) < 20 {
		t.Errorf("%d messages left out", len(why))
	}
}

// If a record does not list all omissions, the page marks nothing as kept, and says so.
func TestUnlistedParts(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 1_001 {
		list = append(list, fmt.Sprintf(`{"id":"%d","role":"user","content":"x","0":1,"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1}`, i))
	}
	_, page := made(t, Settings{}, bounds, saved(t, "run.sse", started, `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Join(list, ",")+`]}`, finished))
	if n := strings.Count(string(page), ` kept">`); n != 1 { // of the legend
		t.Errorf("%d values are marked as kept", n)
	}
	if n := strings.Count(string(page), "10 more omissions are not marked here"); n != 2 {
		t.Errorf("the page says %d times that omissions are not marked", n)
	}
	for _, want := range []string{"Kept 1,001 of 1,001 messages", "1001 kept, at least 1000 of them in part, 0 left out", ` left"><del>`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// A small run is shown whole after a run that takes all the room for trees. The page stays
// bounded all the same.
func TestSmallRunsAreShown(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"id":"%d","role":"user","content":"%s"}`, i, strings.Repeat("y", 1_000)))
	}
	large := saved(t, "large.sse", started, `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Join(list, ",")+`]}`, finished)
	small := saved(t, "small.sse", started, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"hi"},{"id":"g","role":"user"}]}`, finished)
	left := bounds
	left.trees, left.share = 20_000, 10_000
	_, page := made(t, Settings{}, left, large, small)
	first, second, ok := strings.Cut(string(page), `<article id="r2"`)
	if !ok || !strings.Contains(first, "more messages are not shown here") {
		t.Error("the large run is shown whole")
	}
	if strings.Contains(second, "not shown here.</") || strings.Count(second, `<details class="raw">`) != 2 || strings.Count(second, `<div class="tree">`) != 6 {
		t.Errorf("the small run is not shown whole:\n%s", second)
	}

	paths := make([]string, 10)
	for i := range paths {
		paths[i] = saved(t, fmt.Sprintf("%d.sse", i), started, `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Join(list, ",")+`]}`, finished)
	}
	bare := left
	bare.trees, bare.share = 0, 0
	_, without := made(t, Settings{}, bare, paths...)
	_, page = made(t, Settings{}, left, paths...)
	// What ends a tree may be past the limit.
	if most := len(without) + len(paths)*(left.share+4_000) + left.trees; len(page) > most {
		t.Errorf("%d bytes, the limit is %d", len(page), most)
	}
}
