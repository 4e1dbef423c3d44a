package analysis

import (
	"strings"

	"github.com/p20export/p20export/envelope"
)

// Snapshot is one MESSAGES_SNAPSHOT of a run and where it stands.
type Snapshot struct {
	envelope.Ref
	Messages int `json:"messages"`
	// Roles are those of the messages, in order; "" where one has none.
	Roles []string `json:"roles"`
	// Before and After are the types of the events around it; After is empty
	// when it is the run's last event.
	Before string `json:"before"`
	After  string `json:"after,omitzero"`
	// Remaining counts the run's events that follow it.
	Remaining int `json:"remaining"`

	ordinal int // among the run's events
}

// MaxSnapshots is how many snapshots of a run are described, and maxRoles how many
// roles of one are listed; the contract takes 2,000 messages.
const (
	MaxSnapshots = 100
	maxRoles     = 2_000
)

// maxNameBytes is how much of a role or an event type is shown. AG-UI's have up
// to thirty; a hostile one is as long as an event.
const maxNameBytes = 128

func shownName(name string) string {
	if len(name) > maxNameBytes {
		name = name[:maxNameBytes] + "…"
	}
	return strings.Clone(strings.ToValidUTF8(name, "\uFFFD"))
}

// trackSnapshots notes a snapshot, or what follows one.
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
