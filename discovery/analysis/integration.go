package analysis

import "strings"

// The labels of a capture that identify its integration and scenario.
const (
	LabelIntegration = "integration"
	LabelVersion     = "version"
	LabelScenario    = "scenario"
)

// Integration is the package whose endpoint produced a capture.
type Integration struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// String returns the name and the version.
func (i Integration) String() string { return strings.TrimSpace(i.Name + " " + i.Version) }
