package assay

import (
	"bytes"
	"os"
	"testing"

	"github.com/p20export/p20export/artifact"
)

// sampleRun is the run of the sample event of testdata.
func sampleRun() Run {
	return Run{ID: "import-ag-ui-valid.ag-ui", Time: "2026-04-14T20:10:00Z", Producer: SampleProducer()}
}

// decoded returns an artifact from testdata.
func decoded(t testing.TB, name string) *artifact.Artifact {
	t.Helper()
	a, found := artifact.Decode(read(t, name), artifact.Assay)
	if a == nil {
		t.Fatalf("%s: %v", name, found)
	}
	return a
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sequence returns events that can be iterated several times.
func sequence(events ...Event) Events {
	return func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// bundled returns a bundle of the events.
func bundled(t testing.TB, run Run, events ...Event) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := WriteBundle(&b, run, sequence(events...)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
