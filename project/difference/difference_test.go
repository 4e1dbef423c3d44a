package difference_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/project/difference"
)

func TestOf(t *testing.T) {
	t.Parallel()
	one := func(id string) artifact.Message {
		return artifact.Message{ID: id, Role: "user", Content: "text of " + id}
	}
	with := func(m artifact.Message, change func(*artifact.Message)) artifact.Message {
		change(&m)
		return m
	}
	list := func(m ...artifact.Message) []artifact.Message { return m }
	for _, c := range []struct {
		name string
		a, b artifact.Artifact
		want []string
		same int
	}{
		{"nothing", artifact.Artifact{}, artifact.Artifact{}, nil, 0},
		{"keys", artifact.Artifact{RunIDRef: "r", ErrorCode: "x"}, artifact.Artifact{RunIDRef: "s", ParentRunIDRef: "p"},
			[]string{"/run_id_ref  changed", "/parent_run_id_ref  added", "/error_code  removed"}, 0},
		{"later", artifact.Artifact{StartedAt: "2026-01-31T12:00:00Z"}, artifact.Artifact{StartedAt: "2026-01-31T14:00:01.5+02:00"},
			[]string{"/started_at  changed 1500000"}, 0},
		{"the same instant", artifact.Artifact{FinishedAt: "2026-01-31T12:00:00Z"}, artifact.Artifact{FinishedAt: "2026-01-31T12:00:00.0Z"},
			[]string{"/finished_at  changed 0"}, 0},
		{"9998 years", artifact.Artifact{FinishedAt: "0001-01-01T00:00:00Z"}, artifact.Artifact{FinishedAt: "9999-01-01T00:00:00Z"},
			[]string{"/finished_at  changed 315506361600000000"}, 0},
		{"one time only", artifact.Artifact{}, artifact.Artifact{FinishedAt: "2026-01-31T12:00:00Z"}, []string{"/finished_at  added"}, 0},
		{"a message more", artifact.Artifact{Messages: list(one("1"), one("2"))}, artifact.Artifact{Messages: list(one("1"), one("3"), one("2"))},
			[]string{"/messages/1  added"}, 2},
		{"a message less", artifact.Artifact{Messages: list(one("1"), one("3"), one("2"))}, artifact.Artifact{Messages: list(one("1"), one("2"))},
			[]string{"/messages/1  removed"}, 2},
		{"another message", artifact.Artifact{Messages: list(one("1"))}, artifact.Artifact{Messages: list(one("2"))},
			[]string{"/messages/0  removed", "/messages/0  added"}, 0},
		{"moved", artifact.Artifact{Messages: list(one("1"), one("2"), one("3"))}, artifact.Artifact{Messages: list(one("2"), one("3"), one("1"))},
			[]string{"/messages/0 /messages/2 moved"}, 2},
		{"changed", artifact.Artifact{Messages: list(one("1"))},
			artifact.Artifact{Messages: list(one("0"), with(one("1"), func(m *artifact.Message) { m.Role, m.Content, m.Name = "tool", "x", "n" }))},
			[]string{"/messages/0  added", "/messages/0/role /messages/1/role changed", "/messages/0/content /messages/1/content changed", "/messages/0/name /messages/1/name added"}, 0},
		{"another id", artifact.Artifact{Messages: list(one("1"), one("2"))},
			artifact.Artifact{Messages: list(with(one("1"), func(m *artifact.Message) { m.ID = "9" }), one("2"))},
			[]string{"/messages/0/id  changed"}, 1},
		{"the id before the text", artifact.Artifact{Messages: list(one("1"))},
			artifact.Artifact{Messages: list(with(one("1"), func(m *artifact.Message) { m.ID = "9" }), with(one("1"), func(m *artifact.Message) { m.Content = "x" }))},
			[]string{"/messages/0  added", "/messages/0/content /messages/1/content changed"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, same := difference.Compare(&c.a, &c.b)
			var lines []string
			for _, d := range got {
				line := fmt.Sprintf("%s %s %s", d.Pointer, d.PointerB, d.Kind)
				if d.Microseconds != nil {
					line += fmt.Sprintf(" %d", *d.Microseconds)
				}
				lines = append(lines, line)
			}
			if diff := cmp.Diff(c.want, lines); diff != "" || same != c.same {
				t.Errorf("%d the same, want %d (-want +got)\n%s", same, c.same, diff)
			}
		})
	}
}

// someArtifact draws from a few values only, so that two artifacts have much in common.
var someArtifact = rapid.Custom(func(t *rapid.T) *artifact.Artifact {
	draw := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	a := artifact.New()
	a.ThreadIDRef, a.RunIDRef, a.ParentRunIDRef = draw("thread", "t", "u"), draw("run", "r", "s"), draw("parent", "", "p", "q")
	times := []string{"2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", "2026-02-01T00:00:00Z"}
	a.StartedAt, a.FinishedAt = draw("start", times...), draw("finish", append(times, "")...)
	a.TerminalEvent, a.ErrorCode, a.ErrorMessage = draw("end", artifact.RunFinished, artifact.RunError), draw("code", "", "c"), draw("error", "", "e", "f")
	ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 12), 0, 8, rapid.ID[int]).Draw(t, "ids")
	for _, id := range ids {
		a.Messages = append(a.Messages, artifact.Message{
			ID: strconv.Itoa(id), Role: draw("role", "user", "assistant"), Content: draw("content", "x", "y", "z"), Name: draw("name", "", "n", "m"),
		})
	}
	return a
})

func TestOfItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := someArtifact.Draw(t, "a")
		if list, same := difference.Compare(a, a); len(list) != 0 || same != len(a.Messages) {
			t.Errorf("%d of %d the same, %v", same, len(a.Messages), list)
		}
	})
}

// Applying the differences to A results in B. So the list is complete and correct.
func TestOfApplied(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := someArtifact.Draw(t, "a"), someArtifact.Draw(t, "b")
		list, _ := difference.Compare(a, b)
		got := apply(t, a, list, len(b.Messages))
		if diff := cmp.Diff(string(artifact.Encode(b)), string(artifact.Encode(got))); diff != "" {
			t.Errorf("(-B +applied to A)\n%s\n%v", diff, list)
		}
	})
}

// apply applies the differences to a copy of a.
func apply(t *rapid.T, a *artifact.Artifact, list []difference.Difference, n int) *artifact.Artifact {
	out := *a
	keys := func(name string) *string {
		return map[string]*string{
			"thread_id_ref": &out.ThreadIDRef, "run_id_ref": &out.RunIDRef, "parent_run_id_ref": &out.ParentRunIDRef,
			"started_at": &out.StartedAt, "finished_at": &out.FinishedAt,
			"terminal_event": &out.TerminalEvent, "error_code": &out.ErrorCode, "error_message": &out.ErrorMessage,
		}[name]
	}
	left := map[int]*artifact.Message{}
	for i, m := range a.Messages {
		left[i] = &m
	}
	made := make([]*artifact.Message, n)
	index := func(p string) int {
		i, err := strconv.Atoi(strings.Split(p, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for _, d := range list { // keys first: messages keep their index in A
		parts := strings.Split(string(d.Pointer), "/")
		to := keys(parts[1])
		if len(parts) == 4 {
			m := left[index(string(d.Pointer))]
			to = map[string]*string{"id": &m.ID, "role": &m.Role, "content": &m.Content, "name": &m.Name}[parts[3]]
		}
		if to == nil {
			continue
		}
		was, _ := d.A.(string)
		if *to != was {
			t.Fatalf("%s is %q in A, not %q", d.Pointer, *to, was)
		}
		*to, _ = d.B.(string)
	}
	for _, d := range list {
		if strings.Count(string(d.Pointer), "/") != 2 {
			continue
		}
		at := index(string(d.Pointer))
		switch d.Kind {
		case difference.Added:
			m := d.B.(artifact.Message)
			made[at] = &m
		case difference.Removed:
			delete(left, at)
		case difference.Moved:
			to := at
			if d.PointerB != "" {
				to = index(string(d.PointerB))
			}
			made[to] = left[at]
			delete(left, at)
		}
	}
	next := 0
	for i := range a.Messages {
		if left[i] == nil {
			continue
		}
		for made[next] != nil {
			next++
		}
		made[next] = left[i]
	}
	out.Messages = nil
	for _, m := range made {
		out.Messages = append(out.Messages, *m)
	}
	return &out
}
