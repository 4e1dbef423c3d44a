package export_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/project/export"
)

const lane = "../../examples/ag-ui-compacted-message-snapshot-evidence/frozen"

// Import converts frozen artifacts to the events of an evidence bundle.
func ExampleImport() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	paths, err := export.FindArtifacts(ctx, []string{lane})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := assay.Run{ID: "nightly-42", Time: "2026-01-31T12:00:00Z", Producer: assay.Producer{Name: "example", Version: "1", Git: assay.UnknownGit}}
	events, err := export.Import(ctx, paths, export.Settings{Run: run, Receipt: true}, func(refused export.Row) {
		fmt.Println(refused.Artifact, refused.Findings)
	})
	if err != nil || events == nil {
		fmt.Println("not imported:", err)
		return
	}
	defer events.Close()
	bundles, err := events.WriteBundles(ctx, filepath.Join(dir, "evidence.tar.gz"), false)
	if err != nil {
		fmt.Println(err)
		return
	}
	row := export.VerifyBundle(ctx, bundles[0].File, true, nil)
	fmt.Println(row.Verdict, *row.Events, "events,", *row.RunID)
	// Output:
	// verified 5 events, nightly-42
}
