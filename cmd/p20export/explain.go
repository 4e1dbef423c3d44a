package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [CODE|RULE]...",
		Short: "Explain a finding code or a rule, and what to do about it",
		Long: `Explain finding codes and rules, or list all of them with their meanings.

For a CODE it prints the severity, the meaning, what to do, and the rules that
use the code. For a RULE it prints the text from docs/contract.md (A26, M8),
docs/projections.md (F2, X5), docs/sequence.md (G9) or docs/lint.md (W3, N5).
For a rule of the contract, of the order of events or of lint it also prints
the code, the origin of the rule, what to do, and where to find its examples,
the conformance vectors, if it has any. The case of a rule's name does not
matter.
` + exitHelp("everything was explained", "", ""),
		Example: `  p20export explain A26
  p20export explain snapshot_lacks_streamed_text X7
  p20export explain --format json | jq -r .name`,
		Args: codesAndRules,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return topicCompletions(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		p := newPrinter(cmd, f)
		for i, name := range names {
			if i > 0 {
				p.Note("")
			}
			if about, ok := finding.Describe(finding.Code(name)); ok {
				p.Code(finding.Code(name), about)
			} else if rule, ok := docs.Find(name); ok {
				p.Rule(rule)
			}
		}
		if len(names) == 0 {
			p.Topics()
		}
		return p.Close(nil)
	}
	return cmd
}

// codesAndRules returns an error if an argument is not a finding code or a rule.
func codesAndRules(_ *cobra.Command, args []string) error {
	for _, name := range args {
		_, isCode := finding.Describe(finding.Code(name))
		if _, isRule := docs.Find(name); !isCode && !isRule {
			return fmt.Errorf("%q is not a finding code or a rule; the nearest names are %s", name, strings.Join(docs.Nearest(name), ", "))
		}
	}
	return nil
}

func topicCompletions() (all []cobra.Completion) {
	for _, c := range finding.Codes() {
		about, _ := finding.Describe(c)
		all = append(all, cobra.CompletionWithDesc(string(c), about.Meaning))
	}
	for _, r := range docs.Rules() {
		all = append(all, cobra.CompletionWithDesc(r.ID, r.Summary()))
	}
	return all
}
