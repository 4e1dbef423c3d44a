package discovery

import (
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
}

// maxKept is how many snapshots of a run are described, and maxRoles how many
// roles of one are listed; the contract takes 2,000 messages.
const (
	maxKept  = 100
	maxRoles = 2_000
)

// around notes a snapshot, or what follows one.
func (x *examiner) around(e *envelope.Event) {
	for i := range x.snapshots {
		x.snapshots[i].Remaining++
	}
	if x.after != nil {
		x.after.After, x.after = e.Type, nil
	}
	if e.Type == envelope.MessagesSnapshot && len(x.snapshots) < maxKept {
		s := Snapshot{Ref: e.Ref(), Roles: []string{}, Before: x.last}
		for _, m := range envelope.Messages(e) {
			s.Messages++
			if len(s.Roles) < maxRoles {
				v, _ := m.Get("role")
				role, _ := v.Text()
				s.Roles = append(s.Roles, role)
			}
		}
		x.snapshots = append(x.snapshots, s)
		x.after = &x.snapshots[len(x.snapshots)-1]
	}
	x.last = e.Type
}
