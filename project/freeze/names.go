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

// NameError reports a name that cannot be used for frozen files: two captures have the
// name, it is not valid UTF-8, or it is not a plain file name.
type NameError struct {
	Name string
	// Paths are the captures with the name.
	Paths []string
}

// Error describes the error.
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
	return fmt.Sprintf("the name %s is not valid UTF-8, which a record requires", finding.Quote(e.Name))
}

// Repeated reports whether the same capture was given twice.
func (e *NameError) Repeated() bool {
	return len(e.Paths) > 1 && filepath.Clean(e.Paths[0]) == filepath.Clean(e.Paths[1])
}

// isPlainName reports whether name is valid for a file and in a record.
func isPlainName(name string) bool {
	return name != "" && name != "." && name != ".." && name == filepath.Base(name) && !strings.ContainsAny(name, "/\x00") && utf8.ValidString(name)
}

// CheckNames returns a *NameError if the captures cannot be frozen together because a
// name is invalid or two captures have the same name and the same Found.RelDir. If
// name is not empty, it replaces the names of the captures.
func CheckNames(captures []capture.Found, name string) error {
	seen := make(map[string]string, len(captures))
	for _, c := range captures {
		base := cmp.Or(name, capture.BaseName(c.Path))
		if !isPlainName(base) {
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
