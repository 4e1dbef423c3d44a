package report

import (
	"context"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
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
		"+ user| ab !changed: text parts joined !left out: k#6",
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
