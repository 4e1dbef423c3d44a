package schema_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// An object is a JSON object that a test edits.
type object = map[string]any

// finished and failed return artifacts with every key that they may have.
func finished() object {
	return object{
		"schema": artifact.Schema, "framework": artifact.Framework, "surface": artifact.Surface,
		"thread_id_ref": "t", "run_id_ref": "r", "parent_run_id_ref": "p",
		"started_at": "2026-01-31T12:00:00Z", "finished_at": "2026-01-31T12:00:01.5Z",
		"messages": []any{
			object{"id": "m1", "role": "user", "content": "hi", "name": "n"},
			object{"id": "m2", "role": "assistant", "content": "hello"},
		},
		"terminal_event": "RUN_FINISHED",
	}
}

func failed() object {
	o := finished()
	o["terminal_event"], o["error_code"], o["error_message"] = "RUN_ERROR", "E", "boom"
	return o
}

// at returns the object and the key that a pointer refers to.
func at(o object, pointer string) (object, string) {
	if rest, ok := strings.CutPrefix(pointer, "/messages/0/"); ok {
		return o["messages"].([]any)[0].(object), rest
	}
	return o, strings.TrimPrefix(pointer, "/")
}

func set(o object, pointer string, value any) object {
	in, key := at(o, pointer)
	in[key] = value
	return o
}

func without(o object, pointer string) object {
	in, key := at(o, pointer)
	delete(in, key)
	return o
}

// checkVerdicts checks that schema and decoder return the wanted verdict under a profile.
func checkVerdicts(t *testing.T, what string, o any, p artifact.Profile, want bool) {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	err = schematest.Check(schemaOf(p), data)
	if err != nil && !isRefusal(err) {
		t.Fatal(err)
	}
	a, findings := artifact.Decode(data, p)
	if got := err == nil; got != want || (a != nil) != want {
		t.Errorf("%s, profile %s: the schema accepts: %t, the decoder: %t, want %t\n%.300s\n%v\n%v", what, p, got, a != nil, want, data, err, findings)
	}
}

func schemaOf(p artifact.Profile) string {
	if p == artifact.Assay {
		return schema.ArtifactAssay
	}
	return schema.Artifact
}

// both has the same verdict under both profiles.
func both(t *testing.T, what string, o any, want bool) {
	t.Helper()
	for _, p := range artifact.Profiles() {
		checkVerdicts(t, what, o, p, want)
	}
}

func TestArtifactKeys(t *testing.T) {
	both(t, "finished", finished(), true)
	both(t, "failed", failed(), true)
	for key := range finished() {
		optional := key == "parent_run_id_ref" || key == "finished_at"
		both(t, "without "+key, without(finished(), key), optional)
		both(t, "null "+key, set(finished(), key, nil), false)
		both(t, "number "+key, set(finished(), key, 7), false)
	}
	for _, key := range []string{"schema", "framework", "surface"} {
		value := finished()[key].(string)
		for _, other := range []string{"", value + "2", strings.ToUpper(value), " " + value, value + "\n"} {
			both(t, key, set(finished(), key, other), false)
		}
	}
	for _, key := range []string{"id", "role", "content", "name"} {
		both(t, "message without "+key, without(finished(), "/messages/0/"+key), key == "name")
		both(t, "null message "+key, set(finished(), "/messages/0/"+key, nil), false)
		both(t, "list message "+key, set(finished(), "/messages/0/"+key, []any{}), false)
	}
	for _, key := range []string{"state", "events", "toolCalls", "metadata", "", "Schema", "error"} {
		both(t, "key "+key, set(finished(), key, "x"), false)
		both(t, "message key "+key, set(finished(), "/messages/0/"+key, "x"), false)
	}
	for _, value := range []any{nil, "x", 7, []any{finished()}, []any{}, object{}} {
		both(t, "no object", value, false)
	}
}

func TestArtifactMessages(t *testing.T) {
	many := func(n int) object {
		list := make([]any, n)
		for i := range list {
			list[i] = object{"id": strconv.Itoa(i), "role": "tool", "content": "x"}
		}
		return set(finished(), "messages", list)
	}
	most := artifact.V1.Limits().Messages
	for n, want := range map[int]bool{0: false, 1: true, most: true, most + 1: false} {
		both(t, fmt.Sprintf("%d messages", n), many(n), want)
	}
	both(t, "a string", set(finished(), "messages", []any{"x"}), false)
	both(t, "an object", set(finished(), "messages", object{}), false)
	for _, role := range artifact.Roles() {
		both(t, role, set(finished(), "/messages/0/role", role), true)
	}
	for _, role := range []string{"", "User", "user ", "activity", "reasoning", "TOOL_CALL_START"} {
		both(t, role, set(finished(), "/messages/0/role", role), false)
	}
}

func TestArtifactTerminal(t *testing.T) {
	for _, c := range []struct {
		event         string
		code, message bool
		want          bool
	}{
		{"RUN_FINISHED", false, false, true},
		{"RUN_FINISHED", true, false, false},
		{"RUN_FINISHED", false, true, false},
		{"RUN_FINISHED", true, true, false},
		{"RUN_ERROR", false, false, false},
		{"RUN_ERROR", true, false, false},
		{"RUN_ERROR", false, true, true},
		{"RUN_ERROR", true, true, true},
		{"run_error", false, true, false},
		{"RUN_STARTED", false, false, false},
		{"", false, false, false},
	} {
		o := set(finished(), "terminal_event", c.event)
		if c.code {
			o["error_code"] = "E"
		}
		if c.message {
			o["error_message"] = "boom"
		}
		both(t, fmt.Sprintf("%+v", c), o, c.want)
	}
}

// texts lists the strings with limits: references, texts and labels.
var texts = []struct {
	pointer string
	limit   func(artifact.Limits) int
	ref     bool // no white space
	control bool // may hold control characters
}{
	{"/thread_id_ref", func(l artifact.Limits) int { return l.Ref }, true, false},
	{"/run_id_ref", func(l artifact.Limits) int { return l.Ref }, true, false},
	{"/parent_run_id_ref", func(l artifact.Limits) int { return l.Ref }, true, false},
	{"/messages/0/id", func(l artifact.Limits) int { return l.MessageID }, false, true},
	{"/messages/0/name", func(l artifact.Limits) int { return l.Name }, false, true},
	{"/messages/0/content", func(l artifact.Limits) int { return l.Content }, false, true},
	{"/error_code", func(l artifact.Limits) int { return l.ErrorCode }, false, false},
	{"/error_message", func(l artifact.Limits) int { return l.ErrorMessage }, false, false},
}

// TestArtifactLimits tests each limit at n and n+1, with characters of one to four bytes in
// UTF-8, one of which is a surrogate pair in UTF-16.
func TestArtifactLimits(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		for _, p := range artifact.Profiles() {
			n := text.limit(p.Limits())
			for _, c := range []string{"a", "é", "€", "🙂"} {
				checkVerdicts(t, text.pointer+" n "+c, set(failed(), text.pointer, strings.Repeat(c, n)), p, true)
				checkVerdicts(t, text.pointer+" n+1 "+c, set(failed(), text.pointer, strings.Repeat(c, n+1)), p, false)
				if text.ref {
					continue
				}
				// v1 counts white space at the ends, assay does not.
				padded := set(failed(), text.pointer, " "+strings.Repeat(c, n)+"\u3000")
				checkVerdicts(t, text.pointer+" padded "+c, padded, p, p == artifact.Assay)
				over := set(failed(), text.pointer, " "+strings.Repeat(c, 2*n+1))
				checkVerdicts(t, text.pointer+" padded, over twice the limit "+c, over, p, false)
			}
		}
	}
}

// TestArtifactCharacters tests every white space and control character, and their
// neighbours, in each string.
func TestArtifactCharacters(t *testing.T) {
	t.Parallel()
	tried := 0
	for r := rune(0); r < 0x10000; r++ {
		special := func(r rune) bool { return artifact.IsSpace(r) || unicode.IsControl(r) }
		if !special(r) && !special(r+1) && (r == 0 || !special(r-1)) {
			continue
		}
		tried++
		isSpace, isControl := artifact.IsSpace(r), unicode.IsControl(r)
		for _, text := range texts {
			alone := !isSpace && (text.control || !isControl)
			within := (!text.ref || !isSpace) && (text.control || !isControl)
			what := fmt.Sprintf("%s %U", text.pointer, r)
			both(t, what+" alone", set(failed(), text.pointer, string(r)), alone)
			both(t, what+" twice", set(failed(), text.pointer, string([]rune{r, r})), alone)
			both(t, what+" within", set(failed(), text.pointer, "a"+string(r)+"b"), within)
			both(t, what+" at the end", set(failed(), text.pointer, "🙂"+string(r)), within)
		}
	}
	if tried < 90 {
		t.Errorf("only %d characters", tried)
	}
	for _, text := range texts {
		both(t, text.pointer+" empty", set(failed(), text.pointer, ""), false)
		for _, link := range []string{"https://example.com", "://", "x://", "a://b", "//a", `\\a`, "WWW.a", "MailTo:a", "a.b/c", "u:p@a.b:1?", "LocalHost:1", "1.2.3.255:1", "[::1]#", "é.é/x", "🙂.🙂/x"} {
			both(t, text.pointer+" link", set(failed(), text.pointer, link), !text.ref)
		}
		for _, name := range []string{"urn:x:/y//z:", "/a", "www", "mail:to", "ſms:1", "a.b", "a.1/b", "🙂.1/x", "a..b/c", "localhost", "1.2.3.256:1", "[1]:1"} {
			both(t, text.pointer+" no link", set(failed(), text.pointer, name), true)
		}
	}
}

func TestArtifactTimes(t *testing.T) {
	good := []string{
		"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.1Z", "2026-01-31T12:00:00.123456Z", "2026-01-31T12:00:00.000000Z",
		"2026-01-31T12:00:00+00:00", "2026-01-31T12:00:00-00:00", "2026-01-31T12:00:00.5+23:59", "2026-01-31T12:00:00-23:59",
		"2024-02-29T23:59:59Z", "2026-12-31T00:00:00Z", "2026-04-30T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
		"0010-10-10T10:10:10Z", "0100-01-01T00:00:00Z",
	}
	bad := []string{
		"", " ", "2026-01-31", "2026-01-31T12:00Z", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-01-31t12:00:00Z", "2026-01-31T12:00:00z",
		"2026-01-31T12:00:00.Z", "2026-01-31T12:00:00.1234567Z", "2026-01-31T12:00:00,5Z", "2026-01-31T24:00:00Z", "2026-01-31T23:60:00Z",
		"2026-06-30T23:59:60Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-04-31T00:00:00Z", "2026-02-30T00:00:00Z",
		"0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-2026-01-31T12:00:00Z", "+2026-01-31T12:00:00Z", "226-01-31T12:00:00Z",
		"2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+01:60", "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+01", "2026-01-31T12:00:00+01:00:00",
		" 2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z ", "2026-01-31T12:00:00Z\n", "x2026-01-31T12:00:00Z", "2026-01-31T12:00:00ZZ", "٢٠٢٦-01-31T12:00:00Z", "1769860800",
	}
	for _, key := range []string{"started_at", "finished_at"} {
		for _, s := range good {
			o := finished()
			o["started_at"], o["finished_at"] = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"
			both(t, key+" "+s, set(o, key, s), true)
		}
		for _, s := range bad {
			both(t, key+" "+s, set(finished(), key, s), false)
		}
	}
}
