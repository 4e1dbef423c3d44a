// Package discovery holds the list of scenarios that all harnesses share.
//
// It must not know how a list is read or run.
package discovery

import _ "embed"

// Scenarios is scenarios.json.
//
//go:embed scenarios.json
var Scenarios []byte
