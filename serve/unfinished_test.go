package serve_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// An event that the agent did not complete is completed at the end of the response, if it is
// well-formed. Its capture has the bytes that came, and can still be imported.
func TestUnfinishedEvent(t *testing.T) {
	t.Parallel()
	end := finished("t", "r")
	for name, test := range map[string]struct {
		rest string
		want []string // after RUN_STARTED
	}{
		"no blank line":  {"data: " + end + "\n", []string{"closing " + end, "end eof"}},
		"no line end":    {"data: " + end, []string{"closing " + end, "end eof"}},
		"a CR":           {"data:" + end + "\r", []string{"closing " + end, "end eof"}},
		"several lines":  {"data: {\"type\":\ndata: \"RUN_FINISHED\"}", []string{"closing {\"type\":\n\"RUN_FINISHED\"}", "end eof"}},
		"cut":            {"data: " + end[:20], []string{closing + `The response of the agent ended before the run did.","code":"p20export.upstream_ended"`, "end eof"}},
		"another event":  {"data: " + step(1) + "\n", []string{"closing " + step(1), closing + `The response of the agent ended before the run did.","code":"p20export.upstream_ended"`, "end eof"}},
		"not an event":   {"data: {\"x\":1}\n", []string{closing + `The response of the agent ended before the run did.","code":"p20export.upstream_ended"`, "end eof"}},
		"nothing":        {"data: " + end + "\n\n", []string{"event " + end, "end eof"}},
		"only a comment": {"data: " + end + "\n\n: bye", []string{"event " + end, "end eof"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, a := newMemory(t), newAgent(t)
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			p := start(t, log, a, serve.Settings{Exchanges: proxy.Settings{Captures: root, Tool: capture.Tool{Name: "test", Version: "1"}}})
			c, answer := p.begin(a, "t", "r")
			c.do(func(w http.ResponseWriter) { io.WriteString(w, test.rest) })
			c.end()
			answer.text()
			p.ended(1)
			same(t, entries(t, log, "t")[2:], test.want)
			p.get("/threads/t/runs").want(http.StatusOK, map[bool]string{true: `"closing_code":null}`, false: `"closing_code":"p20export.upstream_ended"}`}[strings.Contains(name, "line") || name == "a CR" || name == "nothing" || name == "only a comment"])
			if err := p.server.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			captures, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(captures) != 1 {
				t.Fatalf("captures %q, %v", captures, err)
			}
			response, err := os.ReadFile(filepath.Join(captures[0], "response.sse"))
			if want := "data: " + started("t", "r") + "\n\n" + test.rest; err != nil || string(response) != want {
				t.Errorf("the capture has %q, %v", response, err)
			}
			row := transfer.Import(t.Context(), log, inputs.File(captures[0]), transfer.ImportSettings{})
			if row.Verdict != project.Written || len(row.Parts) != 1 || row.Parts[0].Appended != 0 {
				t.Errorf("the import: %+v", row)
			}
			th, err := log.Thread(t.Context(), store.Key{Thread: "t"})
			if err != nil || th.Last != int64(len(test.want)+2) {
				t.Errorf("the thread has %d entries, %v", th.Last, err)
			}
		})
	}
}
