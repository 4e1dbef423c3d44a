package event_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// chooser makes the choices of a generated event.
type chooser interface {
	// n returns a number from 0 to limit-1.
	n(limit int) int
}

// first always chooses the first, which gives the smallest valid event.
type first struct{}

func (first) n(int) int { return 0 }

type random struct{ *rapid.T }

func (r random) n(limit int) int { return rapid.IntRange(0, limit-1).Draw(r.T, "n") }

func one[T any](c chooser, all ...T) T { return all[c.n(len(all))] }

// valid returns the JSON text of a valid object: an event, "message ROLE", "part TYPE", or
// a record. It leaves out the field without, and gives the fields of set their values.
func valid(c chooser, what, without string, set map[string]string) string {
	var members []string
	add := func(name, value string) {
		if name != without {
			members = append(members, fmt.Sprintf("%q:%s", name, value))
		}
	}
	kind, arg, _ := strings.Cut(what, " ")
	skip := []string{}
	switch {
	case kind == "message":
		add("role", quoted(arg))
	case kind == "part":
		add("type", quoted(arg))
	case what == "Outcome":
		arg = one(c, "success", "interrupt", "cancelled")
		skip = map[string][]string{"success": {"interrupts"}, "interrupt": {"pendingToolCallIds"}, "cancelled": {"pendingToolCallIds", "interrupts"}}[arg]
	case what == "SubagentOutcome":
		arg = one(c, "success", "suspended")
		skip = map[string][]string{"success": {"interruptIds"}}[arg]
	case what == "Source":
		arg = one(c, "url", "file", "data")
		if arg == "data" {
			set = map[string]string{"mimeType": `"image/png"`}
		}
		if arg != "file" {
			skip = []string{"provider"}
		}
	case what == "Operation":
		arg = one(c, "remove", "add", "replace", "move", "copy", "test")
		skip = []string{"from", "value"}
		switch arg {
		case "add", "replace", "test":
			skip = []string{"from"}
			set = map[string]string{"value": value(c, "any JSON")}
		case "move", "copy":
			skip = []string{"value"}
			set = map[string]string{"from": value(c, "a JSON Pointer")}
		}
	case !slices.Contains(event.Records(), what):
		add("type", quoted(what))
	}
	for _, f := range event.Fields(what) {
		v, chosen := set[f.Name]
		switch {
		case slices.Contains(skip, f.Name):
		case chosen:
			add(f.Name, v)
		case f.Name == "type" && arg != "", f.Name == "op":
			add(f.Name, quoted(arg))
		case f.Required || c.n(3) == 1:
			v := value(c, f.Kind)
			if v == "null" && !f.Required && f.Name != "state" {
				v = "0"
			}
			add(f.Name, v)
		}
	}
	if _, ok := c.(first); !ok && c.n(9) == 1 {
		add("x-unknown", value(c, "any JSON"))
	}
	for i := len(members) - 1; i > 0; i-- {
		j := i - c.n(i+1)
		members[i], members[j] = members[j], members[i]
	}
	space := one(c, "", " ", "\n\t")
	return "{" + space + strings.Join(members, space+","+space) + space + "}"
}

// value returns a valid value of a kind.
func value(c chooser, kind string) string {
	of, isArray := strings.CutPrefix(kind, "an array of ")
	switch {
	case isArray:
		n := c.n(3)
		if of == "Interrupt" {
			n++
		}
		var elements []string
		for range n {
			elements = append(elements, value(c, of))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case kind == "a string" || kind == "strings":
		return one(c, `""`, `"a"`, `"m1"`, `"Ünï 😀"`, `"\ud83d"`, `"\ude00\ud83d\ude00"`, `"\u0000\"\\\/\b"`)
	case kind == "an integer":
		return one(c, "0", "-0", "1716400000123", "-9007199254740991", "9007199254740991", "1.5e3", "10.0", "1E2", "0.0e-5", "123000e-3")
	case kind == "a count":
		return one(c, "0", "7", "9007199254740991", "1e3", "2.0")
	case kind == "a boolean":
		return one(c, "true", "false")
	case kind == "a JSON Pointer":
		return one(c, `""`, `"/"`, `"/a/0"`, `"/a~1b~0\n"`)
	case kind == "any object":
		return one(c, `{}`, `{"a":null}`, `{"ag-ui":{"n":1.10},"\ud800":[]}`)
	case kind == "any JSON":
		return one(c, `null`, `0`, `-1.50e+400`, `""`, `"\udfff"`, `[]`, `[ null,{} ]`, `{"b":1,"a":{"c":[9007199254740993]}}`, `false`)
	case kind == "a string or an array of parts":
		return one(c, value(c, "a string"), value(c, "an array of parts"))
	case kind == "parts":
		return valid(c, "part "+one(c, "text", "image", "audio", "video", "document"), "", nil)
	case kind == "messages":
		return valid(c, "message "+one(c, event.Roles()...), "", nil)
	case slices.Contains(event.Records(), kind):
		return valid(c, kind, "", nil)
	}
	return quoted(one(c, strings.Split(kind, ", ")...))
}

func quoted(s string) string { return string(jsonvalue.AppendString(nil, s)) }

// TestIdentity checks on generated events of AG-UI 1.0 that a strict decode accepts them,
// and that they are written with the same value.
func TestIdentity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := []byte(valid(random{r}, rapid.SampledFrom(event.Types()).Draw(r, "type"), "", nil))
		if _, err := event.Decode(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		laws(t, text)
	})
}

// TestStreams does the same with the streams that the other packages are tested with.
func TestStreams(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 17))
		for _, text := range judge.Generate(r, judge.Generator{}) {
			if _, err := event.Decode([]byte(text)); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			laws(t, []byte(text))
		}
		old := judge.Generate(r, judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches})
		for _, text := range judge.Damage(r, old) {
			laws(t, []byte(text))
		}
	}
}

// TestMessagesAndInputs checks that messages and inputs are decoded and written on their
// own.
func TestMessagesAndInputs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := []byte(valid(random{r}, "message "+rapid.SampledFrom(event.Roles()).Draw(r, "role"), "", nil))
		m, err := event.DecodeMessage(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if out := event.AppendMessage(nil, m); !sameJSON(t, text, out) || string(m.Common().Raw) != string(text) {
			t.Fatalf("%s is written as\n%s", text, out)
		}
		text = []byte(valid(random{r}, "RunAgentInput", "", nil))
		in, err := event.DecodeRunInput(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if out := event.AppendRunInput(nil, in); !sameJSON(t, text, out) || string(in.Raw) != string(text) {
			t.Fatalf("%s is written as\n%s", text, out)
		}
	})
	for text, want := range map[string]string{
		`[]`:              "event_not_object: the message is an array where an object belongs",
		`{"id":"1"}`:      "the message has no role that AG-UI defines at byte 0",
		`{"role":"tool"}`: "/id is missing at byte 0, and 2 more",
	} {
		if m, err := event.DecodeMessage([]byte(text)); err == nil || m != nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if m, err := event.DecodeMessage([]byte(`{"role":"tool","id":"x"}`), event.Tolerant(nil)); err != nil || m.Role() != "tool" || m.Common().ID != "x" {
		t.Errorf("%#v, %v", m, err)
	}
	if _, err := event.DecodeRunInput([]byte(`{"threadId":"t"}`), event.Tolerant(nil)); err == nil || err.Error() != "/runId is missing at byte 0, and 1 more" {
		t.Error(err)
	}
}

// variant is an event with one field that is absent, null, or of a wrong kind.
type variant struct{ name, text string }

// variants returns them for every field of every type of event.
func variants() (all []variant) {
	for _, what := range event.Types() {
		for _, f := range event.Fields(what) {
			wrong := "7"
			if strings.Contains(f.Kind, "integer") {
				wrong = `"7"`
			}
			for _, v := range []struct{ name, value string }{{"null", "null"}, {"wrong", wrong}} {
				all = append(all, variant{what + " " + f.Name + " " + v.name, valid(first{}, what, "", map[string]string{f.Name: v.value})})
			}
			all = append(all, variant{what + " " + f.Name + " absent", valid(first{}, what, f.Name, nil)})
		}
	}
	return all
}

// TestMatrix compares what is decided about each variant with a list.
func TestMatrix(t *testing.T) {
	var b strings.Builder
	for _, v := range variants() {
		laws(t, []byte(v.text))
		faults, err := event.Check([]byte(v.text), event.Auto)
		if err != nil {
			t.Fatalf("%s: %v", v.text, err)
		}
		decision := list(faults)
		if decision == "" {
			decision = "valid"
		}
		fmt.Fprintf(&b, "%s: %s\n", v.name, decision)
	}
	golden(t, "matrix.txt", b.String())
}
