package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/authority"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign/timetoken"
)

// written is a command that writes files to a new directory.
type written struct {
	args func(out string) []string
	// sets lists files that belong together. A file of a set may only exist if the files
	// before it in the set exist.
	sets [][]string
	// before has files that exist before the command and are replaced.
	before map[string]string
	// said is the text printed for each set written.
	said string
	// capture reports that the command makes a capture. A capture cannot be repeated in
	// the same directory, and its times differ each time.
	capture bool
	// tokens reports that the command writes time-stamps, which differ each time.
	tokens bool
}

// ran runs a command within the test.
func ran(args ...string) (status int, said string) {
	var out bytes.Buffer
	status = run(args, &out, &out)
	return status, out.String()
}

// writers returns the commands that write files, and the parent directory for their
// outputs.
func writers(t *testing.T) (in func(name string) string, commands map[string]written) {
	t.Helper()
	dir := realTemp(t)
	in = func(name string) string { return filepath.Join(dir, name) }
	runs, _ := manyRuns(t, dir, "many", 2)
	trace(t, render.Done, "freeze", runs, "-o", in("evidence"))
	trace(t, render.Done, "report", runs, "-o", in("earlier.html"), "--run", "#1")
	server := answering(t, testkit.Read(t, in("many.sse")))
	testkit.Write(t, in("request.json"), []byte(`{}`))
	one, _ := manyRuns(t, dir, "one", 1)
	testkit.Write(t, in("list"), runs+"\n"+one+"\n")
	set := frozenSet
	frozen := testkit.Contents(t, in("evidence"))
	key, stamper := in("ann.key.pem"), authority.New(t).Serve()
	trace(t, render.Done, "keygen", in("ann"))
	trace(t, render.Done, "freeze", runs, "-o", in("signed"), "--sign", key)
	signed := testkit.Contents(t, in("signed"))
	trace(t, render.Done, "keygen", in("bob"))
	trace(t, render.Done, "log", "import", runs, "--thread", "t", "--store", "sqlite:"+in("log.db"))
	trace(t, render.Done, "log", "seal", "--all", "--store", "sqlite:"+in("log.db"), "--key", key)
	return in, map[string]written{
		"batch": {
			args: func(out string) []string {
				return []string{"freeze", "--from-list", in("list"), "-o", out, "--skip-existing", "--jobs", "2"}
			},
			sets: [][]string{set("many.1"), set("many.2"), set("one")},
			said: "frozen  ",
		},
		"freeze": {
			args: func(out string) []string { return []string{"freeze", runs, "-o", out} },
			sets: [][]string{set("many.1"), set("many.2")},
			said: "frozen  ",
		},
		"export": {
			args: func(out string) []string {
				return []string{"log", "export", "t", "-o", filepath.Join(out, "thread.ndjson.zst"), "--store", "sqlite:" + in("log.db")}
			},
			sets: [][]string{{"thread.ndjson.zst"}},
			said: "written  ",
		},
		"bundle": {
			args: func(out string) []string {
				return []string{"assay", in("evidence/many.1.artifact.json"), in("evidence/many.2.artifact.json"), "--import-time", "2026-04-14T20:10:00Z", "--assay-run-id", "x", "--bundle", filepath.Join(out, "b.tar.gz")}
			},
			sets: [][]string{{"b.tar.gz"}},
			said: "written  ",
		},
		"freeze signed": {
			args: func(out string) []string { return []string{"freeze", runs, "-o", out, "--sign", key} },
			sets: [][]string{signedSet("many.1"), signedSet("many.2")},
			said: "frozen  ",
		},
		"sign": {
			args:   func(out string) []string { return []string{"sign", out, "--key", key, "--timestamp", stamper} },
			sets:   [][]string{{"many.1.record.dsse.json", "many.1.record.tsr"}, {"many.2.record.dsse.json", "many.2.record.tsr"}},
			before: frozen,
			said:   "written  ",
			tokens: true,
		},
		"add": {
			args:   func(out string) []string { return []string{"sign", out, "--key", in("bob.key.pem")} },
			sets:   [][]string{{"many.1.record.dsse.json"}, {"many.2.record.dsse.json"}},
			before: signed,
			said:   "written  ",
		},
		"report": {
			args: func(out string) []string { return []string{"report", runs, "-o", filepath.Join(out, "page.html")} },
			sets: [][]string{{"page.html"}},
			said: "written  ",
		},
		"replace": {
			args: func(out string) []string {
				return []string{"report", runs, "-o", filepath.Join(out, "page.html"), "--force"}
			},
			sets:   [][]string{{"page.html"}},
			before: map[string]string{"page.html": string(testkit.Read(t, in("earlier.html")))},
			said:   "written  ",
		},
		"compact": {
			args: func(out string) []string {
				return []string{"compact", runs, "-o", filepath.Join(out, "copy.sse")}
			},
			sets: [][]string{{"copy.sse"}},
			said: "written  ",
		},
		"baseline": {
			args: func(out string) []string {
				return []string{"compare", runs, "--write-baseline", filepath.Join(out, "baseline.json")}
			},
			sets: [][]string{{"baseline.json"}},
			said: "baseline written",
		},
		"import": {
			args:    func(out string) []string { return []string{"capture", "--from", in("many.sse"), "-o", out} },
			sets:    [][]string{{"response.sse", "capture.json"}},
			said:    "captured  ",
			capture: true,
		},
		"capture": {
			args: func(out string) []string {
				return []string{"capture", server, "--input", in("request.json"), "-o", out}
			},
			sets:    [][]string{{"response.sse", "arrivals.tsv", "request.json", "capture.json"}},
			said:    "captured  ",
			capture: true,
		},
	}
}

// differs reports whether a file is not what the command writes when nothing fails. A
// time-stamp must be one of the signature next to it.
func (c *written) differs(name, data string, want map[string]string) bool {
	signed, stamped := strings.CutSuffix(name, record.TimestampSuffix)
	if !c.tokens || !stamped {
		return data != want[name]
	}
	token, err := timetoken.Parse([]byte(data), nil)
	return err != nil || !token.Covers([]byte(want[signed+record.SignatureSuffix]))
}

// signedSet returns the names of the files of a frozen run that is signed.
func signedSet(name string) []string {
	return []string{name + ".artifact.json", name + ".envelope.ndjson", name + ".record.dsse.json", name + ".record.json"}
}

// frozenSet returns the names of the files of a frozen run.
func frozenSet(name string) []string {
	return []string{name + ".artifact.json", name + ".envelope.ndjson", name + ".record.json"}
}

// make creates the output directory of a command, unless the command makes a capture, which
// creates its own.
func (c *written) make(t *testing.T, out string) {
	t.Helper()
	if c.capture {
		return
	}
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range c.before {
		testkit.Write(t, filepath.Join(out, name), data)
	}
}

// reference returns the files that a command writes when nothing fails.
func (c *written) reference(t *testing.T, out string) map[string]string {
	t.Helper()
	c.make(t, out)
	if status, said := ran(c.args(out)...); status != int(render.Done) {
		t.Fatalf("exit status %d: %s", status, said)
	}
	files := files(t, out)
	for _, set := range c.sets {
		for _, name := range set {
			if _, ok := files[name]; !ok {
				t.Fatalf("%s was not written: %v", name, slices.Collect(maps.Keys(files)))
			}
		}
	}
	return files
}

// files returns the contents of the files of a directory by name. It returns none if the
// directory does not exist.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	if _, err := os.Lstat(dir); os.IsNotExist(err) {
		return nil
	}
	return testkit.Contents(t, dir)
}
