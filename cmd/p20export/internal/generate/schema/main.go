// Command generate writes the JSON Schemas of package schema. It generates them from the
// Go types, their doc comments and the committed sample lane. Run it in the root of the
// repository; it is not part of the released program.
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

// write generates every schema and then replaces the files.
func write() error {
	generated, err := schemas()
	if err != nil {
		return err
	}
	for _, name := range schema.Names() {
		if err := os.WriteFile(path(name), generated[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

func path(name string) string { return filepath.Join("schema", schema.FileName(name)) }
