package artifact

import (
	"fmt"
	"strconv"

	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// messages reads the message list. Past the limit messages are counted and no
// longer kept.
func (c *checker) messages(t strictjson.Token) error {
	at := c.json.Pointer()
	if t.Kind != strictjson.ArrayStart {
		c.report(finding.New(finding.WrongType, "%s is %s where a list belongs", at, t.Kind).At(int64(t.Start)).On(at))
		_, err := c.walk(t, false)
		return err
	}
	ids := make(map[string]int)
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
			_, err = c.walk(m, true)
		} else {
			err = c.message(m, count-1, ids)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case count == 0:
		c.report(finding.New(finding.MessagesEmpty, "%s holds no message", at).At(int64(t.Start)).On(at))
	case count > limit:
		c.report(finding.New(finding.MessagesTooMany, "%s holds %d messages; the limit is %d", at, count, limit).At(int64(t.Start)).On(at))
	}
	return nil
}

func (c *checker) message(t strictjson.Token, i int, ids map[string]int) error {
	at := c.json.Pointer()
	if t.Kind != strictjson.ObjectStart {
		c.report(finding.New(finding.WrongType, "%s is %s where a message is an object", at, t.Kind).At(int64(t.Start)).On(at))
		_, err := c.walk(t, false)
		return err
	}
	c.a.Messages = append(c.a.Messages, Message{})
	m := &c.a.Messages[len(c.a.Messages)-1]
	keys := [4]struct {
		name string
		text
	}{
		{"id", text{to: &m.ID, limit: func(l Limits) int { return l.MessageID }, required: true, check: func(c *checker, id string) (finding.Code, string) {
			if first, ok := ids[Trim(id)]; ok {
				return finding.MessageIDRepeated, fmt.Sprintf("repeats the id of /messages/%d", first)
			}
			ids[Trim(id)] = i
			return "", ""
		}}},
		{"role", text{to: &m.Role, required: true, check: checkRole}},
		{"content", text{to: &m.Content, limit: func(l Limits) int { return l.Content }, required: true}},
		{"name", text{to: &m.Name, limit: func(l Limits) int { return l.Name }}},
	}
	var seen [4]bool
	err := c.object(func(name string, value strictjson.Token) (bool, error) {
		for k := range keys {
			if keys[k].name == name {
				seen[k] = true
				return true, c.text(value, keys[k].text)
			}
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	for k := range keys {
		if keys[k].required && !seen[k] {
			c.report(finding.New(finding.KeyMissing, "message %d has no %s", i, keys[k].name).At(int64(t.Start)).On(at.Name(keys[k].name)))
		}
	}
	return nil
}

func checkRole(_ *checker, role string) (finding.Code, string) {
	if IsRole(role) {
		return "", ""
	}
	why := fmt.Sprintf("is %s; it must be developer, system, assistant, user or tool", finding.Quote(role))
	if _, ok := family(role); ok {
		return finding.ExtraEventFamily, why
	}
	return finding.WrongValue, why
}

// eventData returns how many bytes the artifact takes in an Assay event line:
// its RFC 8785 form, with strings as they stand, which are never shorter than
// the trimmed ones Assay stores.
func eventData(a *Artifact) int {
	const (
		keys       = len(`{"schema":,"framework":,"surface":,"thread_id_ref":,"run_id_ref":,"parent_run_id_ref":,"started_at":,"finished_at":,"messages":[],"terminal_event":,"error_code":,"error_message":}`)
		messageKey = len(`{"id":,"role":,"content":,"name":},`)
	)
	n := keys
	var scratch []byte
	add := func(s string) {
		scratch = AppendString(scratch[:0], s)
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
