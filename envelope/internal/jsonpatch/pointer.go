package jsonpatch

import (
	"strings"

	"github.com/p20export/p20export/internal/jsonvalue"
)

// token returns the first reference token of a pointer's rest, which begins with a
// slash, and what follows it.
func token(rest string) (name, after string) {
	rest = rest[1:]
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}

// unescape returns the name that a reference token stands for.
func unescape(token string) string {
	if strings.IndexByte(token, '~') < 0 {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// enter notes that v is on the way to a place.
func (d *Document) enter(v jsonvalue.Value) {
	switch v := v.(type) {
	case *jsonvalue.Object:
		d.open = append(d.open, &v.Size)
	case *jsonvalue.Array:
		d.open = append(d.open, &v.Size)
	}
}

// checkDepth checks that v, which was measured, can be put at the place to which d.open
// leads. It looks for the depth of v only if v comes from a higher place, at which from
// arrays and objects were open, and is long enough to be too deep.
func (d *Document) checkDepth(v jsonvalue.Value, from int) error {
	if len(d.open) <= from || len(d.open)+sizeOf(v)/len("[]") <= MaxDepth {
		return nil
	}
	if err := d.work(sizeOf(v)); err != nil {
		return err
	}
	return checkLimits(0, len(d.open)+jsonvalue.Depth(v))
}
