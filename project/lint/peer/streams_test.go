//go:build peer

package peer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/lint/peer"
)

// A stream is what both checkers judge.
type stream struct {
	kind, name string
	path       string // of the capture
	peer.Stream
	events  []string
	request string
}

// captures returns all committed captures.
func captures(t *testing.T) (all []stream) {
	root := "../../../discovery"
	found, err := capture.Find(context.Background(), []string{filepath.Join(root, "captures"), filepath.Join(root, "drift/captures")})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		all = append(all, captured(t, f.Path))
	}
	if len(all) < 280 {
		t.Fatalf("only %d captures were found", len(all))
	}
	return all
}

// captured reads a capture with the times of its network reads.
func captured(t *testing.T, path string) stream {
	c, err := capture.Open(context.Background(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := stream{kind: "captures", name: path, path: path}
	for {
		f, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		s.events = append(s.events, string(f.Data))
	}
	request, err := c.Request()
	if err != nil {
		t.Fatal(err)
	}
	s.request = string(request)
	m := c.Manifest()
	s.Body = testkit.Read(t, filepath.Join(path, m.Framing.FileName()))
	s.Status, s.Type, s.Cut = m.Source.Status, m.Source.ContentType, m.End != capture.EndEOF
	if m.Source.Headers["content-encoding"] != "" {
		t.Fatalf("%s is compressed", path)
	}
	for line := range strings.Lines(string(testkit.Read(t, filepath.Join(path, capture.ArrivalsName)))) {
		n, micros, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		s.Reads = append(s.Reads, [2]float64{number(t, n), number(t, micros) / 1000})
	}
	return s
}

func number(t *testing.T, s string) float64 {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return float64(n)
}

// written returns a stream of a file with one event a line.
func written(t *testing.T, kind, name string, events []string) stream {
	s := stream{kind: kind, name: name, path: filepath.Join(t.TempDir(), "stream.ndjson"), events: events}
	s.Body = []byte(strings.Join(events, "\n") + "\n")
	testkit.Write(t, s.path, s.Body)
	return s
}

// vectors returns the streams of the vectors of docs/sequence.md and of the bounded
// envelopes of docs/contract.md.
func vectors(t *testing.T) (all []stream) {
	files, err := filepath.Glob("../../../envelope/sequence/testdata/vectors/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var list []struct {
			Name   string
			Events []json.RawMessage
		}
		decode(t, file, &list)
		for _, v := range list {
			var events []string
			for _, e := range v.Events {
				events = append(events, compact(t, e))
			}
			all = append(all, written(t, "vectors", filepath.Base(file)+": "+v.Name, events))
		}
	}
	if files, err = filepath.Glob("../../../schema/vectors/cases/*/*.json"); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var v struct {
			Name, Kind string
			Input      struct{ Text *string }
		}
		decode(t, file, &v)
		if v.Kind == "envelope" && v.Input.Text != nil && strings.HasSuffix(*v.Input.Text, "\n") {
			all = append(all, written(t, "vectors", v.Name, strings.Split(strings.TrimSuffix(*v.Input.Text, "\n"), "\n")))
		}
	}
	if len(all) < 300 {
		t.Fatalf("only %d vectors were found", len(all))
	}
	return all
}

func decode(t *testing.T, file string, into any) {
	if err := json.Unmarshal(testkit.Read(t, file), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func compact(t *testing.T, text []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// maxMutated is the size of the largest capture that is changed, in bytes.
const maxMutated = 64 << 10

// mutants returns n changed streams: every other is of a capture, the others are generated.
func mutants(t *testing.T, captures []stream, n int) (all []stream) {
	var bases [][]string
	for _, s := range captures {
		if len(s.Body) <= maxMutated && len(s.events) > 2 {
			bases = append(bases, s.events)
		}
	}
	if len(bases) < 200 {
		t.Fatalf("only %d captures can be changed", len(bases))
	}
	for i := 0; len(all) < n; i++ {
		r := rand.New(rand.NewPCG(58, uint64(i)))
		var events []string
		if i%2 == 0 {
			events = mutate(r, bases[r.IntN(len(bases))])
		} else {
			events = judge.Generate(r, judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.Legacy})
			if i%4 == 1 {
				events = judge.Damage(r, events)
			} else {
				events = mutate(r, events)
			}
		}
		if len(events) > 0 {
			all = append(all, written(t, "mutants", fmt.Sprintf("mutant %d", i), events))
		}
	}
	return all
}

// keep writes a stream to a file for people, if P20EXPORT_KEEP names a directory.
func keep(t *testing.T, s stream) string {
	dir := os.Getenv("P20EXPORT_KEEP")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(s.name)+".ndjson")
	testkit.Write(t, path, s.Body)
	return path
}
