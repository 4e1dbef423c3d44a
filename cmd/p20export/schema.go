package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/schema"
)

func newSchema() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "List the JSON Schemas, or print one",
		Long: `List the JSON Schemas (draft 2020-12) of the files that this program writes and
reads and of its JSON rows, or print one of them, byte for byte as in the
repository.

The schemas are for editors, tests and other languages. Those of artifacts,
envelopes and captures never reject what the program accepts; the others
describe what the program writes. No schema can express everything that the
program checks: validate and verify decide.

The schema envelope describes an array of the three lines of an envelope file.
The schema log describes one line of a file of log export, and the schema rows
one line of --format json of any command. --format applies only to the list; a
schema is always JSON.
` + exitHelp("the list or the schema was printed", "", ""),
		Example: `  p20export schema
  p20export schema artifact > artifact.schema.json
  p20export schema --format json | jq -r .id`,
		Args:      oneSchema,
		ValidArgs: schemaCompletions(),
	}
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		p := newPrinter(cmd, f)
		for _, name := range names {
			data, _ := schema.Get(name)
			p.Raw(data)
		}
		if len(names) == 0 {
			p.Schemas()
		}
		return p.Close(nil)
	}
	return cmd
}

// oneSchema requires the name of a schema, or no argument.
func oneSchema(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("name one schema, not %d", len(args))
	}
	for _, name := range args {
		if _, ok := schema.Get(name); !ok {
			return fmt.Errorf("unknown schema %q; the schemas are %s", name, strings.Join(schema.Names(), ", "))
		}
	}
	return nil
}

func schemaCompletions() (all []cobra.Completion) {
	for _, name := range schema.Names() {
		all = append(all, cobra.CompletionWithDesc(name, schema.Description(name)))
	}
	return all
}
