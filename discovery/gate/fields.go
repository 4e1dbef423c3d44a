package gate

import "github.com/p20export/p20export/discovery/analysis"

// FieldStats counts the runs in which a field is emitted, is in the bounded envelope,
// and is in the artifact.
type FieldStats struct {
	Event string `json:"event"`
	Role  string `json:"role,omitzero"`
	Name  string `json:"name"`
	// Runs counts the runs with such an event, or with a snapshot that has a message
	// of that role.
	Runs int `json:"of"`
	// Emitted counts the runs with the field. Empty counts those in which it is null
	// or blank at least once.
	Emitted  int `json:"emitted"`
	Empty    int `json:"empty"`
	Surfaced int `json:"surfaced"`
	Reduced  int `json:"reduced"`
	// ArtifactKey is the key of the artifact; empty if no artifact has the field.
	ArtifactKey string `json:"as,omitzero"`
}

// Key returns the event, role and name of the field.
func (p FieldStats) Key() analysis.Field {
	return analysis.Field{Event: p.Event, Role: p.Role, Name: p.Name}
}

// Fields counts the fields of runs, in the order of analysis.SortFields.
func Fields(runs []analysis.Run) []FieldStats {
	type event struct{ name, role string }
	var order []analysis.Field
	counts := make(map[analysis.Field]*FieldStats)
	of := make(map[event]int)
	for _, run := range runs {
		seen := make(map[event]bool)
		for _, f := range run.Fields {
			if at := (event{f.Event, f.Role}); !seen[at] {
				seen[at] = true
				of[at]++
			}
			p := counts[f.Key()]
			if p == nil {
				p = &FieldStats{Event: f.Event, Role: f.Role, Name: f.Name}
				counts[f.Key()] = p
				order = append(order, f)
			}
			p.Emitted++
			if f.Empty > 0 {
				p.Empty++
			}
			if f.Surfaced {
				p.Surfaced++
			}
			if f.ArtifactKey != "" {
				p.Reduced++
				p.ArtifactKey = f.ArtifactKey
			}
		}
	}
	analysis.SortFields(order)
	list := make([]FieldStats, 0, len(order))
	for _, f := range order {
		p := *counts[f.Key()]
		p.Runs = of[event{f.Event, f.Role}]
		list = append(list, p)
	}
	return list
}
