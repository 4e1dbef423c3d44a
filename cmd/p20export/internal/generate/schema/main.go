// Command generate writes the JSON Schemas of package schema from the Go types,
// their doc comments and the committed sample lane. It runs in the root of the
// repository and is no part of the released program.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/schema"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write makes every schema and then replaces the files.
func write() error {
	made, err := schemas()
	if err != nil {
		return err
	}
	for _, name := range schema.Names() {
		if err := os.WriteFile(path(name), made[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

func path(name string) string { return filepath.Join("schema", schema.FileName(name)) }
