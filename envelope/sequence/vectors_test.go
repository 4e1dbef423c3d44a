package sequence_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
)

// vector is a stream with its expected breaches (docs/sequence.md, section 16).
type vector struct {
	File      string `json:"-"`
	Name      string
	Protocols []event.Protocol
	Events    []json.RawMessage
	Breaches  []breach
}

// breach is an expected breach of a rule by an event.
type breach struct {
	Event int
	Rule  string
}

// vectors reads all vector files.
func vectors(t testing.TB) (all []vector) {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []vector
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range list {
			later := slices.Contains(v.Protocols, event.V1Minor1) || slices.Contains(v.Protocols, event.Draft)
			if slices.Contains(v.Protocols, event.V1) && !later {
				v.Protocols = append(v.Protocols, event.V1Minor1, event.Draft)
			}
			v.File = strings.TrimSuffix(filepath.Base(file), ".json")
			all = append(all, v)
		}
	}
	if len(all) < 150 {
		t.Fatalf("only %d vectors were found", len(all))
	}
	return all
}

// read returns an event of a stream.
func read(t testing.TB, i int, text string) *envelope.Event {
	t.Helper()
	e, err := envelope.ReadEvent([]byte(text))
	if err != nil {
		t.Fatalf("event %d: %v: %s", i, err, text)
	}
	e.Index = i
	return e
}

// check returns the findings about a stream.
func check(t testing.TB, p event.Protocol, events ...string) (found []finding.Finding) {
	t.Helper()
	c := sequence.New(sequence.Options{Protocol: p})
	for i, text := range events {
		found = append(found, c.Event(read(t, i, text))...)
	}
	return append(found, c.Truncated()...)
}

// breaches formats the events and rules of findings.
func breaches(list []finding.Finding) (texts []string) {
	for _, f := range list {
		if f.Code == finding.ProtocolNewer { // breaks no rule
			continue
		}
		texts = append(texts, fmt.Sprintf("%d %s", *f.EventIndex, f.Rule))
	}
	return texts
}

func (v vector) events() (texts []string) {
	for _, e := range v.Events {
		texts = append(texts, string(e))
	}
	return texts
}

// want returns the expected breaches under a protocol, or of those the ones that its client
// reports.
func (v vector) want(p event.Protocol, client bool) (texts []string) {
	for _, b := range v.Breaches {
		source, ok := finding.SourceOf(b.Rule)
		if slices.Contains(source.Versions, string(p)) && (!client || source.Enforced(p.Client())) || !ok {
			texts = append(texts, fmt.Sprintf("%d %s", b.Event, b.Rule))
		}
	}
	return texts
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		for _, p := range v.Protocols {
			t.Run(fmt.Sprintf("%s/%s/%s", v.File, v.Name, p), func(t *testing.T) {
				found := check(t, p, v.events()...)
				if diff := cmp.Diff(v.want(p, false), breaches(found)); diff != "" {
					t.Errorf("(-want +got):\n%s\n%v", diff, found)
				}
			})
		}
	}
}

// Every rule has accepted and refused streams, for each protocol that has the rule.
func TestVectorsOfEveryRule(t *testing.T) {
	type side struct {
		rule     string
		protocol event.Protocol
		refused  bool
	}
	seen := map[side]bool{}
	names := map[string]bool{}
	for _, v := range vectors(t) {
		if name := v.File + "/" + v.Name; names[name] && len(v.Protocols) == len(event.Protocols()) {
			t.Errorf("two vectors have the name %s", name)
		} else {
			names[name] = true
		}
		if len(v.Protocols) == 0 {
			t.Errorf("%s/%s has no protocol", v.File, v.Name)
		}
		for _, p := range v.Protocols {
			if len(v.want(p, false)) == 0 {
				seen[side{v.File, p, false}] = true
			}
			for _, b := range v.Breaches {
				if source, _ := finding.SourceOf(b.Rule); !slices.Contains(source.Versions, string(p)) {
					continue
				}
				seen[side{b.Rule, p, v.File == b.Rule || seen[side{b.Rule, p, true}]}] = true
			}
		}
	}
	for _, r := range finding.SequenceRules() {
		for _, p := range event.Protocols() {
			if source, _ := finding.SourceOf(r.ID); !slices.Contains(source.Versions, string(p)) {
				if seen[side{r.ID, p, true}] {
					t.Errorf("%s is broken under %s", r.ID, p)
				}
				continue
			}
			for _, refused := range []bool{false, true} {
				if !seen[side{r.ID, p, refused}] {
					t.Errorf("%s has no vector under %s with refused %v", r.ID, p, refused)
				}
			}
		}
	}
	if !slices.ContainsFunc(vectors(t), func(v vector) bool { return v.File == "several" && len(v.Breaches) > 10 }) {
		t.Error("there is no stream with many breaches")
	}
}
