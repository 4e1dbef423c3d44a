package lint

import (
	"strconv"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project/lint/producer"
	"github.com/p20export/p20export/project/lint/transport"
	"github.com/p20export/p20export/project/scan"
)

// A Linter is a scan.FrameConsumer that checks the events of one capture.
type Linter struct {
	protocol event.Protocol // of the current run
	auto     bool           // RUN_STARTED chooses the protocol
	policy   *Policy
	checker  *sequence.Checker
	// producer, features, capture and live are nil if only the rules of AG-UI are checked.
	producer *producer.Checker
	features *features
	capture  *capture.Capture
	live     *Live

	found    finding.List
	list     []finding.Finding
	counts   counts
	breaches int
	refused  int  // the index of the first event that the client refuses, or -1
	client   bool // the client refuses an event
	failed   bool // there is a RUN_ERROR, which needs no run
	last     envelope.Ref
	first    envelope.Ref // the first event with an error
	notes    map[noteKey]*note
	declared []Declaration
	times    span
}

// New returns a Linter that checks events under a protocol, by the rules of AG-UI alone. The
// form of events is checked except under event.V0.
func New(p event.Protocol) *Linter {
	l := &Linter{protocol: p, refused: -1, checker: sequence.New(sequence.Options{Protocol: p})}
	if p == event.Auto {
		l.protocol, l.auto = event.Current, true
	}
	return l
}

// newFull returns a Linter that checks a capture by all rules.
func newFull(c *capture.Capture, o Options, request []byte) *Linter {
	l := New(o.Protocol)
	l.policy, l.capture, l.live, l.features = o.Policy, c, o.Live, new(features)
	l.found.GravestFirst = true
	l.producer = producer.New(l.noteProducer)
	if request == nil {
		return l
	}
	l.producer.Seed(request)
	var object strictjson.Object
	if v, err := strictjson.ReadText(&object, new(strictjson.Decoder), request); err == nil && v.Kind == envelope.ObjectValue {
		l.features.request(&object)
	}
	return l
}

// noteProducer notes a finding about the producer.
func (l *Linter) noteProducer(kind string, f finding.Finding) {
	if f.Rule == "W13" && l.protocol != event.V0 { // G32 and G35 report it
		return
	}
	index := -1
	if f.EventIndex != nil {
		index = *f.EventIndex
	}
	l.note(noteKey{nameOf(f), kind}, index, func() finding.Finding { return f })
}

// Findings returns the sorted findings. It must be called after Finish.
func (l *Linter) Findings() []finding.Finding { return l.list }

// Breaches returns the number of errors about events, including those that Findings does
// not list.
func (l *Linter) Breaches() int { return l.breaches }

// Failed reports whether a finding is an error.
func (l *Linter) Failed() bool { return l.found.Failed() }

// Begin implements scan.Consumer.
func (l *Linter) Begin(*envelope.Run) scan.Observer { return nil }

// Frame implements scan.FrameConsumer.
func (l *Linter) Frame(_ *envelope.Run, f *capture.Frame, e *envelope.Event) {
	l.last = envelope.Ref{Index: f.Index, Offset: f.Offset, Bytes: f.Bytes, Line: f.Line}
	if e == nil {
		l.checker.Skip()
		if l.producer != nil {
			l.producer.Skip()
		}
		_, err := envelope.ReadFrame(f)
		fault, _ := finding.FromError(err)
		l.addJudged(judged{fault, true, true})
		return
	}
	l.failed = l.failed || e.Type == envelope.RunError
	if e.Type == envelope.RunStarted {
		l.declare(e)
	}
	for _, j := range l.judge(e) {
		l.addJudged(j)
	}
	if l.producer != nil {
		l.producer.Event(e)
		l.features.event(e)
		l.times.add(e)
	}
}

// Finish implements scan.Consumer.
func (l *Linter) Finish(r scan.Result) error {
	response := l.response(r)
	for _, f := range r.Findings {
		if l.capture != nil {
			f = transport.Classify(f, response)
		}
		switch {
		case f.Code == finding.FramesBeforeRun: // each of them was checked
		case f.Code == finding.NoRun && l.failed:
			l.finally(f.WithSeverity(finding.Info).WithHint(""))
		case f.Code == finding.NoRun && l.breaches > 0: // list it after the breach of G1
			l.finally(l.first.Annotate(f))
		default:
			l.finally(f)
		}
	}
	if l.producer != nil && !cutByReader(r.Manifest) {
		l.producer.End(l.last)
	}
	l.addNotes()
	for _, f := range l.checker.Truncated() {
		source, ok := finding.SourceOf(f.Rule)
		l.addJudged(judged{f, true, !ok || source.Enforced(l.protocol.Client())})
	}
	if !l.checker.End() && l.checker.Protocol() != event.Draft {
		l.finally(l.last.Annotate(finding.New(finding.RunNotTerminated, "the capture ends in a run without RUN_FINISHED or RUN_ERROR, which the client accepts").WithSeverity(finding.Info).WithHint("")))
	}
	if l.capture != nil {
		for _, f := range transport.Check(response) {
			l.finally(f)
		}
		l.checkRequired()
	}
	l.list = l.found.Findings()
	return nil
}

// cutByReader reports whether the program that recorded a response stopped before its end.
// Then it is not the producer that left open what is open.
func cutByReader(m *capture.Manifest) bool {
	return m != nil && (m.End == capture.EndCancelled || m.End == capture.EndLimit || m.End == capture.EndStorage)
}

// finally adds a finding about the whole capture.
func (l *Linter) finally(f finding.Finding) {
	if f, reported := l.policy.apply(f); reported {
		l.counts.add(f, 1)
		l.found.Add(f)
	}
}

// checkRequired reports the features that the policy requires and the stream lacks.
func (l *Linter) checkRequired() {
	if l.policy == nil {
		return
	}
	for _, name := range l.policy.Require {
		if !l.features.seen[name] {
			l.finally(finding.New(finding.FeatureMissing, "the stream does not exercise the feature %s", name))
		}
	}
}

// response returns what is known of the transport of the response.
func (l *Linter) response(r scan.Result) transport.Response {
	if l.capture == nil {
		return transport.Response{}
	}
	response := transport.Response{Manifest: r.Manifest, Framing: r.Framing, Events: r.Events, Span: l.times.span()}
	if a, ok := l.capture.Arrivals(); ok {
		response.Arrivals = &a
	}
	response.Head, _ = l.capture.Head()
	if l.live != nil {
		response.CORS = l.live.CORS
	}
	return response
}

// span has the least and the greatest timestamp of a stream, in milliseconds.
type span struct {
	least, most int64
	known       bool
}

// maxTimestamp bounds the timestamps that are used, so that differences do not overflow.
const maxTimestamp = 1 << 53

func (s *span) add(e *envelope.Event) {
	v, _ := e.Get("timestamp")
	if v.Kind != envelope.NumberValue {
		return
	}
	ms, err := strconv.ParseInt(string(v.Raw), 10, 64)
	if err != nil || ms < -maxTimestamp || ms > maxTimestamp {
		return
	}
	if !s.known {
		s.least, s.most, s.known = ms, ms, true
	}
	s.least, s.most = min(s.least, ms), max(s.most, ms)
}

// span returns the difference, at most a day: a stream of more has another unit, or wrong
// times.
func (s *span) span() time.Duration {
	const most = 24 * 60 * 60 * 1000
	if s.most-s.least > most {
		return 0
	}
	return time.Duration(s.most-s.least) * time.Millisecond
}
