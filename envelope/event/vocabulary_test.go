package event_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/internal/testkit"
)

// TestVocabulary compares the tables of docs/vocabulary.md with the code.
func TestVocabulary(t *testing.T) {
	const path = "../../docs/vocabulary.md"
	want := string(testkit.Read(t, path))
	got := want
	for name, table := range map[string]string{"events": eventTable(t), "messages": messageTable(), "objects": objectTable(), "tolerances": toleranceTable()} {
		got = replaced(t, got, name, table)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it\n%s", path, diff)
	}
}

// replaced replaces the text between the comment with the given name and the next one.
func replaced(t *testing.T, page, name, table string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "<!-- "+name)
	comment, rest, closed := strings.Cut(rest, "-->\n")
	_, after, ends := strings.Cut(rest, "<!-- end -->")
	if !ok || !closed || !ends {
		t.Fatalf("the page has no table %q", name)
	}
	return before + "<!-- " + name + comment + "-->\n" + table + "<!-- end -->" + after
}

// row lists the fields of an object that are not in the list without.
func row(what string, without ...string) string {
	var cells []string
	for _, f := range event.Fields(what) {
		if strings.Contains(" "+strings.Join(without, " ")+" ", " "+f.Name+" ") {
			continue
		}
		cell := "`" + f.Name + "`"
		if !f.Required {
			cell = "*" + cell + "*"
		}
		var notes []string
		if f.Kind != "a string" {
			notes = append(notes, f.Kind)
		}
		if f.Since != "" {
			notes = append(notes, "since "+string(f.Since))
		}
		if f.Legacy {
			notes = append(notes, "0.x: null")
		}
		if len(notes) > 0 {
			cell += " (" + strings.Join(notes, "; ") + ")"
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, ", ")
}

func eventTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n| event | Go type | fields |\n|---|---|---|\n")
	for _, what := range append(event.Types(), event.Retired()...) {
		e, err := event.Decode([]byte(valid(first{}, what, "", nil)), event.Tolerant(nil))
		if err != nil {
			t.Fatal(err)
		}
		note := ""
		switch {
		case strings.HasPrefix(what, "THINKING"):
			note = " (0.x)"
		case what == "META":
			note = " (draft)"
		}
		fmt.Fprintf(&b, "| %s%s | `%s` | %s |\n", what, note, reflect.TypeOf(e).Elem().Name(), row(what, "timestamp", "rawEvent", "metadata"))
	}
	return b.String() + "\n"
}

func messageTable() string {
	var b strings.Builder
	b.WriteString("\n| role | Go type | fields |\n|---|---|---|\n")
	for _, role := range event.Roles() {
		fmt.Fprintf(&b, "| %s | `%sMessage` | %s |\n", role, strings.ToUpper(role[:1])+role[1:], row("message "+role, "id", "subagentRunId", "metadata"))
	}
	return b.String() + "\n"
}

func objectTable() string {
	var b strings.Builder
	b.WriteString("\n| object | fields |\n|---|---|\n")
	for _, name := range event.Records() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, row(name))
	}
	for _, part := range event.Parts() {
		of := "`MediaPart`"
		switch part {
		case "text":
			of = "`TextPart`"
		case "binary":
			of = "0.x: `BinaryPart`"
		}
		fmt.Fprintf(&b, "| a part of type `%s` (%s) | %s |\n", part, of, row("part "+part))
	}
	return b.String() + "\n"
}

func toleranceTable() string {
	var b strings.Builder
	b.WriteString("\n| tolerance | found | becomes | the reference client |\n|---|---|---|---|\n")
	for _, info := range event.Tolerances() {
		fmt.Fprintf(&b, "| <a id=\"%[1]s\"></a>`%[1]s` | %s | %s | %s |\n", info.Tolerance, info.Found, info.Becomes, info.Client)
	}
	return b.String() + "\n"
}
