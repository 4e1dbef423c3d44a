package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// row is one JSON row of a command.
type row struct {
	of   string // the command line
	text []byte
	name string // its type
}

// counting returns the URL of an endpoint whose state is another one each time.
func counting(t *testing.T) string {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: {\"type\":\"STATE_SNAPSHOT\",\"snapshot\":{\"n\":%d}}\n\ndata: %s\n\n", testkit.Started, n.Add(1), testkit.Finished)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// everyCommand returns command lines of every command except servers, for the committed
// captures and the sample lane, so that results of all kinds occur if they are run in order.
func everyCommand(t *testing.T) [][]string {
	t.Helper()
	const captures = "../../discovery/captures"
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	lane := func(name string) string { return filepath.Join(sampleDir, name) }
	oneTurn := filepath.Join(captures, "adk/one-turn")
	server := answering(t, testkit.Read(t, filepath.Join(oneTurn, "response.sse")))
	testkit.Write(t, in("request.json"), []byte("{}"))
	testkit.Write(t, in("list.json"), []byte(`{"scenarios": [{"name": "a", "about": "One.", "request": {}}]}`))
	testkit.Write(t, in("empty.sse"), "")
	testkit.Write(t, in("open/response.sse"), "data: {}\n\n")
	testkit.Write(t, in("bad.tar.gz"), []byte("no bundle"))
	log := "sqlite:" + in("log.db")
	if err := appendEntries(in("log.db"), []byte(`{"thread":"t","kind":"event","data":`+testkit.Started+"}\n"+`{"thread":"t","kind":"event","data":`+testkit.Finished+"}\n")); err != nil {
		t.Fatal(err)
	}
	return [][]string{
		{"capture", server, "--input", in("request.json"), "-o", in("captured")},
		{"capture", server, "--input", in("request.json"), "-o", in("captured")},
		{"capture", "--from", in("empty.sse"), "-o", in("imported")},
		{"discover", server, "--scenarios", in("list.json"), "-o", in("discovered"), "--gate"},
		{"discover", server, "--scenarios", in("list.json"), "-o", in("discovered")},
		{"discover", "http://127.0.0.1:1", "--scenarios", in("list.json"), "-o", in("nothing")},
		{"compare", captures},
		{"compare", in("empty.sse"), in("nowhere")},
		{"compare", oneTurn, "--write-baseline", in("baseline.json")},
		{"compare", filepath.Join(captures, "adk/model-error"), "--baseline", in("baseline.json")},
		{"inspect", captures},
		{"inspect", in("nowhere")},
		{"report", captures, "-o", in("page.html")},
		{"report", oneTurn, "-o", in("page.html")},
		{"inspect", "--messages", "--state", captures, in("nowhere"), in("empty.sse")},
		{"inspect", "--messages", "--state", "--at", "5", "--dialect", "client", captures},
		{"compact", filepath.Join(captures, "adk/one-turn"), "-o", in("compact.sse")},
		{"compact", in("nowhere"), "-o", in("none.sse")},
		{"lineage", captures, in("nowhere")},
		{"lint", captures, in("nowhere")},
		{"lint", "--group", captures},
		{"freeze", captures, "-o", in("frozen")},
		{"freeze", filepath.Join(captures, "adk"), "-o", in("frozen"), "--projection", "emitted-snapshot-text", "--snapshot", "last"},
		{"freeze", filepath.Join(captures, "adk/model-error"), "-o", in("folded"), "--projection", "folded-stream"},
		{"freeze", in("nowhere"), "-o", in("frozen")},
		{"validate", lane("frozen"), in("empty.sse")},
		{"validate", lane("malformed/state.artifact.json"), lane("malformed/state-snapshot.envelope.ndjson"), in("nowhere")},
		{"diff", lane("frozen/finished.artifact.json"), lane("frozen/finished.artifact.json")},
		{"diff", lane("frozen/finished.artifact.json"), lane("frozen/multi-turn.artifact.json")},
		{"diff", lane("frozen/finished.artifact.json"), in("nowhere")},
		{"diff", lane("raw/finished"), lane("raw/multi-turn")},
		{"diff", lane("raw/finished"), in("nowhere.sse")},
		{"diff", filepath.Join(captures, "adk"), filepath.Join(captures, "langgraph")},
		{"compare", oneTurn, "--write-golden", in("golden"), "--reason", "new", "--force"},
		{"compare", filepath.Join(captures, "adk/unicode"), "--golden", in("golden")},
		{"compare", in("nowhere"), "--write-golden", in("golden"), "--reason", "new", "--force"},
		{"compare", filepath.Join(captures, "langgraph/one-turn"), "--golden", in("golden")},
		{"discover", counting(t), "--scenarios", in("list.json"), "--repeat", "3", "--golden", in("golden")},
		{"verify", lane("frozen/finished.artifact.json"), "--capture", lane("raw/finished")},
		{"verify", lane("frozen/finished.artifact.json"), "--capture", lane("raw/failed")},
		{"verify", in("nowhere")},
		{"verify", sampleDir},
		{"verify", captures, "--captures-only"},
		{"keygen", in("own")},
		{"freeze", oneTurn, "-o", in("signed"), "--sign", in("own.key.pem")},
		{"freeze", oneTurn, "--inline", "--sign", in("own.key.pem")},
		{"sign", in("signed"), "--key", in("own.key.pem")},
		{"timestamp", in("signed"), "--timestamp", server},
		{"verify", in("signed"), "--capture", oneTurn, "--trust", in("own.pub.pem"), "--require-signature"},
		{"recover", in("open")},
		{"prune", captures, "--older-than", "0s", "--frozen-in", lane("frozen"), "--dry-run"},
		{"prune", sampleDir, "--older-than", "0s", "--frozen-in", lane("frozen"), "--dry-run"},
		{"log", "import", oneTurn, in("nowhere"), "--store", log},
		{"log", "export", "t", "-o", in("t.log"), "--store", log},
		{"log", "threads", "--store", log},
		{"log", "runs", "--store", log},
		{"log", "cat", "t", "--store", log},
		{"log", "restore", "t", "--store", log},
		{"log", "stat", "--store", log},
		{"log", "pack", "t", "--store", log},
		{"keygen", in("seals")},
		{"log", "seal", "t", "--store", log, "--key", in("seals.key.pem"), "-o", in("t.checkpoint")},
		{"log", "seal", "--all", "--store", log, "--key", in("seals.key.pem")},
		{"log", "verify", "t", "--store", log, "--trust", in("seals.pub.pem"), "--against", in("t.checkpoint")},
		{"log", "verify", "t", "--store", log, "--trust", in("own.pub.pem")},
		{"log", "prove", "t", "--at", "1", "-o", in("t.tlog-proof"), "--store", log},
		{"log", "check-proof", in("t.tlog-proof"), in("t.checkpoint"), "--trust", in("seals.pub.pem")},
		{"log", "delete", "t", "--store", log},
		{"assay", lane("frozen"), "--receipt", "--bundle", in("b.tar.gz"), "--assay-run-id", "r", "--import-time", "2026-11-21T12:00:00Z"},
		{"assay", lane("frozen/failed.artifact.json"), in("nowhere.artifact.json"), "--ndjson", "-o", in("no.ndjson"), "--import-time", "2026-11-21T12:00:00Z"},
		{"assay", lane("frozen/finished.artifact.json"), "--ndjson", "-o", in("e.ndjson"), "--import-time", "2026-11-21T12:00:00Z"},
		{"assay", in("nowhere.artifact.json"), "--ndjson", "--import-time", "2026-11-21T12:00:00Z"},
		{"assay", lane("frozen/finished.artifact.json"), "--ndjson", "-o", in("none/e.ndjson"), "--import-time", "2026-11-21T12:00:00Z"},
		{"assay", "verify", lane("assay/receipts.tar.gz"), in("bad.tar.gz"), in("nowhere")},
		{"assay", "show", lane("assay/receipts.tar.gz")},
		{"explain"},
		{"explain", "A1", "P1", "X7", "too_long"},
		{"schema"},
		{"version"},
	}
}

var allRows struct {
	once sync.Once
	rows []row
}

// rowsOfAll runs every command, once for all tests, and returns the rows.
func rowsOfAll(t *testing.T) []row {
	t.Helper()
	allRows.once.Do(func() { allRows.rows = runAll(t) })
	if allRows.rows == nil {
		t.Fatal("a command failed in another test")
	}
	return allRows.rows
}

// runAll runs every command and returns the rows.
func runAll(t *testing.T) (all []row) {
	t.Helper()
	for _, args := range everyCommand(t) {
		var stdout, stderr bytes.Buffer
		of := strings.Join(args, " ")
		status, rows := run(append(args, "--format", "json"), &stdout, &stderr), &stdout
		if args[0] == "assay" && stdout.Len() == 0 {
			rows = &stderr // standard output has the events
		}
		if status == exitUsage || rows.Len() == 0 {
			t.Fatalf("p20export %s: exit status %d, said\n%s%s", of, status, stdout.Bytes(), stderr.Bytes())
		}
		for line := range bytes.Lines(rows.Bytes()) {
			var value struct{ Type string }
			if err := json.Unmarshal(line, &value); err != nil {
				t.Fatalf("p20export %s: %v\n%s", of, err, line)
			}
			all = append(all, row{of, line, value.Type})
		}
	}
	return all
}

// TestRowTypes checks that every row of every command begins with its type, and that every
// type of row occurs.
func TestRowTypes(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, r := range rowsOfAll(t) {
		command, _, _ := strings.Cut(r.of, " ")
		if !bytes.HasPrefix(r.text, []byte(`{"type":"`)) {
			t.Errorf("p20export %s: the first key is not the type: %.100s", r.of, r.text)
		}
		// Readers such as this program reject duplicate keys.
		keys, err := keysOf(r.text)
		if err != nil || slices.Contains(keys[1:], "type") {
			t.Errorf("p20export %s: keys %q: %v", r.of, keys, err)
		}
		if !slices.Contains(seen[r.name], command) {
			seen[r.name] = append(seen[r.name], command)
		}
	}
	var names []string
	ran := map[string]bool{}
	for _, of := range render.RowTypes() {
		names = append(names, of.Name)
		switch commands := seen[of.Name]; {
		case commands == nil:
			t.Errorf("no command writes a row of type %s", of.Name)
		default:
			said, _, _ := strings.Cut(of.About, ":")
			for _, command := range commands {
				if ran[command] = true; len(commands) > 1 && !strings.Contains(said, command) {
					t.Errorf("%q does not say that rows of type %s are of %s", said, of.Name, command)
				}
			}
		}
	}
	for name, of := range seen {
		if !slices.Contains(names, name) {
			t.Errorf("%s: type %q is not listed", of, name)
		}
	}
	for _, c := range commands {
		if serves := c.new().Flags().Lookup("listen") != nil; ran[c.name] == serves && c.name != "ready" { // servers only log, and ready has its exit status
			t.Errorf("%s writes rows: %v", c.name, ran[c.name])
		}
	}
}

// TestRowsSchema checks that the schema accepts every row and has all its keys, rejects
// damaged rows, and accepts new keys.
func TestRowsSchema(t *testing.T) {
	t.Parallel()
	known := knownKeys(t)
	damaged := map[string]bool{}
	for _, r := range rowsOfAll(t) {
		if known[r.name] == nil {
			t.Fatalf("p20export %s: the schema has no row of type %q", r.of, r.name)
		}
		value, err := schematest.Parse(r.text)
		if err == nil {
			err = known[r.name].Validate(value)
		}
		if err != nil {
			t.Errorf("p20export %s: %#v\n%s", r.of, err, r.text)
		}
		if damaged[r.name] {
			continue
		}
		damaged[r.name] = true
		if err := schematest.Check(schema.Rows, r.text); err != nil {
			t.Errorf("p20export %s: %v", r.of, err)
		}
		refuse := func(what string, value any) {
			t.Helper()
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if err := schematest.Check(schema.Rows, text); !errors.Is(err, schematest.ErrRefused) {
				t.Errorf("%s, %s: %v", r.name, what, err)
			}
		}
		object := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if !slices.Contains(optional[r.name], key) {
				without := maps.Clone(object)
				delete(without, key)
				refuse("without "+key, without)
			}
		}
		for _, name := range []any{"nonsense", "", nil, 1} {
			other := maps.Clone(object)
			other["type"] = name
			refuse(fmt.Sprint("type ", name), other)
		}
		refuse("as a list", []any{object})
		object["a_new_key"] = true
		text, err := json.Marshal(object)
		if err == nil {
			err = schematest.Check(schema.Rows, text)
		}
		if err != nil {
			t.Errorf("%s with a key of a later version: %v", r.name, err)
		}
	}
}

// optional lists the keys that rows may omit.
var optional = map[string][]string{
	"scenario":      {"about", "note", "cause"},
	"qualification": {"integration", "not_asked", "cut_off", "causes"},
	"comparison":    {"digest", "bytes", "integration", "scenario", "http_status", "end", "terminal", "more_snapshots", "changes"},
	"code":          {"spec", "hint", "rules"},
	"rule":          {"code", "after", "codes", "spec", "hint", "examples"},
	"version":       {"commit", "date", "sum"},
}

// knownKeys compiles the schema of each type of row with every object closed, so that it
// rejects keys that are not in the schema.
func knownKeys(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	data, _ := schema.Get(schema.Rows)
	value, err := schematest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range value.(map[string]any)["$defs"].(map[string]any) {
		if def := def.(map[string]any); def["properties"] != nil {
			def["additionalProperties"] = false
		}
	}
	if data, err = json.Marshal(value); err != nil {
		t.Fatal(err)
	}
	known := map[string]*jsonschema.Schema{}
	for _, of := range render.RowTypes() {
		c := jsonschema.NewCompiler()
		c.Draft = jsonschema.Draft2020
		if err := c.AddResource(schema.ID(schema.Rows), bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if known[of.Name], err = c.Compile(schema.ID(schema.Rows) + "#/$defs/" + of.Name); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

// keysOf returns the keys of a JSON object in order.
func keysOf(text []byte) (keys []string, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err = d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// answering starts a server that sends the same response to every request, and returns its
// URL.
func answering(t *testing.T, response []byte) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(response)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
