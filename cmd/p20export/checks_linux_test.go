//go:build programs || postgres

package main

import "regexp"

// checks are in the ids of events. They have the times of arrival.
var checks = regexp.MustCompile(`(?m)^(id: [0-9.]+)-([0-9a-f]{8})$`)
