package producer

import (
	"strconv"
	"strings"
	"sync"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/spelling"
	"github.com/p20export/p20export/internal/strictjson"
)

// checkType reports a type that is nearly one of AG-UI.
func (c *Checker) checkType(e *envelope.Event) {
	if e.Type == eventnames.Meta {
		return
	}
	if meant := nearest(e.Type); meant != "" {
		c.found(e, "W16", "type", meant, "AG-UI has no type %s; did the producer mean %s?", finding.Quote(e.Type), meant)
	}
}

// nearest returns the type of AG-UI that is at most one edit away from a name, or "".
func nearest(name string) string {
	const longest = 64 // longer than any type
	if len(name) > longest {
		return ""
	}
	bare := plain(name)
	for _, n := range plainTypes() {
		if n.plain == bare {
			return n.name
		}
	}
	for _, n := range plainTypes() {
		if spelling.Near(n.plain, bare) || spelling.Near(n.name, strings.ToUpper(name)) {
			return n.name
		}
	}
	return ""
}

// plain returns a name in upper case without separators.
func plain(name string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, name))
}

type plainType struct{ name, plain string }

var plainTypes = sync.OnceValue(func() (all []plainType) {
	for _, name := range eventnames.Released() {
		all = append(all, plainType{name, plain(name)})
	}
	return all
})

// times has the last timestamp in milliseconds.
type times struct {
	last  int64
	known bool
}

// The bounds of a timestamp that is not in milliseconds.
const (
	leastSeconds = 100_000_000         // 1973 in seconds
	mostSeconds  = 100_000_000_000     // 5138 in seconds, 1973 in milliseconds
	leastMicros  = 100_000_000_000_000 // 5138 in milliseconds, 1973 in microseconds
)

// checkTime checks the timestamp of an event.
func (c *Checker) checkTime(e *envelope.Event) {
	v, _ := e.Get("timestamp")
	ms, ok := integer(v)
	switch {
	case !ok:
	case ms >= leastSeconds && ms < mostSeconds:
		c.found(e, "W18", "timestamp", "seconds", "the timestamp of %s is probably in seconds, not in milliseconds", e.Type)
	case ms >= leastMicros:
		c.found(e, "W18", "timestamp", "microseconds", "the timestamp of %s is probably in microseconds or nanoseconds, not in milliseconds", e.Type)
	default:
		if c.times.known && ms < c.times.last {
			c.found(e, "W17", "timestamp", "", "the timestamp of %s is %d ms before that of the event before it", e.Type, c.times.last-ms)
		}
		c.times = times{ms, true}
	}
}

// integer returns the value of a number that is an integer in its shortest form.
func integer(v envelope.Value) (int64, bool) {
	if v.Kind != envelope.NumberValue {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw), 10, 64)
	return n, err == nil
}

// checkUsage checks the token counts of RUN_FINISHED and RUN_ERROR.
func (c *Checker) checkUsage(e *envelope.Event) {
	list, _ := e.Get("usage")
	if list.Kind != envelope.ArrayValue {
		return
	}
	// The event was read before, so there is no error.
	_ = strictjson.Elements(list, func(i int, v strictjson.Value, o *strictjson.Object) error {
		if v.Kind == envelope.ObjectValue {
			if why := contradiction(o); why != "" {
				c.report("", e.Place(finding.Violation("W19", "the usage of %s contradicts itself: %s", e.Type, why), v).WithPointer(finding.Pointer("/usage").Index(i)))
			}
		}
		return nil
	})
}

// contradiction says how the counts of a usage contradict each other, or returns "".
func contradiction(o *strictjson.Object) string {
	count := func(name string) (int64, bool) {
		v, _ := o.Get(name)
		n, ok := integer(v)
		return n, ok && n >= 0
	}
	input, hasInput := count("inputTokens")
	output, hasOutput := count("outputTokens")
	total, hasTotal := count("totalTokens")
	reasoning, _ := count("reasoningTokens")
	cached, _ := count("cachedInputTokens")
	written, _ := count("cacheWriteInputTokens")
	switch {
	case hasTotal && hasInput && hasOutput && total-input != output:
		return "totalTokens is " + strconv.FormatInt(total, 10) + ", but inputTokens is " + strconv.FormatInt(input, 10) + " and outputTokens " + strconv.FormatInt(output, 10)
	case hasTotal && hasInput && input > total:
		return "inputTokens is greater than totalTokens"
	case hasTotal && hasOutput && output > total:
		return "outputTokens is greater than totalTokens"
	case hasOutput && reasoning > output:
		return "reasoningTokens is greater than outputTokens"
	case hasInput && (cached > input || written > input-cached):
		return "the cached tokens, read and written, are more than inputTokens"
	}
	return ""
}
