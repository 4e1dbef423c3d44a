package assay

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
)

// maxName bounds the names that a user can set in an event, in code points. It ensures
// that the rest of an event line fits in the 4,096 bytes that the Assay profile
// reserves.
const maxName = 256

// CheckRunID returns an error if a run id is invalid. The id is part of event ids
// (ID:sequence) and of paths in Assay's stores.
func CheckRunID(id string) error {
	switch {
	case strings.Contains(id, ":"):
		return errors.New("it contains a colon, which separates the parts of event ids (RUN-ID:SEQUENCE)")
	case strings.Contains(id, "/"), strings.Contains(id, ".."):
		return errors.New(`it contains "/" or "..", but Assay's stores use it in paths`)
	}
	return checkName(id)
}

// Check returns an error if a value of the run is invalid. The id may be empty if each
// event has its own run id.
func (r Run) Check() error {
	if r.ID != "" {
		if err := CheckRunID(r.ID); err != nil {
			return fmt.Errorf("run id %q: %w", r.ID, err)
		}
	}
	if at, err := artifact.ParseTime(r.Time); err != nil || FormatTime(at) != r.Time {
		return fmt.Errorf("time %q is not in the format of FormatTime", r.Time)
	}
	for _, part := range []struct{ name, value string }{{"name", r.Producer.Name}, {"version", r.Producer.Version}, {"git", r.Producer.Git}} {
		if err := checkName(part.value); err != nil {
			return fmt.Errorf("the %s of the producer: %w", part.name, err)
		}
	}
	return nil
}

// CheckArtifactRef returns an error if a receipt cannot contain name as the name of an
// artifact.
func CheckArtifactRef(name string) error {
	if len(name) > maxRef {
		return fmt.Errorf("it has more than %d bytes", maxRef)
	}
	return checkName(name)
}

// maxRef is the maximum length of the name of an artifact's file in a receipt, in bytes. No
// system has longer names: 255 UTF-16 code units have at most three bytes each.
const maxRef = 3 * 255

func checkName(s string) error {
	switch {
	case artifact.IsBlank(s):
		return errors.New("it is blank")
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	case artifact.HasControl(s):
		return errors.New("it contains a control character")
	case utf8.RuneCountInString(s) > maxName:
		return fmt.Errorf("it has more than %d code points", maxName)
	}
	return nil
}
