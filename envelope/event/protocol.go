package event

import (
	"errors"
	"strconv"
	"strings"
)

// Protocol is a version of AG-UI.
type Protocol string

// The versions of AG-UI.
const (
	// V0 is AG-UI 0.x, as its last client, @ag-ui/client 0.0.59, reads it.
	V0 Protocol = "0.x"
	// V1 is the specification 1.0.
	V1 Protocol = "1.0"
	// V1Minor1 is the specification 1.1, which only adds to 1.0.
	V1Minor1 Protocol = "1.1"
	// Draft is the draft of the next version, as of DraftDate.
	Draft Protocol = "draft"
	// Auto means the version that RUN_STARTED declares. See Declared.
	Auto Protocol = "auto"

	// Current is the newest published version.
	Current = V1Minor1
)

// Protocols returns the versions, the oldest first. Auto is not among them.
func Protocols() []Protocol { return []Protocol{V0, V1, V1Minor1, Draft} }

// Client returns the release of @ag-ui/client that package sequence and lint compare a
// version with: the last one of 0.x for V0, and otherwise the newest published one, which is
// of 1.0.
func (p Protocol) Client() string {
	if p == V0 {
		return "0.0.59"
	}
	return "1.0.0"
}

// ParseProtocol returns the protocol with a name, which may be "auto".
func ParseProtocol(s string) (Protocol, error) {
	for _, p := range append(Protocols(), Auto) {
		if s == string(p) {
			return p, nil
		}
	}
	return "", errors.New("the protocols are auto, 0.x, 1.0, 1.1 and draft")
}

// Declaration says how Declared read a declared version.
type Declaration int

// The ways in which a declared version can be read.
const (
	// Known is a version that this package knows.
	Known Declaration = iota
	// Undeclared means that no version was declared. Such a peer counts as current
	// (specification 1.1, Versioning, Version negotiation).
	Undeclared
	// Newer is a version above the newest known one.
	Newer
	// Uninterpretable is not of the form MAJOR.MINOR. It counts as newer.
	Uninterpretable
)

// Declared returns the protocol under which a run is read whose RUN_STARTED declares the
// given protocolVersion, or declares none if version is empty. Versions are compared
// number by number (specification 1.1, Versioning, Version negotiation).
func Declared(version string) (Protocol, Declaration) {
	if version == "" {
		return Current, Undeclared
	}
	major, minor, ok := parseVersion(version)
	switch {
	case !ok:
		return Current, Uninterpretable
	case major == 0:
		return V0, Known
	case major == 1 && minor == 0:
		return V1, Known
	case major == 1 && minor == 1:
		return V1Minor1, Known
	}
	return Current, Newer
}

// parseVersion splits a version of the form MAJOR.MINOR.
func parseVersion(s string) (major, minor uint64, ok bool) {
	first, second, ok := strings.Cut(s, ".")
	if !ok {
		return 0, 0, false
	}
	major, ok = decimal(first)
	if !ok {
		return 0, 0, false
	}
	minor, ok = decimal(second)
	return major, minor, ok
}

// decimal reads a number of decimal digits. One that does not fit is as large as possible.
func decimal(s string) (uint64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, _ := strconv.ParseUint(s, 10, 64) // on overflow, n is the maximum
	return n, true
}
