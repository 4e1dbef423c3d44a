package envelope

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// identity is the thread and run that a RUN_STARTED names.
type identity struct{ thread, run name }

// name is one of its two names. It is known when it is a string of Unicode.
type name struct {
	text  string // half of a surrogate pair is U+FFFD
	known bool
}

// identity reads the names a RUN_STARTED must have.
func (e *Event) identity(report func(finding.Finding)) identity {
	read := func(key string) name {
		v, ok := e.Get(key)
		if !ok {
			report(e.breach(e.whole(), "E7", finding.Pointer("").Name(key), "RUN_STARTED has no %s", key))
			return name{}
		}
		return e.name(v, key, report)
	}
	return identity{thread: read("threadId"), run: read("runId")}
}

func (e *Event) name(v strictjson.Value, key string, report func(finding.Finding)) name {
	at := finding.Pointer("").Name(key)
	if v.Kind != strictjson.String {
		report(e.breach(v, "E8", at, "%s of %s is %s where a string belongs", key, e.Type, v.Kind))
		return name{}
	}
	s, valid := v.Text()
	if !valid {
		report(e.breach(v, "E9", at, "%s of %s holds half of a surrogate pair", key, e.Type))
		return name{text: strings.ToValidUTF8(s, "\uFFFD")}
	}
	return name{text: s, known: true}
}

// sameRun reports what is wrong with the names of a terminal event, another
// thread than that of RUN_STARTED included. It need not name any. Another run is
// not wrong by itself: otherRun is the finding about it, for those that refuse it.
func (e *Event) sameRun(started identity, report func(finding.Finding)) (otherRun *finding.Finding) {
	differs := func(key string, want name) (v strictjson.Value, why string) {
		v, ok := e.Get(key)
		if !ok {
			return v, ""
		}
		if got := e.name(v, key, report); got.known && want.known && got.text != want.text {
			why = fmt.Sprintf("%s names %s %s, RUN_STARTED %s", e.Type, key, finding.Quote(got.text), finding.Quote(want.text))
		}
		return v, why
	}
	if v, why := differs("threadId", started.thread); why != "" {
		report(e.breach(v, "E11", "/threadId", "%s", why))
	}
	if v, why := differs("runId", started.run); why != "" {
		f := e.place(finding.New(finding.TerminalOtherRun, "%s", why).WithOffset(int64(v.Start))).WithPointer("/runId")
		otherRun = &f
	}
	return otherRun
}
