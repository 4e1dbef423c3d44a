package markup

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Each line of a tree says whether its value was kept, and the reason if not.
func TestTreeMarks(t *testing.T) {
	root := new(Mark)
	for _, o := range []project.Omission{
		{Pointer: "/protocolVersion", Reason: finding.KeyOutsideSubset},
		{Pointer: "/messages/1", Reason: finding.ContentMissing},
		{Pointer: "/messages/1/toolCalls", Reason: finding.KeyOutsideSubset},
		{Pointer: "/messages/2/content", Reason: finding.TextPartsJoined},
		{Pointer: "/messages/2/content/0/a~1b~0c", Reason: finding.KeyOutsideSubset},
	} {
		root.Add(o)
	}
	b, n := Content{}.AppendTree(nil, []byte(`{"type":"M","protocolVersion":1.0,"messages":[{"id":"a"},{"toolCalls":[{}]},{"content":[{"type":"text","a/b~c":null}],"none":[]}]}`), root, 1<<20)
	if n == 0 {
		t.Fatal("no tree")
	}
	tags := regexp.MustCompile(`<[^>]*>`)
	var got []string
	for line := range strings.Lines(string(b)) {
		class := regexp.MustCompile(`^<div class="ln i(\d+) (\w+)">`).FindStringSubmatch(line)
		if class == nil {
			t.Fatalf("%q", line)
		}
		if deleted := strings.Contains(line, "<del>"); deleted != (class[2] == left) || deleted != strings.Contains(line, "</del>") {
			t.Errorf("%q", line)
		}
		got = append(got, class[1]+" "+class[2]+" "+html.UnescapeString(strings.TrimSpace(tags.ReplaceAllString(line, ""))))
	}
	want := []string{
		`0 kept {`,
		`1 kept "type": "M",`,
		`1 left "protocolVersion": 1.0, left out: key_outside_subset`,
		`1 kept "messages": [`,
		`2 kept {`,
		`3 kept "id": "a"`,
		`2 kept },`,
		`2 left { left out: content_missing`,
		`3 left "toolCalls": [ left out: key_outside_subset`,
		`4 left {}`,
		`3 left ]`,
		`2 left },`,
		`2 kept {`,
		`3 changed "content": [ changed: text_parts_joined`,
		`4 kept {`,
		`5 kept "type": "text",`,
		`5 left "a/b~c": null left out: key_outside_subset`,
		`4 kept }`,
		`3 changed ],`,
		`3 kept "none": []`,
		`2 kept }`,
		`1 kept ]`,
		`0 kept }`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// value draws a JSON value.
func value(depth int) *rapid.Generator[any] {
	scalars := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int(), func(n int) any { return json.Number(fmt.Sprint(n)) }),
		rapid.Map(hostile(), func(s string) any { return strings.ToValidUTF8(s, "") }),
	)
	if depth == 0 {
		return scalars
	}
	return rapid.OneOf(scalars,
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(hostile(), value(depth-1), 0, 4), func(m map[string]any) any {
			clean := make(map[string]any)
			for k, v := range m {
				clean[strings.ToValidUTF8(k, "")] = v
			}
			return clean
		}),
	)
}

// Without its markup, a tree is the original JSON, and its values are inert. A tree that
// exceeds the limit is truncated and says so.
func TestTreeIsTheJSON(t *testing.T) {
	spans := regexp.MustCompile(`</?(div|del|span)( class="[a-z0-9 ]*")?>`)
	escape := strings.NewReplacer("\u007f", `\u007f`)
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "value")
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b, n := Content{}.AppendTree(nil, text, nil, 1<<20)
		if n != len(text) {
			t.Fatalf("%d of %d bytes of %s", n, len(text), text)
		}
		shown := spans.ReplaceAllString(string(b), "")
		inert(t, shown, ours.ReplaceAllString(shown, ""))
		if strings.Contains(shown, `<b class`) || len(text) > longText {
			return // replacements of characters are not JSON, and long strings are shown twice
		}
		if diff := cmp.Diff(json.RawMessage(text), compact(t, escape.Replace(html.UnescapeString(shown))), cmp.Transformer("text", func(r json.RawMessage) string { return string(r) })); diff != "" {
			t.Error(diff)
		}
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		b, n = Content{}.AppendTree(nil, text, nil, limit)
		if len(b) > limit+700 || n > len(text) {
			t.Errorf("%d bytes, limit %d, %d of %d read", len(b), limit, n, len(text))
		}
	})
}

func compact(t *rapid.T, text string) json.RawMessage {
	var b strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inString && c == '\\' {
			b.WriteByte(c)
			i++
			c = text[i]
		} else if c == '"' {
			inString = !inString
		} else if !inString && (c == ' ' || c == '\n') {
			continue
		}
		b.WriteByte(c)
	}
	return json.RawMessage(b.String())
}

// The size of a tree stays within the limit for texts of every form.
func TestTreeIsBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"deep":     strings.Repeat("[", 512) + strings.Repeat("]", 512),
		"wide":     "[" + strings.Repeat("1,", 1<<19) + "1]",
		"word":     `"` + strings.Repeat("w", 1<<20) + `"`,
		"controls": `["` + strings.Repeat("\u202e", 1<<18) + `"]`,
		"name":     `{"` + strings.Repeat("n", 1<<20) + `":{"a":1}}`,
	} {
		for _, limit := range []int{0, 1, 1 << 10, 1 << 16} {
			b, n := Content{}.AppendTree(nil, []byte(text), new(Mark), limit)
			if len(b) > limit+1<<10 {
				t.Errorf("%s: %d bytes, limit %d", name, len(b), limit)
			}
			if n >= len(text) && name != "deep" {
				t.Errorf("%s is not cut at %d", name, limit)
			}
		}
		if _, n := (Content{}).AppendTree(nil, []byte(text), new(Mark), 1<<27); n != len(text) {
			t.Errorf("%s: %d of %d", name, n, len(text))
		}
	}
}
