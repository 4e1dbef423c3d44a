package analysis

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// Field is a key of an event of the envelope, or of a message in its snapshot.
type Field struct {
	// Event is the event's type.
	Event string `json:"event"`
	// Role is the role of the messages that have the key. It is empty for a key of
	// the event itself.
	Role string `json:"role,omitzero"`
	Name string `json:"name"`
	// Emitted counts the events or messages with the key. Empty counts those in
	// which its value is null or blank.
	Emitted int `json:"emitted"`
	Empty   int `json:"empty,omitzero"`
	// Surfaced reports that the bounded envelope of the run has the key. ArtifactKey
	// is the corresponding key of the artifact; empty if there is none.
	Surfaced    bool   `json:"surfaced"`
	ArtifactKey string `json:"reduced,omitzero"`
}

// Key returns the event, role and name of the field, for use as a map key.
func (f Field) Key() Field { return Field{Event: f.Event, Role: f.Role, Name: f.Name} }

// fieldCounter collects the fields of one run.
type fieldCounter struct {
	list  []Field
	index map[Field]int
}

// maxFields limits the number of fields of one run, so that hostile names use little
// memory. Names longer than maxNameBytes are ignored.
const maxFields = 512

func (f *fieldCounter) add(event, role string, m strictjson.Member) {
	name, _ := strictjson.Unquote(m.Name.Raw)
	if len(name) > maxNameBytes || len(role) > maxNameBytes {
		return
	}
	key := Field{Event: event, Role: strings.ToValidUTF8(role, "\uFFFD"), Name: strings.ToValidUTF8(name, "\uFFFD")}
	i, ok := f.index[key]
	if !ok {
		if len(f.list) == maxFields {
			return
		}
		if f.index == nil {
			f.index = make(map[Field]int)
		}
		i = len(f.list)
		f.index[key] = i
		f.list = append(f.list, key)
	}
	f.list[i].Emitted++
	if isEmpty(m.Value) {
		f.list[i].Empty++
	}
}

func isEmpty(v strictjson.Value) bool {
	if v.Kind != strictjson.String {
		return v.Kind == strictjson.Null
	}
	text, _ := v.Text()
	return artifact.IsBlank(text)
}

// event adds the keys of an event. The key "type" is added only for the terminal event,
// whose type is in the artifact.
func (f *fieldCounter) event(e *envelope.Event) {
	for m := range e.All {
		if terminal := e.Type == envelope.RunFinished || e.Type == envelope.RunError; terminal || string(m.Name.Raw) != `"type"` {
			f.add(e.Type, "", m)
		}
	}
}

func (f *fieldCounter) snapshot(e *envelope.Event) {
	f.event(e)
	for _, message := range envelope.Messages(e) {
		v, _ := message.Get("role")
		role, _ := v.Text()
		if role == "" {
			role = "without role"
		}
		for m := range message.All {
			f.add(e.Type, role, m)
		}
	}
}

// markKept marks the fields that are in the envelope and the artifact.
func (f *fieldCounter) markKept(out *project.Output) {
	emitted := out.Origin == project.Emitted
	a := out.Artifact
	named := make(map[string]bool)
	for _, m := range a.Messages {
		named[m.Role] = named[m.Role] || m.Name != ""
	}
	for i := range f.list {
		field := &f.list[i]
		field.Surfaced = field.Event != envelope.MessagesSnapshot || emitted
		switch {
		case field.Event == envelope.MessagesSnapshot && !emitted:
		case field.Event == envelope.MessagesSnapshot && field.Role == "":
			field.ArtifactKey = reducedSnapshot(field.Name)
		case field.Event == envelope.MessagesSnapshot:
			if _, kept := named[field.Role]; kept && (field.Name != "name" || named[field.Role]) {
				field.ArtifactKey = reducedMessage(field.Name)
			}
		case field.Event == envelope.RunStarted:
			field.ArtifactKey = reducedStarted(field.Name, out)
		default:
			field.ArtifactKey = reducedTerminal(field.Name, out)
		}
	}
}

func reducedSnapshot(name string) string {
	if name == "messages" {
		return name
	}
	return ""
}

func reducedMessage(name string) string {
	switch name {
	case "id", "role", "content", "name":
		return name
	}
	return ""
}

func reducedStarted(name string, out *project.Output) string {
	switch {
	case name == "threadId":
		return "thread_id_ref"
	case name == "runId":
		return "run_id_ref"
	case name == "parentRunId" && out.Artifact.ParentRunIDRef != "":
		return "parent_run_id_ref"
	case name == "timestamp" && out.Times.Source == project.EventTime:
		return "started_at"
	}
	return ""
}

func reducedTerminal(name string, out *project.Output) string {
	switch {
	case name == "type":
		return "terminal_event"
	case name == "message" && out.Artifact.ErrorMessage != "":
		return "error_message"
	case name == "code" && out.Artifact.ErrorCode != "":
		return "error_code"
	case name == "timestamp" && out.Times.Source == project.EventTime && out.Artifact.FinishedAt != "":
		return "finished_at"
	}
	return ""
}

// result returns the fields in the order of SortFields.
func (f *fieldCounter) result() []Field {
	list := slices.Clone(f.list)
	if list == nil {
		list = []Field{}
	}
	SortFields(list)
	return list
}

// SortFields sorts fields by event, in the order of the envelope, then by role and name.
func SortFields(list []Field) {
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Or(cmp.Compare(eventRank(a.Event), eventRank(b.Event)), cmp.Compare(a.Event, b.Event),
			cmp.Compare(a.Role, b.Role), cmp.Compare(nameRank(a.Name), nameRank(b.Name)), cmp.Compare(a.Name, b.Name)) < 0
	})
}

var eventOrder = []string{envelope.RunStarted, envelope.MessagesSnapshot, envelope.RunFinished, envelope.RunError}

func eventRank(event string) int { return slices.Index(eventOrder, event) }

var nameOrder = []string{"type", "threadId", "runId", "parentRunId", "id", "role", "name", "content"}

// nameRank orders the names in nameOrder before all others.
func nameRank(name string) int {
	if i := slices.Index(nameOrder, name); i >= 0 {
		return i
	}
	return len(nameOrder)
}
