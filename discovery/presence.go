package discovery

// Presence says in how many runs a field is emitted, surfaced in the bounded
// envelope and reduced into the artifact.
type Presence struct {
	Event string `json:"event"`
	Role  string `json:"role,omitzero"`
	Name  string `json:"name"`
	// Of is how many runs have such an event, or a snapshot with a message of
	// that role.
	Of int `json:"of"`
	// Emitted is in how many of them the field is, Empty in how many of those
	// it is null or blank somewhere.
	Emitted  int `json:"emitted"`
	Empty    int `json:"empty"`
	Surfaced int `json:"surfaced"`
	Reduced  int `json:"reduced"`
	// As is the artifact's key; empty where no run reduced the field.
	As string `json:"as,omitzero"`
}

// Place is the field's event, role and name.
func (p Presence) Place() Field { return Field{Event: p.Event, Role: p.Role, Name: p.Name} }

// Presences counts the fields of runs, in the order of the envelope's events.
func Presences(runs []Examination) []Presence {
	type event struct{ name, role string }
	var order []Field
	counts := make(map[Field]*Presence)
	of := make(map[event]int)
	for _, run := range runs {
		seen := make(map[event]bool)
		for _, f := range run.Fields {
			if at := (event{f.Event, f.Role}); !seen[at] {
				seen[at] = true
				of[at]++
			}
			p := counts[f.Place()]
			if p == nil {
				p = &Presence{Event: f.Event, Role: f.Role, Name: f.Name}
				counts[f.Place()] = p
				order = append(order, f)
			}
			p.Emitted++
			if f.Empty > 0 {
				p.Empty++
			}
			if f.Surfaced {
				p.Surfaced++
			}
			if f.Reduced != "" {
				p.Reduced++
				p.As = f.Reduced
			}
		}
	}
	sortFields(order)
	list := make([]Presence, 0, len(order))
	for _, f := range order {
		p := *counts[f.Place()]
		p.Of = of[event{f.Event, f.Role}]
		list = append(list, p)
	}
	return list
}
