package envelope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

func listed(f *envelope.Counts) (out []string) {
	for name, n := range f.All {
		out = append(out, fmt.Sprintf("%s=%d", name, n))
	}
	return out
}

func TestFamiliesOrder(t *testing.T) {
	var f envelope.Counts
	if f.Len() != 0 || f.Count("a") != 0 || listed(&f) != nil {
		t.Error("the zero value is not empty")
	}
	for _, name := range strings.Fields("b a b c a b") {
		f.Add(name)
	}
	if diff := cmp.Diff([]string{"b=3", "a=2", "c=1"}, listed(&f)); diff != "" {
		t.Error(diff)
	}
	if f.Len() != 3 || f.Count("b") != 3 || f.Count("z") != 0 || f.Uncounted() != 0 {
		t.Errorf("%d names", f.Len())
	}
	for name := range f.All {
		if name != "b" {
			t.Error("All continues after false")
		}
		break
	}
}

// Names past the limits are not counted. Names that were counted before still are.
func TestFamiliesCaps(t *testing.T) {
	var f envelope.Counts
	for i := range 600 {
		f.Add(fmt.Sprint(i))
	}
	f.Add("511")
	f.Add("512")
	if f.Len() != 512 || f.Uncounted() != 89 || f.Count("511") != 2 || f.Count("512") != 0 {
		t.Errorf("%d names, %d uncounted", f.Len(), f.Uncounted())
	}
	for range 3 {
		f.Add(envelope.MessagesSnapshot) // an AG-UI type
	}
	if f.Len() != 513 || f.Uncounted() != 89 || f.Count(envelope.MessagesSnapshot) != 3 {
		t.Errorf("%d names, %d uncounted, %d snapshots", f.Len(), f.Uncounted(), f.Count(envelope.MessagesSnapshot))
	}
	var long envelope.Counts
	long.Add(strings.Repeat("x", 128))
	long.Add(strings.Repeat("x", 129))
	if long.Len() != 1 || long.Uncounted() != 1 {
		t.Errorf("%d names, %d uncounted", long.Len(), long.Uncounted())
	}
}

// A finding reports events that are not counted by type.
func TestFamiliesUncounted(t *testing.T) {
	r := &recorder{}
	source := &repeat{first: started, again: func(i int) string { return fmt.Sprintf(`{"type":"T%d"}`, i) }, n: 600, last: finished}
	if _, err := envelope.Scan(source, r); err != nil {
		t.Fatal(err)
	}
	run := r.runs[0]
	// RUN_FINISHED is counted in addition to the 512.
	if run.Families.Len() != 513 || run.Families.Uncounted() != 602-513 {
		t.Errorf("%d names, %d uncounted", run.Families.Len(), run.Families.Uncounted())
	}
	if len(run.Findings) != 1 || run.Findings[0].Code != finding.FamiliesUncounted || !strings.HasPrefix(run.Findings[0].Message, "89 ") {
		t.Errorf("%v", run.Findings)
	}
	if finding.Failed(run.Findings) {
		t.Error("it refuses the run")
	}
}

func TestFamiliesJSON(t *testing.T) {
	var f envelope.Counts
	for _, name := range []string{"RUN_STARTED", "", "a\"\\\n\u0000é", "RUN_STARTED", "<&>"} {
		f.Add(name)
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"RUN_STARTED":2,"":1,"a\"\\\n\u0000é":1,"<&>":1}`; string(data) != want {
		t.Errorf("%s", data)
	}
	var back envelope.Counts
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listed(&f), listed(&back)); diff != "" {
		t.Error(diff)
	}
	again, _ := json.Marshal(&back)
	if string(again) != string(data) {
		t.Errorf("%s", again)
	}
	var empty envelope.Counts
	if data, err = json.Marshal(empty); err != nil || string(data) != "{}" {
		t.Errorf("%s %v", data, err)
	}
	back.Add("x")
	if err := json.Unmarshal([]byte("{}"), &back); err != nil || back.Len() != 0 {
		t.Error("reading keeps what was there")
	}
	for _, bad := range []string{`[]`, `null`, `1`, `{"a":"1"}`, `{"a":null}`, `{"a":1.5}`, `{"a":-1}`, `{"a":0}`, `{"a":1e3}`, `{"a":{}}`, `{"a":99999999999999999999}`, `{"a":1,"a":2}`, `{"a":1`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was read: %v", bad, listed(&back))
		}
	}
}
