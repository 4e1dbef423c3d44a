// Package discovery contains the list of scenarios that all harnesses share.
//
// It must not know how a list is parsed or run.
package discovery

import _ "embed"

// Scenarios is the contents of scenarios.json.
//
//go:embed scenarios.json
var Scenarios []byte
