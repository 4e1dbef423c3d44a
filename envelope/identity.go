package envelope

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// identity is the thread and the run that a RUN_STARTED names.
type identity struct{ thread, run id }

// id is a thread or run id. It is valid if it is a string of valid Unicode.
type id struct {
	text  string // with U+FFFD in place of half a surrogate pair
	valid bool
}

// identity returns the ids of a RUN_STARTED. It reports ids that are missing or
// invalid.
func (e *Event) identity(report func(finding.Finding)) identity {
	read := func(key string) id {
		v, ok := e.Get(key)
		if !ok {
			report(e.violation(e.whole(), "E7", finding.Pointer("").Name(key), "RUN_STARTED has no %s", key))
			return id{}
		}
		return e.id(v, key, report)
	}
	return identity{thread: read("threadId"), run: read("runId")}
}

// id returns the id v, the value of key. It reports an id that is invalid.
func (e *Event) id(v strictjson.Value, key string, report func(finding.Finding)) id {
	if v.Kind != strictjson.String {
		report(e.violation(v, "E8", finding.Pointer("").Name(key), "%s of %s is %s where a string belongs", key, e.Type, v.Kind))
		return id{}
	}
	s, valid := v.Text()
	if !valid {
		report(e.violation(v, "E9", finding.Pointer("").Name(key), "%s of %s contains half of a surrogate pair", key, e.Type))
		return id{text: strings.ToValidUTF8(s, "\uFFFD")}
	}
	return id{text: s, valid: true}
}

// checkIdentity compares the ids of a terminal event with those of RUN_STARTED. It
// reports invalid ids and a thread id that differs; the ids are optional. If the run
// id differs, checkIdentity returns a finding, because only some projections refuse
// such a run.
func (e *Event) checkIdentity(started identity, report func(finding.Finding)) (otherRun *finding.Finding) {
	differs := func(key string, want id) (v strictjson.Value, why string) {
		v, ok := e.Get(key)
		if !ok {
			return v, ""
		}
		if got := e.id(v, key, report); got.valid && want.valid && got.text != want.text {
			why = fmt.Sprintf("%s names %s %s, RUN_STARTED %s", e.Type, key, finding.Quote(got.text), finding.Quote(want.text))
		}
		return v, why
	}
	if v, why := differs("threadId", started.thread); why != "" {
		report(e.violation(v, "E11", "/threadId", "%s", why))
	}
	if v, why := differs("runId", started.run); why != "" {
		f := e.place(finding.New(finding.TerminalOtherRun, "%s", why).WithOffset(int64(v.Start))).WithPointer("/runId")
		otherRun = &f
	}
	return otherRun
}
