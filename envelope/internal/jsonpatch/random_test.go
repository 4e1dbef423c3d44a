package jsonpatch

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// randomPatch returns a document and a patch. Most operations apply; the others are wrong
// in ways that tell implementations apart.
func randomPatch(r *rand.Rand) (doc, patch string) {
	g := generator{r: r}
	doc = g.value(4)
	if g.chance(5) {
		doc = pickFrom(r, `null`, `0`, `-0.0`, `5`, `""`, `"ab😀\ud83dc"`, `true`, `false`, `[]`, `{}`, `[[[1,2],3],{"a":[0]}]`)
	}
	g.doc = parse(doc)
	var ops []string
	for range 1 + r.IntN(4) {
		ops = append(ops, g.operation())
	}
	return doc, "[" + strings.Join(ops, ",") + "]"
}

type generator struct {
	r   *rand.Rand
	doc jsonvalue.Value
}

func parse(text string) jsonvalue.Value {
	v, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), []byte(text))
	if err != nil {
		panic(err)
	}
	return jsonvalue.Parse(v)
}

func (g generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func pickFrom(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func (g generator) name() string {
	if g.chance(6) {
		return pickFrom(g.r, "length", "toString", "constructor", "hasOwnProperty", "undefined", "newDocument", "test", "~", "/", "", "01", "\\ud83d", "é", "map", "toFixed", "at")
	}
	return pickFrom(g.r, "a", "b", "c", "0", "1")
}

func (g generator) value(depth int) string {
	if depth > 0 && g.chance(75) {
		if g.chance(50) {
			var elements []string
			for range g.r.IntN(4) {
				elements = append(elements, g.value(depth-1))
			}
			return "[" + strings.Join(elements, ",") + "]"
		}
		var members []string
		seen := map[string]bool{}
		for range g.r.IntN(4) {
			if name := g.name(); !seen[name] {
				seen[name] = true
				members = append(members, fmt.Sprintf(`"%s":%s`, name, g.value(depth-1)))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return pickFrom(g.r, `null`, `true`, `false`, `0`, `1`, `1.0`, `10e-1`, `-0`, `2.5`, `9007199254740993`, `9007199254740992`, `1e-400`, `""`, `"a"`, `"\ud83d"`, `"😀"`, `[]`, `{}`)
}

func (g generator) token() string {
	if g.chance(8) {
		return pickFrom(g.r, "-", "-1", "01", "007", "9", "4294967295", "4294967296", "4294967297", "2147483648", "99999999999999999999", "1e0", " 1", "+1", "~2", "~", "~0", "~1", "__proto__", "prototype", "constructor", "toString", "length", "", "map", "splice", "\\ud83d", "%61")
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(g.name())
}

func (g generator) pointer() string {
	if g.chance(6) {
		return ""
	}
	var p strings.Builder
	if g.chance(3) {
		p.WriteString(pickFrom(g.r, "x", "a", "constructor", "0"))
		if g.chance(20) {
			return p.String()
		}
	}
	if g.chance(85) {
		p.WriteString(g.place())
	}
	if p.Len() == 0 || g.chance(10) {
		for range 1 + g.r.IntN(2) {
			p.WriteString("/" + g.token())
		}
	}
	return p.String()
}

// place returns a pointer to a value of the document, or to a new one.
func (g generator) place() string {
	p := ""
	for v := g.doc; ; {
		name := ""
		switch in := v.(type) {
		case *jsonvalue.Array:
			i := g.r.IntN(in.Len() + 1)
			if i == in.Len() {
				return p + "/" + pickFrom(g.r, "-", fmt.Sprint(i))
			}
			name, v = fmt.Sprint(i), in.At(i)
		case *jsonvalue.Object:
			i := g.r.IntN(in.Len() + 1)
			if i == in.Len() {
				return p + "/" + g.token()
			}
			for key, m := range in.All {
				if i == 0 {
					name, v = strings.NewReplacer("~", "~0", "/", "~1").Replace(key), m
				}
				i--
			}
		default:
			return p
		}
		quoted := jsonvalue.AppendString(nil, name)
		if p += "/" + string(quoted[1:len(quoted)-1]); g.chance(40) {
			return p
		}
	}
}

func (g generator) operation() string {
	if g.chance(2) {
		return pickFrom(g.r, `null`, `[]`, `"add"`, `{}`, `{"op":"add"}`, `{"op":"add","path":7,"value":1}`, `{"path":"/a","value":1}`, `{"op":null,"path":"/a","value":1}`, `{"op":"move","from":7,"path":"/a"}`)
	}
	op := pickFrom(g.r, "add", "add", "add", "remove", "replace", "move", "move", "copy", "copy", "test")
	if g.chance(3) {
		op = pickFrom(g.r, "Add", "", "x", "increment")
	}
	if op == "test" && g.chance(80) {
		// A value that is there.
		p := g.place()
		if v, err := (&Document{root: g.doc}).find(string(parse(`"` + p + `"`).(string))); err == nil {
			return fmt.Sprintf(`{"op":"test","path":"%s","value":%s}`, p, jsonvalue.Append(nil, v))
		}
	}
	text := fmt.Sprintf(`{"op":"%s","path":"%s"`, op, g.pointer())
	if wants := op == "add" || op == "replace" || op == "test"; wants != g.chance(2) {
		text += `,"value":` + g.value(2)
	}
	if wants := op == "move" || op == "copy"; wants != g.chance(2) {
		text += fmt.Sprintf(`,"from":"%s"`, g.pointer())
	}
	return text + "}"
}
