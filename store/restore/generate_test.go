package restore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
)

// shape says what a generated thread is like.
type shape struct {
	runs   int
	inputs string // none, full, or mixed with runs without a request and requests that cannot be read
	open   int    // the maximum number of runs that are open at the same time
	broken bool   // there are unknown parents, repeated ids, events that cannot be read, and runs without end
	points bool   // note what to expect at every position
}

// thread is a generated thread, with what a client that follows each branch has. It was
// computed event by event, and does not depend on package restore.
type thread struct {
	shape
	rand    *rand.Rand
	entries []store.Entry
	runs    []*run
	points  []point // at each position
	serial  int
}

// run is a run of a generated thread.
type run struct {
	id, parentID, stream string
	parent               *run
	input                string // the request as it was sent
	inputAt, start       int64
	closed               bool   // its stream has no further run
	todo                 []step // that were not sent yet
	reducer              *reduce.Reducer
	end                  point // after its last event
}

// step is an entry to append.
type step struct {
	kind store.Kind
	data string
	make func(r *run) string // used if it is set
}

// point is what a client has at a position.
type point struct {
	run             *run
	messages, state string
	known           bool
	calls           int
}

// generate returns a thread. The same seed gives the same thread.
func generate(s shape, seed uint64) *thread {
	t := &thread{shape: s, rand: rand.New(rand.NewPCG(seed, 1))}
	var open []*run
	for len(open) > 0 || len(t.runs) < s.runs {
		if len(t.runs) < s.runs && (len(open) == 0 || len(open) < s.open && t.chance(0.2)) {
			open = append(open, t.begin())
			continue
		}
		i := t.rand.IntN(len(open))
		if r := open[i]; len(r.todo) > 0 {
			e := r.todo[0]
			r.todo = r.todo[1:]
			t.send(r, e)
		} else {
			open = slices.Delete(open, i, i+1)
			r.end, r.reducer = r.now(), nil
		}
	}
	return t
}

func (t *thread) chance(p float64) bool { return t.rand.Float64() < p }

// name returns a new id.
func (t *thread) name(prefix string) string {
	t.serial++
	return fmt.Sprintf("%s%d", prefix, t.serial)
}

// begin sends the request and the RUN_STARTED of a new run.
func (t *thread) begin() *run {
	r := &run{id: t.name("r"), stream: t.name("s"), reducer: reduce.New(reduce.Options{})}
	n := len(t.runs)
	if n > 0 {
		r.parent = t.runs[n-1]
		if t.chance(0.4) {
			r.parent = t.runs[max(0, n-1-t.rand.IntN(1+t.rand.IntN(n)))]
			r.parentID = r.parent.id
		}
	}
	if t.broken {
		t.spoil(r)
	}
	if again := slices.IndexFunc(t.runs, func(o *run) bool { return o.reducer == nil && !o.closed }); again >= 0 && t.chance(0.1) {
		// Another run of a stream has no request of its own. The stream may have only one.
		r.stream, t.runs[again].closed = t.runs[again].stream, true
	} else if t.inputs == "full" || t.inputs == "mixed" && t.chance(0.7) {
		r.input = t.request(r)
	}
	before := point{messages: "[]"}
	if r.parent != nil {
		before = r.parent.now()
	}
	var state []byte
	if before.known {
		state = []byte(before.state)
	}
	if err := r.reducer.Restore([]byte(before.messages), state); err != nil {
		panic(err)
	}
	if !before.known && before.state != "" && before.state != "{}" {
		// Only a patch makes the state of a Reducer that does not know it.
		apply(r.reducer, `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"","value":`+before.state+`}]}`)
	}
	if r.input != "" {
		t.entries = append(t.entries, store.Entry{Stream: r.stream, Kind: store.Input, Data: []byte(r.input)})
		r.inputAt = int64(len(t.entries))
		switch {
		case !strings.HasPrefix(r.input, "{"):
		case r.parentID == "":
			r.reducer = reduce.New(reduce.Options{})
			r.reducer.Seed([]byte(r.input))
		default:
			r.reducer.Continue([]byte(r.input))
		}
		t.note(r, 0)
	}
	t.runs = append(t.runs, r)
	text := fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"t","runId":%q`, r.id)
	if r.parentID != "" && (!strings.HasPrefix(r.input, "{") || t.chance(0.5)) { // the request has it too
		text += fmt.Sprintf(`,"parentRunId":%q`, r.parentID)
	}
	if r.input == "" && t.chance(0.3) {
		text += fmt.Sprintf(`,"input":{"threadId":"t","runId":%q,"messages":[%s]}`, r.id, userMessage(t.name("u")))
	}
	t.send(r, step{store.Event, text + "}", nil})
	r.start = int64(len(t.entries))
	r.todo = t.events(r)
	return r
}

// spoil makes the ids of a run unusual.
func (t *thread) spoil(r *run) {
	switch n := len(t.runs); {
	case n == 0 || t.chance(0.7):
	case t.chance(0.3):
		r.parentID, r.parent = "gone", nil
	case t.chance(0.3):
		r.id = ""
	case t.chance(0.5):
		r.id = t.runs[t.rand.IntN(n)].id
	default:
		r.parentID, r.parent = t.name("later"), nil
	}
	if r.parentID != "" && r.parent != nil {
		for _, o := range t.runs { // the last one counts
			if o.id == r.parentID {
				r.parent = o
			}
		}
	}
	if r.parent != nil && r.parent.id == "" && r.parentID == "" {
		r.parent = t.runs[len(t.runs)-1]
	}
}

// request returns the request of a client that has the conversation of the parent.
func (t *thread) request(r *run) string {
	if t.broken && t.chance(0.1) {
		return "no request"
	}
	var list []string
	state := ""
	if r.parent != nil {
		p := r.parent.now()
		if p.messages != "[]" {
			list = append(list, p.messages[1:len(p.messages)-1])
		}
		if p.known {
			state = `,"state":` + p.state
		}
	}
	list = append(list, userMessage(t.name("u")))
	parent := ""
	if r.parentID != "" {
		parent = fmt.Sprintf(`,"parentRunId":%q`, r.parentID)
	}
	return fmt.Sprintf(`{"threadId":"t","runId":%q%s, "messages": [%s]%s,"tools":[],"forwardedProps":{}}`, r.id, parent, strings.Join(list, ", "), state)
}

func userMessage(id string) string {
	return fmt.Sprintf(`{"id":%q,"role":"user","content":"Question %s"}`, id, id)
}

// send appends an event of a run to the thread.
func (t *thread) send(r *run, e step) {
	if e.make != nil {
		e.data = e.make(r)
	}
	t.entries = append(t.entries, store.Entry{Stream: r.stream, Kind: e.kind, Data: []byte(e.data)})
	if e.kind != store.End {
		apply(r.reducer, e.data)
	}
	t.note(r, len(r.reducer.PendingToolCalls()))
}

func apply(r *reduce.Reducer, text string) {
	if e, err := envelope.ReadEvent([]byte(text)); err == nil {
		r.Event(e)
	}
}

// note notes what a client of a run has, and how many calls wait for a result.
func (t *thread) note(r *run, calls int) {
	if t.shape.points {
		p := r.now()
		p.calls = calls
		t.points = append(t.points, p)
	}
}

// now returns what a client of the run has.
func (r *run) now() point {
	if r.reducer == nil {
		return r.end
	}
	return point{r, string(r.reducer.AppendMessages(nil)), string(r.reducer.AppendState(nil)), r.reducer.HasState(), len(r.reducer.PendingToolCalls())}
}
