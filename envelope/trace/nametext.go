package trace

import (
	"bytes"
	"iter"
	"strings"

	"github.com/p20export/p20export/internal/strictjson"
)

// In a line, every string that looks like a name is one. In a string that begins with "/", a JSON
// Pointer, so is every token, and in any other string every part between quotes, which is a string
// of JSON text. Anything else that would look like a name has a prefix (TR2).

// roleIn returns the role of a name, and 0 if s does not look like one.
func roleIn(s string) role {
	at := strings.LastIndexByte(s, '-')
	if at < 0 || at+1 == len(s) || strings.Trim(s[at+1:], "0123456789") != "" {
		return 0
	}
	for r := roleThread; r < roles; r++ {
		if r.String() == s[:at] {
			return r
		}
	}
	return 0
}

// likeName reports whether a string could be taken for a name, or for a pointer with one.
func likeName(s string) bool {
	s = strings.TrimLeft(s, "=")
	if !strings.HasPrefix(s, "/") {
		return roleIn(s) != 0
	}
	for token := range strings.SplitSeq(s[1:], "/") {
		if roleIn(token) != 0 {
			return true
		}
	}
	return false
}

// quoted returns the length of a name between quotes at the beginning of s, with the quotes, or
// 0. The name may have prefixes.
func quoted(s string) int {
	end := strings.IndexByte(s[1:], '"') + 1
	if end == 0 || roleIn(strings.TrimLeft(s[1:end], "=")) == 0 {
		return 0
	}
	return end + 1
}

// quotedNames returns a text with what each name between quotes in it is replaced by.
func quotedNames(s string, replace func(name string) string) string {
	var b strings.Builder
	done := 0
	for i := 0; ; {
		at := strings.IndexByte(s[i:], '"')
		if at < 0 {
			break
		}
		i += at
		n := quoted(s[i:])
		if n == 0 {
			i++
			continue
		}
		b.WriteString(s[done : i+1])
		b.WriteString(replace(s[i+1 : i+n-1]))
		i += n - 1 // the quote can begin another one
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// literal returns what stands for a string that is no id. One that looks like a name gets a
// prefix, and so does a part between quotes that does.
func literal(s string) string {
	prefix := ""
	if likeName(s) {
		prefix = "="
	}
	return prefix + quotedNames(s, func(name string) string { return "=" + name })
}

// text returns what stands for a text. If it is a JSON object or array, the strings in it that
// equal ids are replaced.
func (n *names) text(s string) string {
	switch {
	case n.found != nil:
		return s
	case !isJSON(s):
		return literal(s)
	}
	var b strings.Builder
	done := 0
	for i := strings.IndexByte(s, '"'); i >= 0; {
		end := i + 1
		for s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		content, _ := strictjson.Unquote([]byte(s[i : end+1]))
		switch {
		case n.known.roles[content] != 0:
			b.WriteString(s[done:i+1] + n.name(0, content))
			done = end
		case roleIn(strings.TrimLeft(content, "=")) != 0:
			b.WriteString(s[done:i+1] + "=" + content)
			done = end
		}
		next := strings.IndexByte(s[end+1:], '"')
		if next < 0 {
			break
		}
		i = end + 1 + next
	}
	b.WriteString(s[done:])
	return b.String()
}

// isJSON reports whether a text is a JSON object or array with strings or names.
func isJSON(s string) bool {
	t := strings.TrimLeft(s, " \t\r\n")
	if t == "" || t[0] != '{' && t[0] != '[' || !strings.Contains(t, `"`) {
		return false
	}
	_, err := parse([]byte(s))
	return err == nil
}

// namesIn yields the place of each name in the text of a line.
func namesIn(text []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i, strings := 0, 0; ; strings++ {
			quote := bytes.IndexByte(text[i:], '"')
			if quote < 0 {
				return
			}
			start := i + quote + 1
			end, inner := start, 0 // inner is after the last quote in the string
			for text[end] != '"' {
				if text[end] != '\\' {
					end++
					continue
				}
				if text[end+1] == '"' && text[start] != '/' { // a pointer has names as tokens
					if inner > 0 && roleIn(string(text[inner:end])) != 0 && !yield(inner, end) {
						return
					}
					inner = end + 2
				}
				end += 2
			}
			i = end + 1
			if strings < 2 || start == end { // the type of the event
				continue
			}
			if text[start] != '/' {
				if roleIn(string(text[start:end])) != 0 && !yield(start, end) {
					return
				}
				continue
			}
			for start < end {
				start++
				to := end
				if slash := bytes.IndexByte(text[start:end], '/'); slash >= 0 {
					to = start + slash
				}
				if roleIn(string(text[start:to])) != 0 && !yield(start, to) {
					return
				}
				start = to
			}
		}
	}
}
