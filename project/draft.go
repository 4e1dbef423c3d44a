package project

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// draft is an artifact under construction.
type draft struct {
	run      *envelope.Run
	request  []byte // nil if there is none
	settings Settings
	// strict means that content outside the subset is refused. Otherwise it is omitted
	// and the omission is recorded.
	strict   bool
	artifact *artifact.Artifact
	resolved Times
	snapshot *envelope.Event // nil for a built snapshot
	sources  []origin        // of each message
	content  contentReader
	// summer, unless it is nil, sums the messages of the snapshot, which are compared with
	// the streamed messages.
	summer     *summer
	normalized []normalizedMessage
	// fromRequest means that the messages of the request were used.
	fromRequest bool
	omitted     omissions
	findings    []finding.Finding
	unlisted    int // findings past maxFindings
	skipped     int // messages not read because the refusal was already settled
	failed      bool
	// tooLarge means that the messages are more than an artifact can contain, and lack
	// their content.
	tooLarge bool
	// onlyStackTrace means that the error message consisted of a stack trace only,
	// which was omitted.
	onlyStackTrace bool
}

// maxFindings is the number of findings of one run that are listed. Further
// findings are only counted.
const maxFindings = 1_000

func (d *draft) report(f finding.Finding) {
	d.failed = d.failed || f.Severity == finding.Error
	if len(d.findings) < maxFindings {
		d.findings = append(d.findings, f)
	} else {
		d.unlisted++
	}
}

func (d *draft) reportAll(list []finding.Finding) {
	for _, f := range list {
		d.report(f)
	}
}

// rejectOrOmit reports content outside the subset as an error if the draft is
// strict. Otherwise it records an omission.
func (d *draft) rejectOrOmit(o origin, code finding.Code, format string, args ...any) {
	if d.strict {
		d.report(o.finding(code, format, args...).WithSeverity(finding.Error))
		return
	}
	d.omitted.add(o.omission(code))
}

// text reads a required string.
func (d *draft) text(o origin, v strictjson.Value) string {
	if v.Kind != strictjson.String {
		d.report(o.finding(finding.WrongType, "%s is %s where a string belongs", o.pointer, v.Kind))
		return ""
	}
	s, valid := v.Text()
	if !valid {
		d.loneSurrogate(o)
	}
	return s
}

// loneSurrogate reports an error for a projected text that contains half of a
// surrogate pair.
func (d *draft) loneSurrogate(o origin) {
	what := string(o.pointer)
	if what == "" {
		what = "the text"
	}
	d.report(o.finding(finding.LoneSurrogate, "%s contains half of a surrogate pair", what))
}

// optional reads an optional string. Null and blank strings are outside the
// subset.
func (d *draft) optional(o origin, v strictjson.Value) string {
	if v.Kind == strictjson.Null {
		d.rejectOrOmit(o, finding.ValueNull, "%s is null", o.pointer)
		return ""
	}
	return d.presentText(o, v)
}

// presentText reads a string of a key that is present. A blank string is outside
// the subset.
func (d *draft) presentText(o origin, v strictjson.Value) string {
	s := d.text(o, v)
	if v.Kind == strictjson.String && artifact.IsBlank(s) {
		d.rejectOrOmit(o, finding.ValueBlank, "%s is blank", o.pointer)
		return ""
	}
	return s
}

// omitOtherKeys records an omission for every member of an event whose key is not
// in taken. Such members never cause a refusal.
func (d *draft) omitOtherKeys(e *envelope.Event, taken ...string) {
	for m := range e.All {
		if m.Name.Is("type") || slices.ContainsFunc(taken, m.Name.Is) || m.Name.Is("timestamp") && d.timed(e) {
			continue
		}
		name, _ := m.Name.Text()
		d.omitted.add(origin{event: e}.name(name).omission(finding.KeyOutsideSubset))
	}
}

// timed reports whether the event's own timestamp is a time label of the
// artifact.
func (d *draft) timed(e *envelope.Event) bool {
	return d.resolved.Source == EventTime && (e == d.run.Started || e == d.run.Terminal && d.resolved.FinishedAt != "")
}

func (d *draft) times() {
	var findings []finding.Finding
	d.resolved, findings = ResolveTimes(d.run, d.settings.Operator)
	d.reportAll(findings)
	if d.resolved.Source == "" {
		d.report(d.run.Started.Finding(finding.StartedAtMissing, "RUN_STARTED has no usable timestamp, and the capture has no arrival times"))
		return
	}
	d.artifact.StartedAt, d.artifact.FinishedAt = d.resolved.StartedAt, d.resolved.FinishedAt
}

// started copies the identifiers of the run (P20 §8.3, "Envelope identity").
func (d *draft) started() {
	e := d.run.Started
	d.artifact.ThreadIDRef, d.artifact.RunIDRef = d.run.ThreadID, d.run.RunID
	if v, ok := e.Get("parentRunId"); ok {
		d.artifact.ParentRunIDRef = d.optional(origin{event: e}.name("parentRunId"), v)
	}
	taken := []string{"threadId", "runId", "parentRunId"}
	if _, ok := d.startedInput(); ok {
		taken = append(taken, "input") // folded records the omissions in it
	}
	d.omitOtherKeys(e, taken...)
}

// otherRun handles a terminal event that names another run. Some integrations end
// each run with an id of their engine. The artifact has the id from RUN_STARTED.
func (d *draft) otherRun() {
	f := d.run.TerminalOtherRun
	switch {
	case f == nil:
	case d.settings.acceptsOtherRun():
		d.report(*f)
	case d.settings.Projection == EmittedSnapshot && d.run.SnapshotCount > 0:
		d.report(f.WithSeverity(finding.Error).WithHint(hint.AcceptOtherRun, EmittedSnapshotText))
	default:
		d.report(f.WithSeverity(finding.Error))
	}
}

// terminal copies the terminal event (P20 §8.3, terminal_event, "Error details").
func (d *draft) terminal() {
	e := d.run.Terminal
	d.artifact.TerminalEvent = e.Type
	if d.run.TerminalOtherRun != nil {
		d.omitted.add(origin{event: e}.name("runId").omission(finding.TerminalOtherRun))
	}
	if e.Type == envelope.RunFinished {
		d.omitOtherKeys(e, "threadId", "runId")
		return
	}
	if v, ok := e.Get("message"); ok {
		d.artifact.ErrorMessage = d.errorText(origin{event: e}.name("message"), v, func(l artifact.Limits) int { return l.ErrorMessage })
	}
	if v, ok := e.Get("code"); ok {
		o := origin{event: e}.name("code")
		if v.Kind == strictjson.Null {
			d.rejectOrOmit(o, finding.ValueNull, "%s is null", o.pointer)
		} else {
			d.artifact.ErrorCode = d.errorText(o, v, func(l artifact.Limits) int { return l.ErrorCode })
		}
	}
	d.omitOtherKeys(e, "threadId", "runId", "message", "code")
}

// errorText reads an error field. Unless the draft is strict, it cuts the text at
// the first control character, at a stack trace or at the limit. The omitted rest
// may contain half of a surrogate pair.
func (d *draft) errorText(o origin, v strictjson.Value, limit func(artifact.Limits) int) string {
	if d.strict || v.Kind != strictjson.String {
		return d.presentText(o, v)
	}
	s, _ := v.Text()
	short, why := d.truncateError(s, limit)
	if short != s {
		d.omitted.add(o.omission(why))
		s = short
	}
	if !utf8.ValidString(s) {
		d.loneSurrogate(o)
	}
	if artifact.IsBlank(s) {
		d.rejectOrOmit(o, finding.ValueBlank, "%s is blank", o.pointer)
		d.onlyStackTrace = d.onlyStackTrace || o.pointer == "/message" && why == finding.ErrorStackTrace
		return ""
	}
	return s
}

// truncateError cuts an error text at its first control character, at a stack trace
// or at the limit of the profile. It also removes leading line ends. It returns the
// rest of the text and the reason for the cut.
func (d *draft) truncateError(s string, limit func(artifact.Limits) int) (short string, why finding.Code) {
	if d.settings.cutsStackTraces() {
		rest := strings.TrimLeftFunc(s, artifact.IsSpace)
		if artifact.HasControl(s[:len(s)-len(rest)]) {
			s = rest
		}
	}
	short, why = s, finding.TextShortened
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		short = s[:i]
	}
	short = artifact.Prefix(short, limit(artifact.V1.Limits()))
	if d.settings.cutsStackTraces() {
		// The control character may be the line end before the trace.
		if at := d.settings.indexStackTrace(s); at >= 0 && at <= len(short) {
			short, why = s[:at], finding.ErrorStackTrace
		}
	}
	if d.settings.Profile == artifact.Assay {
		text := artifact.Trim(short)
		if cut := artifact.Prefix(text, limit(artifact.Assay.Limits())); cut != text {
			short = short[:strings.Index(short, text)] + cut
		}
	}
	return short, why
}

// withCutHint adds a hint to a finding about a control character or a stack trace
// in an error text. It suggests a projection that cuts the text, unless the cut
// would leave a required text blank.
func (d *draft) withCutHint(f finding.Finding, text string, needed bool) finding.Finding {
	if f.Code != finding.ControlCharacter && f.Code != finding.ErrorStackTrace {
		return f
	}
	rest, traced := text, d.settings.indexStackTrace(text)
	if traced >= 0 {
		rest = text[:traced]
	}
	if i := strings.IndexFunc(rest, unicode.IsControl); i >= 0 {
		rest = rest[:i]
	}
	switch left := !needed || !artifact.IsBlank(rest); {
	case left && traced >= 0:
		return f.WithHint(hint.CutStackTrace, EmittedSnapshotText)
	case left:
		return f.WithHint(hint.CutControl, EmittedSnapshotText)
	case traced >= 0: // the control characters may be the line ends of the trace
		about, _ := finding.Describe(finding.ErrorStackTrace)
		return f.WithHint("%s", about.Hint)
	}
	return f
}

// validate returns the findings about the artifact under the profile of the settings and
// under the Assay profile.
func (d *draft) validate(data []byte) (own, assay []finding.Finding) {
	own, assay = artifact.FindingsByProfile(data)
	other := func(f finding.Finding) bool { return !d.enforces(f) }
	assay = slices.DeleteFunc(assay, other)
	if d.settings.Profile == artifact.Assay {
		return assay, assay
	}
	return slices.DeleteFunc(own, other), assay
}

// enforces reports whether the version of the projection has the rule of a finding about
// the artifact, and its shapes of stack traces.
func (d *draft) enforces(f finding.Finding) bool {
	if f.Rule == "A26" {
		text := d.artifact.ErrorMessage
		if f.Pointer == "/error_code" {
			text = d.artifact.ErrorCode
		}
		if d.settings.indexStackTrace(text) < 0 {
			return false
		}
	}
	return d.settings.enforces(f.Rule)
}

// relocate converts a finding about a value of the artifact to a finding about
// the event that the value came from.
func (d *draft) relocate(f finding.Finding) finding.Finding {
	f.Offset, f.Line, f.Column, f.Excerpt = nil, 0, 0, finding.Excerpt{}
	parts := strings.SplitN(string(f.Pointer), "/", 4)
	if len(parts) < 2 {
		return f
	}
	started, terminal := origin{event: d.run.Started}, origin{event: d.run.Terminal}
	var o origin
	switch parts[1] {
	case "thread_id_ref":
		o = started.name("threadId")
	case "run_id_ref":
		o = started.name("runId")
	case "parent_run_id_ref":
		o = started.name("parentRunId")
	case "started_at":
		o = started
	case "finished_at", "terminal_event":
		o = terminal
	case "error_code":
		o = terminal.name("code")
		f = d.withCutHint(f, d.artifact.ErrorCode, false)
	case "error_message":
		o = terminal.name("message")
		if d.onlyStackTrace && f.Code == finding.KeyMissing {
			f.Message = "the message of RUN_ERROR consists of a stack trace, which is omitted, but error_message is required"
			f.Hint = "the integration should describe the failure in words before the stack trace or instead of it"
		}
		f = d.withCutHint(f, d.artifact.ErrorMessage, true)
	case "messages":
		i := 0
		if len(parts) < 3 {
			if d.snapshot != nil {
				return d.snapshot.Finding(f.Code, "%s", f.Message).WithPointer("/messages")
			}
			return f
		}
		for _, digit := range parts[2] {
			i = 10*i + int(digit-'0')
		}
		o = d.sources[i]
		if len(parts) == 4 && o.pointer != "" {
			o = o.name(parts[3])
		}
	default:
		return f
	}
	message := f.Message
	if rest, named := strings.CutPrefix(message, string(f.Pointer)); named && o.pointer != "" {
		message = string(o.pointer) + rest // the key has another name in the event
	}
	moved := o.finding(f.Code, "%s", message)
	moved.Hint = f.Hint
	return moved
}
