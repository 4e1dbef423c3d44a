package envelope

import (
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

// sameRun reports where a terminal event names another run or thread than
// RUN_STARTED. It need not name any.
func (e *Event) sameRun(started identity, report func(finding.Finding)) {
	for _, n := range [...]struct {
		key, rule string
		want      name
	}{{"runId", "E10", started.run}, {"threadId", "E11", started.thread}} {
		v, ok := e.Get(n.key)
		if !ok {
			continue
		}
		if got := e.name(v, n.key, report); got.known && n.want.known && got.text != n.want.text {
			report(e.breach(v, n.rule, finding.Pointer("").Name(n.key), "%s names %s %s, RUN_STARTED %s", e.Type, n.key, finding.Quote(got.text), finding.Quote(n.want.text)))
		}
	}
}
