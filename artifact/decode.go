package artifact

import (
	"bytes"
	"fmt"
	"io"

	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Decode reads an artifact strictly and reports everything that is wrong with
// it under the profile, in document order. From the 101st finding on they are
// only counted, by a finding that stands last. The artifact is nil when any
// finding is an error. Non-canonical JSON is read; IsCanonical tells.
func Decode(data []byte, p Profile) (*Artifact, []finding.Finding) {
	c := &checker{profile: p, data: data}
	if len(data) > MaxFileBytes {
		c.report(finding.New(finding.TooLarge, "the file is larger than %d bytes", MaxFileBytes))
		return nil, c.result()
	}
	c.json = strictjson.NewDecoder(data)
	if err := c.artifact(); err != nil {
		if f, ok := err.(finding.Finding); ok {
			c.report(f)
		}
		return nil, c.result()
	}
	c.whole()
	if c.failed {
		return nil, c.result()
	}
	return &c.a, c.result()
}

// checker reads one artifact and collects findings.
type checker struct {
	profile  Profile
	data     []byte
	json     *strictjson.Decoder
	a        Artifact
	seen     map[string]strictjson.Token // top-level key to its value
	findings []finding.Finding
	uncount  int
	failed   bool
}

func (c *checker) report(f finding.Finding) {
	c.failed = c.failed || f.Severity == finding.Error
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, f)
	} else {
		c.uncount++
	}
}

// fault reports what is wrong at the decoder's place. Past the listed findings
// it builds nothing: a hostile file may hold a million of them.
func (c *checker) fault(code finding.Code, start int, format string, args ...any) {
	if len(c.findings) == maxFindings {
		c.failed = true
		c.uncount++
		return
	}
	c.report(finding.New(code, format, args...).At(int64(start)).On(c.json.Pointer()))
}

// quoted is input that is quoted only when its message is built.
type quoted string

func (q quoted) String() string { return finding.Quote(string(q)) }

// result orders the findings and gives them their lines.
func (c *checker) result() []finding.Finding {
	finding.Sort(c.findings)
	line, at := 1, int64(0)
	for i := range c.findings {
		f := &c.findings[i]
		if f.Offset == nil {
			continue
		}
		line += bytes.Count(c.data[at:*f.Offset], []byte{'\n'})
		at = *f.Offset
		f.Line = line
	}
	if c.uncount > 0 {
		c.findings = append(c.findings, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", c.uncount))
	}
	return c.findings
}

// text is one string key of the contract.
type text struct {
	to    *string
	limit func(Limits) int
	exact string // the only value, where there is one
	check func(*checker, string) (code finding.Code, why string)
}

func (c *checker) keys() map[string]text {
	ref := func(l Limits) int { return l.Ref }
	return map[string]text{
		"schema":            {to: &c.a.Schema, exact: Schema},
		"framework":         {to: &c.a.Framework, exact: Framework},
		"surface":           {to: &c.a.Surface, exact: Surface},
		"thread_id_ref":     {to: &c.a.ThreadIDRef, limit: ref, check: checkRef},
		"run_id_ref":        {to: &c.a.RunIDRef, limit: ref, check: checkRef},
		"parent_run_id_ref": {to: &c.a.ParentRunIDRef, limit: ref, check: checkRef},
		"started_at":        {to: &c.a.StartedAt, check: checkTime},
		"finished_at":       {to: &c.a.FinishedAt, check: checkTime},
		"terminal_event":    {to: &c.a.TerminalEvent, check: checkTerminal},
		"error_code":        {to: &c.a.ErrorCode, limit: func(l Limits) int { return l.ErrorCode }, check: checkError},
		"error_message":     {to: &c.a.ErrorMessage, limit: func(l Limits) int { return l.ErrorMessage }, check: checkError},
	}
}

// required lists the keys every artifact has, in the contract's order.
var required = []string{"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "started_at", "messages", "terminal_event"}

func (c *checker) artifact() error {
	start, err := c.json.Next()
	if err != nil {
		return err
	}
	if start.Kind != strictjson.ObjectStart {
		c.report(finding.New(finding.NotObject, "the file holds %s where an artifact is an object", start.Kind).At(int64(start.Start)))
		return c.walk(start, true)
	}
	keys := c.keys()
	c.seen = make(map[string]strictjson.Token, len(keys)+1)
	err = c.object(func(name string, value strictjson.Token) (bool, error) {
		if name == "messages" {
			c.seen[name] = value
			return true, c.messages(value)
		}
		key, ok := keys[name]
		if ok {
			c.seen[name] = value
			return true, c.text(value, key)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	for _, name := range required {
		if _, ok := c.seen[name]; !ok {
			c.report(finding.New(finding.KeyMissing, "the required key %s is missing", name).At(int64(start.Start)).On(finding.Pointer("").Name(name)))
		}
	}
	if _, err = c.json.Next(); err != io.EOF {
		return err
	}
	return nil
}

// object reads the members of an object that has been entered. member reads
// the value and says whether the contract has the name; what it does not have
// is reported and read over.
func (c *checker) object(member func(name string, value strictjson.Token) (bool, error)) error {
	for {
		t, err := c.json.Next()
		if err != nil || t.Kind == strictjson.ObjectEnd {
			return err
		}
		if t.Duplicate {
			c.repeated(t)
			if t, err = c.json.Next(); err == nil {
				err = c.walk(t, false)
			}
			if err != nil {
				return err
			}
			continue
		}
		name, valid := c.json.Text(t)
		value, err := c.json.Next()
		if err != nil {
			return err
		}
		known := false
		if valid {
			known, err = member(name, value)
		}
		if err == nil && !known {
			err = c.walk(value, c.unknown(name, t))
		}
		if err != nil {
			return err
		}
	}
}

// unknown reports a key the contract does not have, and says whether it brings
// in an event family.
func (c *checker) unknown(name string, t strictjson.Token) bool {
	if f, ok := family(name); ok {
		c.smuggled(name, f, t)
		return true
	}
	c.fault(finding.KeyUnknown, t.Start, "the key %s is not part of the contract", quoted(name))
	return false
}

func (c *checker) smuggled(name, family string, t strictjson.Token) {
	c.fault(finding.ExtraEventFamily, t.Start, "the key %s brings in %s; an artifact holds no other AG-UI event family", quoted(name), family)
}

func (c *checker) repeated(t strictjson.Token) {
	name, _ := c.json.Text(t)
	c.fault(finding.JSONDuplicateKey, t.Start, "the key %s stands twice in one object", quoted(name))
}

// walk reads over the value that t begins, reporting keys inside it that bring
// in an event family unless quiet, and keys that stand twice.
func (c *checker) walk(t strictjson.Token, quiet bool) (err error) {
	if t.Kind != strictjson.ObjectStart && t.Kind != strictjson.ArrayStart {
		return nil
	}
	for depth := c.json.Depth(); c.json.Depth() >= depth; {
		if t, err = c.json.Next(); err != nil {
			return err
		}
		if t.Kind != strictjson.Name {
			continue
		}
		if t.Duplicate {
			c.repeated(t)
		}
		if quiet {
			continue
		}
		name, _ := c.json.Text(t)
		if f, ok := family(name); ok {
			c.smuggled(name, f, t)
		}
	}
	return nil
}

// text reads one string of the contract.
func (c *checker) text(t strictjson.Token, key text) error {
	fault := func(code finding.Code, format string, args ...any) {
		c.fault(code, t.Start, "%s %s", c.json.Pointer(), fmt.Sprintf(format, args...))
	}
	if t.Kind != strictjson.String {
		fault(finding.WrongType, "is %s where a string belongs", t.Kind)
		return c.walk(t, false)
	}
	value, valid := c.json.Text(t)
	*key.to = value
	if !valid {
		fault(finding.LoneSurrogate, "holds half of a surrogate pair")
		return nil
	}
	if key.exact != "" {
		if value != key.exact {
			fault(finding.WrongValue, "is %s; it must be %q", quoted(value), key.exact)
		}
		return nil
	}
	if IsBlank(value) {
		fault(finding.ValueBlank, "is blank")
		return nil
	}
	if key.limit != nil {
		if n, limit, ok := c.profile.within(value, key.limit); !ok {
			fault(finding.TooLong, "has %d code points; the limit is %d", n, limit)
		}
	}
	if key.check != nil {
		if code, why := key.check(c, value); code != "" {
			fault(code, "%s", why)
		}
	}
	return nil
}

func checkRef(_ *checker, s string) (finding.Code, string) {
	if why := refFault(s); why != "" {
		return finding.RefNotOpaque, "holds " + why + "; a reference is an opaque name"
	}
	return "", ""
}

func checkTime(_ *checker, s string) (finding.Code, string) {
	if _, err := ParseTime(s); err != nil {
		return finding.TimestampMalformed, fmt.Sprintf("is %s: %v", finding.Quote(s), err)
	}
	return "", ""
}

func checkTerminal(_ *checker, s string) (finding.Code, string) {
	if s == RunFinished || s == RunError {
		return "", ""
	}
	why := fmt.Sprintf("is %s; it must be RUN_FINISHED or RUN_ERROR", finding.Quote(s))
	if f, ok := family(s); ok && f != RunFinished && f != RunError {
		return finding.ExtraEventFamily, why
	}
	return finding.WrongValue, why
}

func checkError(_ *checker, s string) (finding.Code, string) {
	if HasControl(s) {
		return finding.ControlCharacter, "holds a control character"
	}
	return "", ""
}

// whole checks what concerns more than one key.
func (c *checker) whole() {
	if c.seen == nil {
		return
	}
	// at reports f about pointer, at the value of key.
	at := func(key, pointer string, f finding.Finding) {
		c.report(f.At(int64(c.seen[key].Start)).On(finding.Pointer("").Name(pointer)))
	}
	started, err1 := ParseTime(c.a.StartedAt)
	finished, err2 := ParseTime(c.a.FinishedAt)
	if err1 == nil && err2 == nil && finished.Before(started) {
		at("finished_at", "finished_at", finding.New(finding.TimesOutOfOrder, "finished_at %s is before started_at %s", c.a.FinishedAt, c.a.StartedAt))
	}
	_, hasMessage := c.seen["error_message"]
	_, hasCode := c.seen["error_code"]
	switch c.a.TerminalEvent {
	case RunError:
		if !hasMessage {
			at("terminal_event", "error_message", finding.New(finding.KeyMissing, "error_message is required beside RUN_ERROR"))
		}
	case RunFinished:
		if hasMessage {
			at("error_message", "error_message", finding.New(finding.ErrorKeyForbidden, "error_message may not stand beside RUN_FINISHED"))
		}
		if hasCode {
			at("error_code", "error_code", finding.New(finding.ErrorKeyForbidden, "error_code may not stand beside RUN_FINISHED"))
		}
	}
	if c.profile == Assay && !c.failed {
		if n := eventData(&c.a); n > maxEventData {
			c.report(finding.New(finding.EventLineTooLong, "the artifact takes %d bytes of its event line; %d are left for it", n, maxEventData))
		}
	}
}
