package freeze

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
)

// NameError is a name under which captures cannot be frozen: two of them have it,
// it is not UTF-8, or it is no plain file name.
type NameError struct {
	Name string
	// Paths are the captures that have it.
	Paths []string
}

// Error says what is wrong with the name.
func (e *NameError) Error() string {
	if e.Repeated() {
		return finding.Escape(e.Paths[0]) + " is named twice"
	}
	if len(e.Paths) > 1 {
		return fmt.Sprintf("%s and %s would both be frozen as %s", finding.Escape(e.Paths[0]), finding.Escape(e.Paths[1]), finding.Escape(e.Name))
	}
	if utf8.ValidString(e.Name) {
		return fmt.Sprintf("the name %s is not a plain file name", finding.Quote(e.Name))
	}
	return fmt.Sprintf("the name %s is not UTF-8 and cannot stand in a record", finding.Quote(e.Name))
}

// Repeated reports whether the captures are one, named twice.
func (e *NameError) Repeated() bool {
	return len(e.Paths) > 1 && filepath.Clean(e.Paths[0]) == filepath.Clean(e.Paths[1])
}

// plain reports whether files can have a name and a record can state it.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && name == filepath.Base(name) && !strings.ContainsAny(name, "/\x00") && utf8.ValidString(name)
}

// CheckNames reports, before anything is written, a name under which captures
// cannot be frozen together, each into the directory Found.In below one. A name
// that is not empty replaces those of the captures. The error is a *NameError.
func CheckNames(captures []capture.Found, name string) error {
	seen := make(map[string]string, len(captures))
	for _, c := range captures {
		base := cmp.Or(name, capture.BaseName(c.Path))
		if !plain(base) {
			return &NameError{base, []string{c.Path}}
		}
		at := filepath.Join(c.RelDir, base)
		if other, ok := seen[at]; ok {
			return &NameError{at, []string{other, c.Path}}
		}
		seen[at] = c.Path
	}
	return nil
}
