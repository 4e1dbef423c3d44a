package gate

import "github.com/p20export/p20export/discovery/analysis"

// FieldStats says in how many runs a field is emitted, surfaced in the bounded
// envelope and reduced into the artifact.
type FieldStats struct {
	Event string `json:"event"`
	Role  string `json:"role,omitzero"`
	Name  string `json:"name"`
	// Runs is how many runs have such an event, or a snapshot with a message of
	// that role.
	Runs int `json:"of"`
	// Emitted is in how many of them the field is, Empty in how many of those
	// it is null or blank somewhere.
	Emitted  int `json:"emitted"`
	Empty    int `json:"empty"`
	Surfaced int `json:"surfaced"`
	Reduced  int `json:"reduced"`
	// ArtifactKey is the artifact's key; empty where no run reduced the field.
	ArtifactKey string `json:"as,omitzero"`
}

// Key is the field's event, role and name.
func (p FieldStats) Key() analysis.Field {
	return analysis.Field{Event: p.Event, Role: p.Role, Name: p.Name}
}

// Fields counts the fields of runs, in the order of the envelope's events.
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
