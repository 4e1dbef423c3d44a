package servetest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
)

// A script is what the agent answers to a request for a run.
type script struct {
	runID   string
	body    []byte // of the request
	media   string
	events  []string // the data of each event
	writes  []write
	whole   int // the number of events that are sent completely
	aborted bool
	readers []*reader // who post the request

	// These belong to the lock of the trial.
	requests, sent int
}

// A write is one write to the connection.
type write struct {
	text   string
	events int // that are complete after it
	// gate, if not nil, is what the agent waits for after the write.
	gate *gate
}

// A gate waits until a reader has what was written. If drop is set, the reader must also
// leave and join again.
type gate struct {
	reader int
	drop   bool
}

// newScript returns a script. Its first event is RUN_STARTED, because a run without it may
// be tried again. If it has subagents, no two messages have the same id at any time.
func newScript(r *rand.Rand, thread, runID, parent string, without judge.Feature) *script {
	s := &script{runID: runID, body: request(thread, runID, parent, fmt.Sprint("Hello ", r.IntN(100), "."))}
	for len(s.events) == 0 || !strings.HasPrefix(s.events[0], `{"type":"RUN_STARTED"`) || without&judge.Subagents == 0 && repeats(s.events) {
		g := judge.Generator{Without: without}
		if r.IntN(4) == 0 {
			g.Without |= judge.Feature(r.Uint64()) & (judge.UnknownTypes - 1)
		}
		if r.IntN(5) == 0 {
			g.Events = 200
		}
		s.events = judge.Generate(r, g)
	}
	ids := regexp.MustCompile(`"(threadId|runId|parentRunId)":"(t|run\d+)"`)
	for i, e := range s.events {
		s.events[i] = ids.ReplaceAllStringFunc(e, func(found string) string {
			part := ids.FindStringSubmatch(found)
			switch {
			case part[1] == "threadId":
				return fmt.Sprintf("%q:%q", part[1], thread)
			case part[2] == "run1":
				return fmt.Sprintf("%q:%q", part[1], runID)
			default:
				return fmt.Sprintf("%q:%q", part[1], runID+"-"+part[2])
			}
		})
	}
	s.frame(r)
	return s
}

// repeats reports whether a client has two messages with the same id after some event. They can
// belong to different subagents, but events only name the id.
func repeats(events []string) bool {
	reducer := reduce.New(reduce.Options{Dialect: reduce.Client})
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			return false // the trial will fail with it
		}
		reducer.Event(e)
		if reducer.Changes().Repeated {
			return true
		}
	}
	return false
}

// frame writes the events in a form that agents use, and cuts the text into writes.
func (s *script) frame(r *rand.Rand) {
	var text strings.Builder
	var ends []int // of the frames
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	s.media = "text/event-stream"
	if r.IntN(8) == 0 {
		s.media = "application/x-ndjson"
	}
	odd := r.IntN(4) == 0
	for i, e := range s.events {
		if s.media == "application/x-ndjson" {
			text.WriteString(e + end)
			ends = append(ends, text.Len())
			continue
		}
		if odd && r.IntN(3) == 0 {
			text.WriteString([]string{": comment" + end + end, "event: message" + end, "id: " + fmt.Sprint(r.IntN(9)) + end, "retry: 5" + end}[r.IntN(4)])
		}
		if odd && r.IntN(3) == 0 {
			e = "{\n" + strings.TrimPrefix(e, "{")
			s.events[i] = e
		}
		for line := range strings.SplitSeq(e, "\n") {
			text.WriteString("data: " + line + end)
		}
		text.WriteString(end)
		ends = append(ends, text.Len())
	}
	s.whole, s.aborted = len(ends), r.IntN(8) == 0
	all := text.String()
	if s.aborted {
		s.whole = 1 + r.IntN(len(ends))
		all = all[:ends[s.whole-1]]
	}
	size := []int{20, 200, 1000, len(all)}[r.IntN(4)]
	for from := 0; from < len(all); {
		to := min(len(all), from+1+r.IntN(2*size))
		w := write{text: all[from:to]}
		for w.events < s.whole && ends[w.events] <= to {
			w.events++
		}
		if r.IntN(6) == 0 {
			w.gate = &gate{r.IntN(100), r.IntN(2) == 0}
		}
		s.writes = append(s.writes, w)
		from = to
	}
}
