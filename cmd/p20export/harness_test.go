//go:build live || browser

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/discovery/scenario"
)

// runningHarness starts a server of a harness and returns its URL.
func runningHarness(t *testing.T, of harness) string {
	t.Helper()
	h, err := scenario.LoadHarness(t.Context(), filepath.Dir(of.expected))
	if err != nil {
		t.Fatal(err)
	}
	server, err := h.Start(context.WithoutCancel(t.Context()), context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatalf("%v\nrun 'make harness-%s'", err, of.Name)
	}
	t.Cleanup(server.Stop)
	return strings.TrimSuffix(server.URL, "/")
}
