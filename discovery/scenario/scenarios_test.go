package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

const twoScenarios = `{"scenarios": [{"name": "a", "request": {}}, {"name": "b", "about": "B.", "path": "/b/", "request": {"runId": "r"}}]}`

// refused checks that an error names the file and the reason.
func refused(t *testing.T, err error, path, why string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), path+": ") && !strings.Contains(err.Error(), "open "+path) || !strings.Contains(err.Error(), why) {
		t.Errorf("%v, want %q", err, why)
	}
}

func TestLoadList(t *testing.T) {
	path := filepath.Join(t.TempDir(), ScenariosName)
	testkit.Write(t, path, twoScenarios)
	list, err := LoadList(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	want := &List{Scenarios: []Scenario{
		{Name: "a", Request: []byte("{}")},
		{Name: "b", About: "B.", Path: "/b/", Request: []byte(`{"runId": "r"}`)},
	}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for in, why := range map[string]string{
		``:                  "unexpected EOF",
		`[]`:                "it is not a JSON object, as a file of scenarios must be",
		`{}`:                "no scenarios",
		`{"scenarios": []}`: "no scenarios",
		twoScenarios + "{}": "after",
		`{"scenarios": [{"name": "a", "requests": {}}]}`:                              "requests",
		`{"scenarios": [{"name": "a", "name": "a", "request": {}}]}`:                  "duplicate",
		`{"scenarios": [{"name": "", "request": {}}]}`:                                `""`,
		`{"scenarios": [{"name": "../a", "request": {}}]}`:                            `"../a"`,
		`{"scenarios": [{"name": "a", "request": {}}, {"name": "a", "request": {}}]}`: `two scenarios are named "a"`,
		`{"scenarios": [{"name": "capture.json", "request": {}}]}`:                    "reserved for the manifest of a capture",
		`{"scenarios": [{"name": "a"}]}`:                                              `"a": the request must be an object`,
	} {
		testkit.Write(t, path, in)
		_, err := LoadList(t.Context(), path)
		refused(t, err, path, why)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = LoadList(t.Context(), path)
	refused(t, err, path, "no such file")
}

// Reading stops at the size limit.
func TestLoadBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ScenariosName)
	testkit.Write(t, path, twoScenarios+strings.Repeat(" ", maxFile-len(twoScenarios)))
	if _, err := LoadList(t.Context(), path); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	_, err := LoadList(t.Context(), path)
	refused(t, err, path, "larger than 67108864 bytes")
}

func TestLoadListPaths(t *testing.T) {
	path := filepath.Join(t.TempDir(), ScenariosName)
	for p, fits := range map[string]bool{
		"": true, "/": true, "/a": true, "/a/": true, "/a/b.c": true, "/a%20b": true,
		"a": false, "//a": false, "/a//b": false, "/../a": false, "/a/..": false, "/./a": false,
		"/a?b=c": false, "/a#b": false, "/%zz": false, "http://127.0.0.1/": false,
	} {
		testkit.Write(t, path, fmt.Sprintf(`{"scenarios": [{"name": "a", "path": %q, "request": {}}]}`, p))
		_, err := LoadList(t.Context(), path)
		if !fits {
			refused(t, err, path, fmt.Sprintf("scenario %q: invalid path %q", "a", p))
		} else if err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestLoadSuite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ScenariosName)
	testkit.Write(t, path, twoScenarios)
	list, err := LoadList(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	const a = `{"name": "a", "expect": {"http_status": 200, "freeze": {}}}`
	path = filepath.Join(dir, ExpectedName)
	testkit.Write(t, path, `{"scenarios": [`+a+`, {"name": "b", "note": "It cannot."}]}`)
	suite, err := LoadSuite(t.Context(), path, list)
	if err != nil {
		t.Fatal(err)
	}
	want := &Suite{Cases: []Case{{Name: "a", Expect: &Expectation{HTTPStatus: 200}}, {Name: "b", Note: "It cannot."}}}
	if diff := cmp.Diff(want, suite); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for in, why := range map[string]string{
		`{`:                          "unexpected EOF",
		`{"scenarios": []}`:          `"a" is missing or out of order`,
		`{"scenarios": [` + a + `]}`: `"b" is missing or out of order`,
		`{"scenarios": [{"name": "b", "note": "It cannot."}, ` + a + `]}`:                                               `"a" is missing or out of order`,
		`{"scenarios": [` + a + `, {"name": "b"}]}`:                                                                     `"b" must have either an expectation or a note`,
		`{"scenarios": [` + a + `, {"name": "b", "note": "It cannot.", "expect": {"http_status": 200, "freeze": {}}}]}`: `"b" must have either an expectation or a note`,
		`{"scenarios": [` + a + `, {"name": "b", "note": "It cannot."}, {"name": "c", "note": "It cannot."}]}`:          "it has scenarios that are not in the list",
		`{"scenarios": [` + a + `, {"name": "b", "notes": "It cannot."}]}`:                                              "notes",
	} {
		testkit.Write(t, path, in)
		_, err := LoadSuite(t.Context(), path, list)
		refused(t, err, path, why)
	}
}

func TestOwnList(t *testing.T) {
	own, err := BuiltinList()
	if err != nil {
		t.Fatal(err)
	}
	anywhere, needed := own.ForAnyAgent(), 0
	for _, s := range anywhere {
		if s.Path != "" || !s.AnyAgent {
			t.Errorf("%s is posted to %q", s.Name, s.Path)
		}
		if s.Needed {
			needed++
		}
	}
	if needed == 0 || len(anywhere) == len(own.Scenarios) {
		t.Errorf("%d of %d scenarios are for any agent, %d of them needed", len(anywhere), len(own.Scenarios), needed)
	}
}

func TestNeeded(t *testing.T) {
	for _, test := range []struct{ list, want string }{
		{"a b c", "a b c"},
		{"a b! c!", "b c"},
	} {
		var l List
		for name := range strings.FieldsSeq(test.list) {
			plain, needed := strings.CutSuffix(name, "!")
			l.Scenarios = append(l.Scenarios, Scenario{Name: plain, Needed: needed})
		}
		if got := strings.Join(l.Needed(), " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.list, got, test.want)
		}
	}
}

// Opening a file that blocks, such as a named pipe, can be interrupted.
func TestLoadInterrupted(t *testing.T) {
	why := errors.New("interrupted by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	path := filepath.Join(t.TempDir(), ScenariosName)
	testkit.Write(t, path, twoScenarios)
	if _, err := LoadList(ctx, path); !errors.Is(err, why) {
		t.Errorf("a list: %v", err)
	}
	if _, err := LoadSuite(ctx, path, &List{}); !errors.Is(err, why) {
		t.Errorf("a suite: %v", err)
	}
	if _, err := LoadHarness(ctx, "../harness/adk"); !errors.Is(err, why) {
		t.Errorf("a harness: %v", err)
	}
}
