package analysis

import (
	"strings"

	"github.com/p20export/p20export/envelope"
)

// Snapshot describes one MESSAGES_SNAPSHOT of a run and its position.
type Snapshot struct {
	envelope.Ref
	Messages int `json:"messages"`
	// Roles are the roles of the messages, in order; "" for a message without one.
	Roles []string `json:"roles"`
	// Before and After are the types of the previous and the next event. After is
	// empty if the snapshot is the last event of the run.
	Before string `json:"before"`
	After  string `json:"after,omitzero"`
	// Remaining counts the events of the run after the snapshot.
	Remaining int `json:"remaining"`

	ordinal int // position among the events of the run
}

// MaxSnapshots limits the snapshots of a run that are described one by one.
const MaxSnapshots = 100

// maxRoles limits the roles listed for a snapshot. The contract accepts as many messages.
const maxRoles = 2_000

// maxNameBytes limits the length of a role or an event type. AG-UI's have up to thirty
// bytes; a hostile one may be as long as an event.
const maxNameBytes = 128

func shownName(name string) string {
	if len(name) > maxNameBytes {
		name = name[:maxNameBytes] + "…"
	}
	return strings.Clone(strings.ToValidUTF8(name, "\uFFFD"))
}

// trackSnapshots records a snapshot and the event after it.
func (x *observer) trackSnapshots(e *envelope.Event) {
	name := e.Type
	if len(name) > maxNameBytes {
		name = shownName(name)
	}
	x.events++
	if x.awaitingNext != nil {
		x.awaitingNext.After, x.awaitingNext = name, nil
	}
	if e.Type == envelope.MessagesSnapshot && len(x.snapshots) < MaxSnapshots {
		s := Snapshot{Ref: e.Ref(), Roles: []string{}, Before: x.last, ordinal: x.events}
		for _, m := range envelope.Messages(e) {
			s.Messages++
			if len(s.Roles) < maxRoles {
				v, _ := m.Get("role")
				role, _ := v.Text()
				s.Roles = append(s.Roles, shownName(role))
			}
		}
		x.snapshots = append(x.snapshots, s)
		x.awaitingNext = &x.snapshots[len(x.snapshots)-1]
	}
	x.last = name
}
