package serve

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// The description of the HTTP interface has the routes of the Server and their methods, and
// no others.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(testkit.Read(t, "../docs/serve.openapi.json"), &description); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for path, operations := range description.Paths {
		got[path] = slices.Sorted(maps.Keys(operations))
	}
	ids := map[string]string{"agents": "agent", "threads": "thread", "streams": "thread", "entries": "position", "messages": "index"} // by the segment before
	want := map[string][]string{}
	for _, r := range (&Server{settings: Settings{AllowAppend: true}}).allRoutes() {
		path, before := "", ""
		for _, segment := range r.path {
			if segment == "" {
				segment = "{" + cmp.Or(ids[before], "run") + "}"
			}
			path, before = path+"/"+segment, segment
		}
		if r.get != nil {
			want[path] = append(want[path], "get")
		}
		if r.post != nil {
			want[path] = append(want[path], "post")
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-routes +description:\n%s", diff)
	}
}
