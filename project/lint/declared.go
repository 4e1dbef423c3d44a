package lint

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
)

// Declaration is how runs of a capture declare the version of AG-UI.
type Declaration struct {
	// Version is the protocolVersion of RUN_STARTED, shortened, or nil if there is none.
	Version *string `json:"version"`
	// Reading is known, undeclared, newer or uninterpretable. An undeclared version counts
	// as the current one, and the last two are read as the newest known one.
	Reading string `json:"reading"`
	// Protocol is the version whose rules were applied.
	Protocol event.Protocol `json:"protocol"`
	// Runs is the number of runs.
	Runs int `json:"runs"`
}

// readingName returns the name of a reading.
func readingName(d event.Declaration) string {
	switch d {
	case event.Undeclared:
		return "undeclared"
	case event.Newer:
		return "newer"
	case event.Uninterpretable:
		return "uninterpretable"
	}
	return "known"
}

const (
	// maxDeclarations is the number of different declarations that a row lists.
	maxDeclarations = 16
	// maxVersion is the length of a version in a row, in bytes.
	maxVersion = 64
)

// declare notes the version of a run that begins. Under event.Auto it sets the protocol.
func (l *Linter) declare(e *envelope.Event) {
	v, ok := e.Get("protocolVersion")
	version := ""
	if v.Kind == envelope.StringValue {
		version, _ = v.Text()
	}
	protocol, reading := event.Declared(version)
	if v.Kind == envelope.StringValue && version == "" {
		reading = event.Uninterpretable
	}
	if l.auto {
		l.protocol = protocol
	}
	d := Declaration{Reading: readingName(reading), Protocol: l.protocol, Runs: 1}
	if ok && v.Kind == envelope.StringValue {
		short := finding.Escape(version[:min(len(version), maxVersion)])
		d.Version = &short
	}
	l.addDeclaration(d)
}

func (l *Linter) addDeclaration(d Declaration) {
	for i := range l.declared {
		if have := &l.declared[i]; have.Protocol == d.Protocol && have.Reading == d.Reading && equal(have.Version, d.Version) {
			have.Runs++
			return
		}
	}
	if len(l.declared) < maxDeclarations {
		l.declared = append(l.declared, d)
	}
}

func equal(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// About describes a declaration for people, such as "1.1 (undeclared)".
func (d Declaration) About() string {
	switch {
	case d.Reading == "undeclared":
		return string(d.Protocol) + " (undeclared)"
	case d.Version != nil && *d.Version == "":
		return string(d.Protocol) + ` (declared "")`
	case d.Version != nil && *d.Version != string(d.Protocol):
		return string(d.Protocol) + " (declared " + *d.Version + ")"
	}
	return string(d.Protocol)
}
