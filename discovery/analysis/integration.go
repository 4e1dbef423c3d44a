package analysis

import "strings"

// The labels of a capture that say what it is of.
const (
	LabelIntegration = "integration"
	LabelVersion     = "version"
	LabelScenario    = "scenario"
)

// Integration is the package whose endpoint made a capture.
type Integration struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// String is the name and the version.
func (i Integration) String() string { return strings.TrimSpace(i.Name + " " + i.Version) }
