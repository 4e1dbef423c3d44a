package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/project"
)

// A stream is a generated capture and its kinds.
type stream struct {
	captured
	target project.Name // the projection that should freeze most of its runs
	kinds  map[kind]bool
}

// A kind is a property of a stream.
type kind string

// kinds lists the kinds that the generator makes.
var kinds = []kind{
	"lines that end with LF",
	"lines that end with CR",
	"lines that end with CRLF",
	"lines that end in different ways",
	"comments and other fields",
	"an event over several data lines",
	"no space behind data:",
	"an event with empty data",
	"an incomplete last event",
	"a byte order mark",
	"JSON lines that end with LF",
	"JSON lines that end with CRLF",
	"blank JSON lines",
	"an array with white space",
	"a broken array",
	"several runs",
	"events before the first run",
	"times of arrival",
	"no times of arrival",
	"times of an operator",
	"the assay profile",
	"damaged bytes",
	"events out of order",
	"events left out or repeated",
	"no request",
	"an empty request",
	"the request of another run",
	"a request that cannot be read",
	"its request",
	"its input in RUN_STARTED",
	"another run's input in RUN_STARTED",
	"no object as input in RUN_STARTED",
	"a parent run",
	"an odd parent run",
	"a reference that may break a rule",
	"an odd timestamp",
	"an odd terminal event",
	"events after the terminal event",
	"no terminal event",
	"two terminal events",
	"a terminal event of another run",
	"a terminal event of another thread",
	"text events",
	"chunks that all have ids",
	"chunks without ids",
	"chunks some of which have ids",
	"interleaved messages",
	"a message begun again",
	"a subagent",
	"streamed roles",
	"a surrogate pair over two deltas",
	"tool calls",
	"events of other families",
	"rawEvent",
	"types that AG-UI does not have",
	"deep values",
	"escaped keys",
	"half of a pair in a key",
	"a key twice",
	"invalid UTF-8",
	"no snapshot",
	"one snapshot",
	"several snapshots",
	"an early snapshot",
	"a snapshot that bears the mark of a built one",
	"a whole snapshot",
	"a snapshot of the request alone",
	"a snapshot that lacks messages",
	"a snapshot that joins messages",
	"a snapshot that divides messages",
	"a snapshot in another order",
	"a snapshot with other white space",
	"a snapshot that repeats messages",
	"messages outside the text subset",
	"content in parts",
	"ids twice",
	"a failed run",
	"a stack trace",
	"a stack trace with line ends spelled out",
	"an error text about as long as its limit",
	"control characters in an error text",
	"about as many messages as the limit",
	"content about as long as the limit",
	"more omissions than are listed",
	"more types than are counted",
	"more faults than are listed",
	"an artifact about as large as the limit",
}

// streams generates the parts of a stream.
type streams struct {
	generator
	target project.Name
	odd    float64 // the probability that a part breaks a rule
	rich   float64 // the probability that a part is outside the text subset
	kinds  map[kind]bool

	requested []message // the messages of the request
	streamed  []message // the streamed messages
	ids       int       // the number of ids used so far
	snapshots int       // the largest number of snapshots of a run
	started   time.Time
}

// newStream generates stream i of a seed.
func newStream(seed uint64, i int) *stream {
	g := &streams{generator: generator{rand.New(rand.NewPCG(seed, uint64(i)))}, kinds: make(map[kind]bool)}
	g.target = pick(g.generator, project.Names())
	g.odd = [...]float64{0, 0, 0, 0, 0, 0.005, 0.02, 0.1}[g.IntN(8)]
	if g.target != project.EmittedSnapshot {
		g.rich = [...]float64{0, 0.05, 0.3}[g.IntN(3)]
	}
	g.started = time.Date(2026, 3, 1+g.IntN(28), g.IntN(24), g.IntN(60), g.IntN(60), 1000*g.IntN(1_000_000), time.UTC)
	s := &stream{target: g.target, kinds: g.kinds}
	s.started = g.started
	s.framing = pick(g.generator, []capture.Framing{capture.SSE, capture.SSE, capture.SSE, capture.NDJSON, capture.JSON})

	var events []string
	runs := 1
	if g.chance(0.1) {
		runs += 1 + g.IntN(2)
		g.record("several runs")
	}
	for run := range runs {
		made, request := g.run(run)
		events = append(events, made...)
		if run == 0 {
			s.request = request
		}
	}
	if g.chance(0.04) {
		events = slices.Insert(events, 0, g.other(), g.junk())
		g.record("events before the first run")
	}
	s.response = g.encode(s.framing, g.disorder(events))
	if g.chance(g.odd) || g.chance(0.03) {
		s.response = g.damage(s.response)
		g.record("damaged bytes")
	}
	if g.chance(0.6) && len(s.response) > 0 {
		s.arrivals = g.arrivals(len(s.response))
		g.record("times of arrival")
	} else {
		g.record("no times of arrival")
	}
	s.settings = g.settings()
	return s
}

// record records that the stream has a kind.
func (g *streams) record(k kind) { g.kinds[k] = true }

// settings returns the settings to project the stream with.
func (g *streams) settings() []project.Settings {
	profile, times := artifact.V1, project.OperatorTimes{}
	if g.chance(0.25) {
		profile = artifact.Assay
		g.record("the assay profile")
	}
	if g.chance(0.15) {
		times.StartedAt = artifact.FormatTime(g.started.Add(time.Duration(g.IntN(1e9)) * time.Microsecond))
		if g.chance(0.6) {
			times.FinishedAt = artifact.FormatTime(g.started.Add(time.Hour))
		}
		g.record("times of an operator")
	}
	all := settings(profile, times, g.snapshots)
	if g.chance(0.02) {
		all = append(all, project.Settings{Projection: project.EmittedSnapshotText, Version: project.EmittedSnapshotText.Version(), Snapshot: project.Selection(fmt.Sprint(g.snapshots + 1)), Profile: profile, Operator: times})
	}
	return all
}

// keys are some keys of events.
var keys = []string{`"type"`, `"messageId"`, `"role"`, `"delta"`, `"threadId"`, `"runId"`, `"messages"`, `"content"`, `"id"`, `"name"`, `"timestamp"`, `"message"`, `"code"`}

// disorder drops, repeats, renames and swaps some parts of events.
func (g *streams) disorder(events []string) []string {
	if g.chance(g.odd*2) && len(events) > 1 {
		i, j := g.IntN(len(events)), g.IntN(len(events))
		events[i], events[j] = events[j], events[i]
		g.record("events out of order")
	}
	for g.chance(g.odd) {
		i := g.IntN(len(events))
		switch g.IntN(4) {
		case 0:
			events = slices.Delete(events, i, i+1)
			if len(events) == 0 {
				return events
			}
		case 1:
			events = slices.Insert(events, i, events[i])
		case 2:
			events = slices.Insert(events, i, g.junk())
		case 3:
			events[i] = strings.Replace(events[i], pick(g.generator, keys), pick(g.generator, keys), 1)
		}
		g.record("events left out or repeated")
	}
	return events
}

// junk returns an event that no rule accepts or uses.
func (g *streams) junk() string {
	return pick(g.generator, []string{
		"1", "[]", `"RUN_STARTED"`, "null", "{}", `{"type":null}`, `{"type":""}`, `{"type":7}`, `{"type":"\ud800"}`, `{"type":"META","x":1e400}`, `{"type":"RAW"} {}`,
		`{"type":"RAW",}`, `{"type":"RAW","a":1,"\u0061":2}`, "{\"type\":\"RAW\",\"x\":\"\xff\"}", "{\"type\":\"RAW\",\"x\":\"\xed\xa0\x80\"}", "{\"type\":\"RAW\",\"x\":\"\t\"}",
		`{"type":"RAW","x":` + nested(pick(g.generator, []int{509, 510, 511, 512, 513})) + "}", "{'type':'RAW'}", "[DONE]", "tru", `{"type":"RAW","x":01}`, `{"type":"RAW","x":"\u12"}`,
	})
}

// nested returns a value of a depth.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
