package judge

import (
	"strconv"
	"strings"
)

// word returns the inside of a JSON string. Halves of surrogate pairs that follow each
// other may join.
func (s *stream) word() string {
	n := s.r.IntN(16)
	switch {
	case n < 9:
		return pick(s, []string{"hello", "world", " ", "a", "42", "the answer", "x."})
	case n < 11:
		return pick(s, []string{"ü", "日本", "😀", `\ud83d\ude00`, `\u00e9`, `\u2028`, " ", "<&>"})
	case n < 12:
		return pick(s, []string{`\n`, `\"`, `\\`, `\/`, `\u0000`, `\u001f`, `\\ud83d`})
	case n < 14 && s.g.has(Surrogates):
		return pick(s, []string{`\ud83d`, `\ude00`, `\uDE00`, `\ud83d\ud83d`})
	}
	return ""
}

// text returns a JSON string.
func (s *stream) text() string {
	var b strings.Builder
	for range s.r.IntN(4) {
		b.WriteString(s.word())
	}
	return `"` + b.String() + `"`
}

// delta returns a part of an entity as a JSON string.
func (s *stream) delta(k kind) string {
	if k == tool && s.chance(70) {
		return pick(s, []string{`"{"`, `"{\"q\":"`, `"1"`, `"\"a\""`, `"}"`, `"[]"`, `"{\"city\": \"Köln\", \"n\": 1.0}"`, `""`})
	}
	return s.text()
}

// number returns a JSON number.
func (s *stream) number() string {
	if s.may(Numbers, 30) {
		return pick(s, []string{"9007199254740993", "1e21", "1.0", "-0", "1E2", "0.1", "123456789012345678901234567890", "-1.50", "5e-324", "1e-7"})
	}
	return strconv.Itoa(s.r.IntN(100) - 10)
}

// key returns a key, from few so that paths meet.
func (s *stream) key() string {
	return pick(s, []string{"a", "b", "c", "list", "0", "10", "a/b", "m~n", "", "ü", "d e"})
}

// value returns a JSON value of at most a depth.
func (s *stream) value(depth int) string {
	n := s.r.IntN(10)
	if depth == 0 && n > 6 {
		n = 0
	}
	switch n {
	case 0, 1:
		return s.number()
	case 2, 3:
		return s.text()
	case 4:
		return "null"
	case 5, 6:
		return pick(s, []string{"true", "false"})
	case 7:
		var elements []string
		for range s.r.IntN(4) {
			elements = append(elements, s.value(depth-1))
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	return s.object(depth - 1)
}

func (s *stream) object(depth int) string {
	var f fields
	for range s.r.IntN(4) {
		if k := s.key(); !f.has(k) {
			f = f.add(k, s.value(depth))
		}
	}
	return f.object()
}

func (s *stream) notNull() string {
	for {
		if v := s.value(2); v != "null" {
			return v
		}
	}
}

func (s *stream) metadata() string {
	var f fields
	for range s.r.IntN(4) {
		if k := pick(s, []string{"a", "b", "usage", "finish", "1"}); !f.has(k) {
			f = f.add(k, s.value(2))
		}
	}
	return f.object()
}

func (s *stream) usage() string {
	return `[{"provider":"p","model":` + s.text() + `,"inputTokens":` + strconv.Itoa(s.r.IntN(100)) + `,"outputTokens":0},{}]`
}

func (s *stream) interrupt() string {
	f := fields{"id", quote("i" + strconv.Itoa(s.r.IntN(3))), "reason", s.text()}
	if s.chance(40) {
		f = f.add("message", s.text())
	}
	if len(s.calls) > 0 && s.chance(40) {
		f = f.add("toolCallId", quote(pick(s, s.calls)))
	}
	if s.chance(30) {
		f = f.add("responseSchema", `{"type":"object"}`)
	}
	if o := s.anyOwner(); o.tagged {
		f = f.add("subagentRunId", quote(o.id))
	}
	return f.object()
}

// content returns a text or content parts.
func (s *stream) content() string {
	if s.chance(75) {
		return s.text()
	}
	var parts []string
	for range s.r.IntN(3) {
		f := fields{"type", `"text"`, "text", s.text()}
		if s.chance(60) {
			source := pick(s, []string{
				`{"type":"data","value":"QUJD","mimeType":"image/png"}`,
				`{"type":"url","value":"https://example.org/a.png"}`,
				`{"type":"file","value":"file-1","provider":"p"}`,
			})
			f = fields{"type", pick(s, []string{`"image"`, `"audio"`, `"video"`, `"document"`}), "source", source}
		}
		if s.chance(25) {
			f = f.add("id", s.text())
		}
		if s.chance(25) {
			f = f.add("metadata", s.notNull())
		}
		parts = append(parts, f.object())
	}
	if s.may(UnknownKinds, 30) {
		parts = append(parts, pick(s, []string{
			`{"type":"hologram","text":"h"}`, `{"type":"image","source":{"type":"ipfs","value":"v"}}`,
			`{"type":"image","source":{"type":"url","value":"v","extra":1}}`, `{"type":"text","text":"t","extra":{}}`,
		}))
	}
	if s.may(Legacy, 50) {
		parts = append(parts, `{"type":"binary","mimeType":"image/png","data":"QUJD","filename":"a.png"}`)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// optional returns at most two of the ids, as elements of a JSON array.
func (s *stream) optional(ids []string) string {
	var some []string
	for range s.r.IntN(3) {
		if len(ids) > 0 {
			some = append(some, quote(pick(s, ids)))
		}
	}
	return strings.Join(some, ",")
}
