package render

// Version says which program this is.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	// Date is the time of the commit.
	Date string `json:"date,omitzero"`
	// Sum is the sum of the module if the program was built from the module proxy.
	Sum string `json:"sum,omitzero"`
	// Source is Commit with Date, or Sum, for people.
	Source string `json:"-"`
	Go     string `json:"go"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
}

// Version prints which program this is.
func (p *Printer) Version(v Version) {
	if p.format == JSON {
		p.json(v)
		return
	}
	p.Line("%s %s", v.Name, v.Version)
	if v.Source != "" {
		p.Line("%s", v.Source)
	}
	p.Line("%s %s/%s", v.Go, v.OS, v.Arch)
}
