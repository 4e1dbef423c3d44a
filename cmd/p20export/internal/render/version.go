package render

// Version says which program this is.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Version prints which program this is.
func (p *Printer) Version(v Version) {
	if p.format == JSON {
		p.json(v)
		return
	}
	p.Line("%s %s", v.Name, v.Version)
	if v.Commit != "" {
		p.Line("commit %s", v.Commit)
	}
	p.Line("%s %s/%s", v.Go, v.OS, v.Arch)
}
