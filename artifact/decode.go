package artifact

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Decode decodes an artifact strictly (docs/contract.md). It returns all findings
// under the profile in document order. If there are more than finding.MaxListed, a
// last finding states the number of the others. The artifact is nil if any finding is
// an error. Decode accepts non-canonical JSON; see IsCanonical.
func Decode(data []byte, p Profile) (*Artifact, []finding.Finding) {
	a, list := decode(data, p)
	finding.Locate(data, list)
	return a, list
}

// decode is Decode without the lines, columns and excerpts of the findings.
func decode(data []byte, p Profile) (*Artifact, []finding.Finding) {
	c := &checker{profile: p}
	if len(data) > MaxFileBytes {
		c.found.Add(TooLarge())
		return nil, c.found.Findings()
	}
	c.json = decoders.Get().(*strictjson.Decoder)
	c.json.Reset(data)
	if len(data) <= maxShared {
		c.data = string(data)
	}
	err := c.artifact()
	c.json.Reset(nil)
	decoders.Put(c.json)
	if err != nil {
		if f, ok := finding.FromSyntax(err); ok {
			c.found.Add(f.WithRule())
		}
		return nil, c.found.Findings()
	}
	if c.profile == Assay && !c.found.Failed() {
		if n := eventData(&c.a); n > MaxEventData {
			c.found.Add(finding.Violation("P7", "the artifact needs %d bytes of its event line; the limit is %d", n, MaxEventData))
		}
	}
	if c.found.Failed() {
		return nil, c.found.Findings()
	}
	return &c.a, c.found.Findings()
}

var decoders = sync.Pool{New: func() any { return new(strictjson.Decoder) }}

// FindingsByProfile returns the findings that Decode returns under each profile, but
// without lines, columns and excerpts; finding.Locate adds them. It decodes the artifact
// only once if it can.
func FindingsByProfile(data []byte) (v1, assay []finding.Finding) {
	_, assay = decode(data, Assay)
	if finding.Has(assay, finding.FindingsUnlisted) {
		_, v1 = decode(data, V1)
		return v1, assay
	}
	for _, f := range assay {
		if !strings.HasPrefix(f.Rule, "P") { // the rules of the profile
			v1 = append(v1, f)
		}
	}
	return v1, assay
}

// TooLarge returns the finding about a file that is larger than MaxFileBytes.
func TooLarge() finding.Finding {
	return finding.Violation("T1", "the file is larger than %d bytes", MaxFileBytes)
}

// checker reads one artifact and collects findings.
type checker struct {
	profile Profile
	json    *strictjson.Decoder
	data    string // the text, if it has at most maxShared bytes
	a       Artifact
	seen    []seenKey      // the top-level keys
	message int            // the index of the message
	ids     map[string]int // the first message with an id
	found   finding.List
}

// seenKey is a key of the contract that the artifact has.
type seenKey struct {
	name  string
	value strictjson.Token
}

// value returns the value of a top-level key, and whether the artifact has the key.
func (c *checker) value(name string) (value strictjson.Token, ok bool) {
	for _, k := range c.seen {
		if k.name == name {
			return k.value, true
		}
	}
	return strictjson.Token{}, false
}

// maxShared is the number of bytes of a text up to which its strings are parts of one
// copy of it.
const maxShared = 64 << 10

// unquote returns the value of a name or string, and whether it is valid Unicode.
func (c *checker) unquote(t strictjson.Token) (s string, valid bool) {
	if c.data != "" {
		if s = c.data[t.Start+1 : t.End-1]; strings.IndexByte(s, '\\') < 0 {
			return s, true
		}
	}
	return c.json.Text(t)
}

// add reports a finding at the decoder's position. It does not call make for findings
// that will not be listed, because a hostile file may have a million faults.
func (c *checker) add(start int, make func(p finding.Pointer) finding.Finding) {
	if !c.found.CountUnlisted(int64(start)) {
		p := finding.Pointer(c.json.Pointer())
		c.found.Add(make(p).WithOffset(int64(start)).WithPointer(p))
	}
}

// fault reports a violated rule at the decoder's position.
func (c *checker) fault(rule string, start int, format string, args ...any) {
	c.add(start, func(finding.Pointer) finding.Finding { return finding.Violation(rule, format, args...) })
}

// ruleFor returns message for a pointer into a message, and otherwise wrapper. Some
// rules have one number for the wrapper and another for messages.
func ruleFor(p finding.Pointer, wrapper, message string) string {
	if strings.HasPrefix(string(p), "/messages/") {
		return message
	}
	return wrapper
}

// quoted is input that is quoted when it is formatted.
type quoted string

func (q quoted) String() string { return finding.Quote(string(q)) }

// text is one string key of the contract.
type text struct {
	to     *string
	exact  exact
	length length
	checks []check
}

// check returns the rule that a string violates and the reason. Both are empty if the
// string is valid.
type check func(s string) (rule, why string)

// exact is the only valid value of a key, if there is one.
type exact struct{ value, rule string }

// length bounds the value of a key under v1 and under the Assay profile.
type length struct {
	limit     func(Limits) int
	v1, assay string // rules
}

// textRules are the rules for all strings of an object.
type textRules struct{ kind, surrogate, blank string }

var (
	wrapperText = textRules{"A5", "A6", "A7"}
	messageText = textRules{"M8", "M9", "M10"}
)

// key returns the rules for a key of the artifact whose value is a string.
func (c *checker) key(name string) (key text, ok bool) {
	switch name {
	case "schema":
		key = text{to: &c.a.Schema, exact: exact{Schema, "A8"}}
	case "framework":
		key = text{to: &c.a.Framework, exact: exact{Framework, "A9"}}
	case "surface":
		key = text{to: &c.a.Surface, exact: exact{Surface, "A10"}}
	case "thread_id_ref":
		key = text{to: &c.a.ThreadIDRef, length: refLength, checks: refChecks}
	case "run_id_ref":
		key = text{to: &c.a.RunIDRef, length: refLength, checks: refChecks}
	case "parent_run_id_ref":
		key = text{to: &c.a.ParentRunIDRef, length: refLength, checks: refChecks}
	case "started_at":
		key = text{to: &c.a.StartedAt, checks: timeChecks}
	case "finished_at":
		key = text{to: &c.a.FinishedAt, checks: timeChecks}
	case "terminal_event":
		key = text{to: &c.a.TerminalEvent, checks: terminalChecks}
	case "error_code":
		key = text{to: &c.a.ErrorCode, length: codeLength, checks: errorChecks}
	case "error_message":
		key = text{to: &c.a.ErrorMessage, length: errorLength, checks: errorChecks}
	}
	return key, key.to != nil
}

// The checks are shared, because a text is made for each key of each artifact.
var (
	refChecks      = []check{describeReference}
	timeChecks     = []check{checkTime}
	terminalChecks = []check{checkTerminal}
	errorChecks    = []check{checkControl, checkTrace}
)

var (
	refLength   = length{func(l Limits) int { return l.Ref }, "A11", "P1"}
	codeLength  = length{func(l Limits) int { return l.ErrorCode }, "A23", "P5"}
	errorLength = length{func(l Limits) int { return l.ErrorMessage }, "A24", "P6"}
)

// required lists the required keys in the order of the contract.
var required = []string{"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "started_at", "messages", "terminal_event"}

func (c *checker) artifact() error {
	start, err := c.json.Next()
	if err != nil {
		return err
	}
	if start.Kind != strictjson.ObjectStart {
		c.fault("A1", start.Start, "the file contains %s; an artifact is an object", start.Kind)
		if err = c.walk(start, true); err != nil {
			return err
		}
		return c.end()
	}
	c.seen = make([]seenKey, 0, 12)
	err = c.object(
		func(name string) bool { _, ok := c.key(name); return ok || name == "messages" },
		func(name string, value strictjson.Token) error {
			c.seen = append(c.seen, seenKey{name, value})
			if name == "messages" {
				return c.messages(value)
			}
			key, _ := c.key(name)
			return c.text(value, key, wrapperText)
		})
	if err != nil {
		return err
	}
	for _, name := range required {
		if _, ok := c.value(name); !ok {
			c.found.Add(finding.Violation("A2", "the required key %s is missing", name).WithOffset(int64(start.Start)).WithPointer(finding.Pointer("").Name(name)))
		}
	}
	c.checkKeys()
	return c.end()
}

// end checks that nothing follows the artifact.
func (c *checker) end() error {
	if _, err := c.json.Next(); err != io.EOF {
		return err
	}
	return nil
}

// object reads the members of an object after its opening brace. It calls member for
// known names. It reports and skips unknown and repeated members.
func (c *checker) object(known func(name string) bool, member func(name string, value strictjson.Token) error) error {
	for {
		t, err := c.json.Next()
		if err != nil || t.Kind == strictjson.ObjectEnd {
			return err
		}
		name, valid := c.unquote(t)
		quiet, mine := false, false
		switch {
		case t.Duplicate:
			c.reportDuplicate(t)
		case valid && known(name):
			mine = true
		default:
			quiet = c.reportUnknown(name, t)
		}
		value, err := c.json.Next()
		switch {
		case err != nil:
		case mine:
			err = member(name, value)
		default:
			err = c.walk(value, quiet)
		}
		if err != nil {
			return err
		}
	}
}

// reportUnknown reports a key that is not part of the contract. It returns whether the
// key is a name of an event family.
func (c *checker) reportUnknown(name string, t strictjson.Token) bool {
	if f, ok := family(name); ok {
		c.reportFamily(name, f, t)
		return true
	}
	c.add(t.Start, func(p finding.Pointer) finding.Finding {
		f := finding.Violation(ruleFor(p, "A3", "M6"), "the key %s is not part of the contract", finding.Quote(name))
		if key, ok := suggestKey(name); ok {
			f = f.WithHint("rename it to %s if that was meant; otherwise remove it", key)
		}
		return f
	})
	return false
}

func (c *checker) reportFamily(name, family string, t strictjson.Token) {
	c.add(t.Start, func(p finding.Pointer) finding.Finding {
		return finding.Violation(ruleFor(p, "A4", "M7"), "the key %s belongs to %s; an artifact contains no other AG-UI event family", finding.Quote(name), family)
	})
}

func (c *checker) reportDuplicate(t strictjson.Token) {
	name, _ := c.json.Text(t)
	c.fault("T4", t.Start, "the key %s is repeated in one object", quoted(name))
}

// walk skips the value that begins with t. It reports repeated keys in the value and,
// unless quiet is set, keys that are names of event families.
func (c *checker) walk(t strictjson.Token, quiet bool) (err error) {
	if t.Kind != strictjson.ObjectStart && t.Kind != strictjson.ArrayStart {
		return nil
	}
	for depth := c.json.Depth(); c.json.Depth() >= depth; {
		if t, err = c.json.Next(); err != nil {
			return err
		}
		switch {
		case t.Kind != strictjson.Name:
		case t.Duplicate:
			c.reportDuplicate(t)
		case !quiet:
			name, _ := c.json.Text(t)
			f, ok := family(name)
			if !ok {
				continue
			}
			c.reportFamily(name, f, t)
			if t, err = c.json.Next(); err == nil {
				err = c.walk(t, true)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// text reads one string of the contract.
func (c *checker) text(t strictjson.Token, key text, rules textRules) error {
	fault := func(rule, format string, args ...any) {
		c.add(t.Start, func(p finding.Pointer) finding.Finding {
			f := finding.Violation(rule, "%s %s", p, fmt.Sprintf(format, args...))
			if t.Kind == strictjson.Null {
				f = f.WithHint("null is not the same as absent: omit an optional key, give a required key a string")
			}
			return f
		})
	}
	if t.Kind != strictjson.String {
		fault(rules.kind, "is %s where a string belongs", t.Kind)
		return c.walk(t, false)
	}
	value, valid := c.unquote(t)
	*key.to = value
	if !valid {
		fault(rules.surrogate, "contains half of a surrogate pair")
		return nil
	}
	if key.exact.value != "" {
		if value != key.exact.value {
			fault(key.exact.rule, "is %s; it must be %q", quoted(value), key.exact.value)
		}
		return nil
	}
	if IsBlank(value) {
		fault(rules.blank, "is blank")
		return nil
	}
	if key.length.limit != nil {
		if rule, n, limit := c.tooLong(value, key.length); rule != "" {
			fault(rule, "has %d code points; the limit is %d", n, limit)
		}
	}
	for _, check := range key.checks {
		if rule, why := check(value); rule != "" {
			fault(rule, "%s", why)
		}
	}
	return nil
}

// tooLong returns the rule that limits the length of s, the length of s as that rule
// counts it, and the limit. The rule is empty if s is not too long.
func (c *checker) tooLong(s string, l length) (rule string, n, limit int) {
	// A text has at most as many code points as bytes.
	if limit = l.limit(limitsV1); len(s) > limit {
		if n = runes(s); n > limit {
			return l.v1, n, limit
		}
	}
	if limit = l.limit(limitsAssay); c.profile == Assay && len(s) > limit {
		if n = runes(Trim(s)); n > limit {
			return l.assay, n, limit
		}
	}
	return "", 0, 0
}

func describeReference(s string) (rule, why string) {
	if rule, why = checkReference(s); rule != "" {
		why += "; a reference is an opaque name"
	}
	return rule, why
}

func checkTime(s string) (rule, why string) {
	if _, fault := parseTime(s); fault.rule != "" {
		return fault.rule, fmt.Sprintf("is %s: %s", finding.Quote(s), fault.why)
	}
	return "", ""
}

func checkTerminal(s string) (rule, why string) {
	if s == RunFinished || s == RunError {
		return "", ""
	}
	why = fmt.Sprintf("is %s; it must be RUN_FINISHED or RUN_ERROR", finding.Quote(s))
	if f, ok := family(s); ok && f != RunFinished && f != RunError {
		return "A20", why
	}
	return "A19", why
}

func checkControl(s string) (rule, why string) {
	if HasControl(s) {
		return "A25", "contains a control character"
	}
	return "", ""
}

func checkTrace(s string) (rule, why string) {
	if IndexStackTrace(s) >= 0 {
		return "A26", "contains what looks like a stack trace"
	}
	return "", ""
}

// checkKeys checks the rules that involve more than one key.
func (c *checker) checkKeys() {
	// at reports f with a pointer and the offset of the value of key.
	at := func(key, pointer string, f finding.Finding) {
		value, _ := c.value(key)
		c.found.Add(f.WithOffset(int64(value.Start)).WithPointer(finding.Pointer("").Name(pointer)))
	}
	started, err1 := ParseTime(c.a.StartedAt)
	finished, err2 := ParseTime(c.a.FinishedAt)
	if err1 == nil && err2 == nil && finished.Before(started) {
		at("finished_at", "finished_at", finding.Violation("A18", "finished_at %s is before started_at %s", c.a.FinishedAt, c.a.StartedAt))
	}
	_, hasMessage := c.value("error_message")
	_, hasCode := c.value("error_code")
	switch c.a.TerminalEvent {
	case RunError:
		if !hasMessage {
			at("terminal_event", "error_message", finding.Violation("A21", "error_message is required with RUN_ERROR"))
		}
	case RunFinished:
		if hasMessage {
			at("error_message", "error_message", finding.Violation("A22", "error_message is not allowed with RUN_FINISHED"))
		}
		if hasCode {
			at("error_code", "error_code", finding.Violation("A22", "error_code is not allowed with RUN_FINISHED"))
		}
	}
}
