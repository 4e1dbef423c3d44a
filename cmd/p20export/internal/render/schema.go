package render

import "github.com/p20export/p20export/schema"

// schemaRow is one schema in the list.
type schemaRow struct {
	Schema string `json:"schema"`
	ID     string `json:"id"`
	About  string `json:"about"`
}

// Schemas prints the list of schemas.
func (p *Printer) Schemas() {
	for _, name := range schema.Names() {
		row := schemaRow{name, schema.ID(name), schema.Description(name)}
		if p.format == JSON {
			p.json(row)
			continue
		}
		p.Line("%s", row.Schema)
		p.Line("  is        \t%s", row.About)
		p.Line("  id        \t%s", row.ID)
	}
}
