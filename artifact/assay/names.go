package assay

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
)

// maxName bounds the names that a user gives to an event, in code points. With
// it all that stands around an artifact in a line keeps to the 4,096 bytes that
// the Assay profile leaves for it.
const maxName = 256

// CheckRunID says why an id is none that a run may have: event ids are
// ID:sequence, and Assay's stores make a path of it.
func CheckRunID(id string) error {
	switch {
	case strings.Contains(id, ":"):
		return errors.New("it holds a colon, and event ids are RUN-ID:SEQUENCE")
	case strings.Contains(id, "/"), strings.Contains(id, ".."):
		return errors.New(`it holds "/" or "..", and Assay's stores make a path of it`)
	}
	return checkName(id)
}

// Check says why events cannot have what the run gives them. The id may be empty:
// then each event has a run of its own.
func (r Run) Check() error {
	if r.ID != "" {
		if err := CheckRunID(r.ID); err != nil {
			return fmt.Errorf("run id %q: %w", r.ID, err)
		}
	}
	if at, err := artifact.ParseTime(r.Time); err != nil || FormatTime(at) != r.Time {
		return fmt.Errorf("time %q is not spelled as FormatTime does", r.Time)
	}
	for _, part := range []struct{ name, value string }{{"name", r.Producer.Name}, {"version", r.Producer.Version}, {"git", r.Producer.Git}} {
		if err := checkName(part.value); err != nil {
			return fmt.Errorf("the %s of the producer: %w", part.name, err)
		}
	}
	return nil
}

// CheckArtifactRef says why a name is none that a receipt may give an artifact.
func CheckArtifactRef(name string) error { return checkName(name) }

func checkName(s string) error {
	switch {
	case artifact.IsBlank(s):
		return errors.New("it is blank")
	case !utf8.ValidString(s):
		return errors.New("it is not UTF-8")
	case artifact.HasControl(s):
		return errors.New("it holds a control character")
	case utf8.RuneCountInString(s) > maxName:
		return fmt.Errorf("it has more than %d code points", maxName)
	}
	return nil
}
