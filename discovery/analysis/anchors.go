package analysis

import (
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
)

// Anchor is a threadId or runId that a run's request did not choose.
type Anchor struct {
	// Event is the type of the event with the id: RUN_STARTED, or the terminal
	// event if its id differs.
	Event string
	Key   string
	// Shape describes the form of the id; see the function Shape.
	Shape string
	// Rule is the rule of the contract that the id violates as a reference. It is
	// empty if the id is a valid reference.
	Rule string
}

// mintedIDs returns the ids of RUN_STARTED and of the terminal event that differ from
// those of the request. It returns nil if the request is not known.
func mintedIDs(run *envelope.Run, r request) (list []Anchor) {
	if !r.known {
		return nil
	}
	add := func(event, key, id string, known ...string) {
		if artifact.IsBlank(id) {
			return
		}
		for _, k := range known {
			if id == k {
				return
			}
		}
		list = append(list, Anchor{event, key, Shape(id), artifact.CheckReference(id)})
	}
	add(envelope.RunStarted, "threadId", run.ThreadID, r.threadID)
	add(envelope.RunStarted, "runId", run.RunID, r.runID)
	if t := run.Terminal; t != nil {
		add(t.Type, "threadId", t.Object.Text("threadId"), r.threadID, run.ThreadID)
		add(t.Type, "runId", t.Object.Text("runId"), r.runID, run.RunID)
	}
	return list
}

// Shape describes the form of an id in words, such as "UUID with a prefix".
func Shape(id string) string {
	if strings.ContainsAny(id, `/\`) {
		return "path-like"
	}
	for _, kind := range []struct {
		name string
		at   func(string) int
		n    int
	}{{"UUID", uuidAt, 36}, {"32 hexadecimal digits", hexAt, 32}} {
		switch at := kind.at(id); {
		case at < 0:
		case len(id) == kind.n:
			return kind.name
		case at+kind.n == len(id):
			return kind.name + " with a prefix"
		default:
			return kind.name + " with more text"
		}
	}
	switch tail := id[strings.LastIndexAny(id, "-_:.")+1:]; {
	case strings.Trim(id, "0123456789") == "":
		return "number"
	case len(tail) < 12 || strings.ContainsFunc(tail, func(r rune) bool { return !isLetterOrDigit(r) }):
		return "other"
	case tail == id:
		return "letters and digits"
	}
	return "letters and digits with a prefix"
}

func isLetterOrDigit(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// uuidAt returns where a UUID begins in s, or -1 (RFC 9562 §4).
func uuidAt(s string) int {
	return matchAt(s, 36, func(i int, c byte) bool {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			return c == '-'
		}
		return isHex(c)
	})
}

// hexAt returns where 32 hexadecimal digits begin in s, or -1.
func hexAt(s string) int { return matchAt(s, 32, func(_ int, c byte) bool { return isHex(c) }) }

// matchAt returns the index of the first n bytes of s that all match, or -1. It
// searches only the first kilobyte of s.
func matchAt(s string, n int, match func(i int, c byte) bool) int {
	s = s[:min(len(s), 1024)]
next:
	for at := 0; at+n <= len(s); at++ {
		for i := range n {
			if !match(i, s[at+i]) {
				continue next
			}
		}
		return at
	}
	return -1
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
