package artifact

import (
	"fmt"
	"strconv"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// messages reads the list of messages. It only counts messages past the limit.
func (c *checker) messages(t strictjson.Token) error {
	if t.Kind != strictjson.ArrayStart {
		c.fault("M1", t.Start, "%s is %s where a list belongs", c.json.Pointer(), t.Kind)
		return c.walk(t, false)
	}
	c.ids = make(map[string]int)
	idChecks := []check{c.checkID}
	limit := c.profile.Limits().Messages
	count := 0
	for {
		m, err := c.json.Next()
		if err != nil {
			return err
		}
		if m.Kind == strictjson.ArrayEnd {
			break
		}
		if count++; count > limit {
			err = c.walk(m, true)
		} else {
			c.message = count - 1
			err = c.readMessage(m, idChecks)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case count == 0:
		c.fault("M2", t.Start, "%s contains no message", c.json.Pointer())
	case count > limit:
		c.fault("M3", t.Start, "%s contains %d messages; the limit is %d", c.json.Pointer(), count, limit)
	}
	return nil
}

// checkID checks the id of a message.
func (c *checker) checkID(id string) (rule, why string) {
	id = Trim(id)
	if first, ok := c.ids[id]; ok {
		return "M16", fmt.Sprintf("repeats the id of /messages/%d", first)
	}
	c.ids[id] = c.message
	return "", ""
}

func (c *checker) readMessage(t strictjson.Token, idChecks []check) error {
	if t.Kind != strictjson.ObjectStart {
		c.fault("M4", t.Start, "%s is %s; a message is an object", c.json.Pointer(), t.Kind)
		return c.walk(t, false)
	}
	c.a.Messages = append(c.a.Messages, Message{})
	m := &c.a.Messages[len(c.a.Messages)-1]
	var id, role, content bool
	err := c.object(isMessageKey, func(name string, value strictjson.Token) error {
		switch name {
		case "id":
			id = true
			return c.text(value, text{to: &m.ID, length: idLength, checks: idChecks}, messageText)
		case "role":
			role = true
			return c.text(value, text{to: &m.Role, checks: roleChecks}, messageText)
		case "content":
			content = true
			return c.text(value, text{to: &m.Content, length: contentLength}, messageText)
		}
		return c.text(value, text{to: &m.Name, length: nameLength}, messageText)
	})
	if err != nil {
		return err
	}
	for _, key := range [...]struct {
		name string
		seen bool
	}{{"id", id}, {"role", role}, {"content", content}} {
		if !key.seen {
			at := finding.Pointer("/messages").Index(c.message)
			c.found.Add(finding.Violation("M5", "%s has no %s", at, key.name).WithOffset(int64(t.Start)).WithPointer(at.Name(key.name)))
		}
	}
	return nil
}

func isMessageKey(name string) bool {
	return name == "id" || name == "role" || name == "content" || name == "name"
}

var (
	idLength      = length{func(l Limits) int { return l.MessageID }, "M11", "P2"}
	contentLength = length{func(l Limits) int { return l.Content }, "M12", "P4"}
	nameLength    = length{func(l Limits) int { return l.Name }, "M13", "P3"}
)

var roleChecks = []check{checkRole}

func checkRole(role string) (rule, why string) {
	if IsRole(role) {
		return "", ""
	}
	why = fmt.Sprintf("is %s; it must be developer, system, assistant, user or tool", finding.Quote(role))
	if _, ok := family(role); ok {
		return "M15", why
	}
	return "M14", why
}

// eventData returns an upper bound for the size of the artifact in an Assay event line:
// the size of its RFC 8785 form with trimmed strings and all optional keys.
func eventData(a *Artifact) int {
	const (
		keys       = len(`{"schema":,"framework":,"surface":,"thread_id_ref":,"run_id_ref":,"parent_run_id_ref":,"started_at":,"finished_at":,"messages":[],"terminal_event":,"error_code":,"error_message":}`)
		messageKey = len(`{"id":,"role":,"content":,"name":},`)
	)
	n := keys
	var scratch []byte
	add := func(s string) {
		scratch = AppendString(scratch[:0], Trim(s))
		n += len(scratch)
	}
	for _, s := range []string{a.Schema, a.Framework, a.Surface, a.ThreadIDRef, a.RunIDRef, a.ParentRunIDRef, a.StartedAt, a.FinishedAt, a.TerminalEvent, a.ErrorCode, a.ErrorMessage} {
		add(s)
	}
	for _, m := range a.Messages {
		n += messageKey
		add(m.ID)
		add(m.Role)
		add(m.Content)
		add(m.Name)
	}
	return n + len(strconv.Itoa(len(a.Messages)))
}
