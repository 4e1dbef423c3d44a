package render

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/p20export/p20export/capture/recovery"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/project/difference"
	"github.com/p20export/p20export/project/export"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/golden"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/prune"
	"github.com/p20export/p20export/project/rewrite"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/project/tracediff"
	"github.com/p20export/p20export/project/validate"
	"github.com/p20export/p20export/project/verify"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

// RowType is a type of JSON row.
type RowType struct {
	// Name is the value of "type", the first key of the rows.
	Name string
	// About names the command that writes the rows, and describes a row.
	About string
	// Of is the Go type of the other keys.
	Of reflect.Type
}

// RowTypes returns the row types of all commands.
func RowTypes() []RowType { return slices.Clone(rowTypes()) }

var rowTypes = sync.OnceValue(func() []RowType {
	return []RowType{
		{"capture", "capture: one capture.", reflect.TypeFor[captureRow]()},
		{"scenario", "discover: one scenario.", reflect.TypeFor[scenarioRow]()},
		{"qualification", "discover: whether the integration qualifies, and what it has to change.", reflect.TypeFor[qualificationRow]()},
		{"gate", "discover --gate: the answers to the discovery gate.", reflect.TypeFor[gateRow]()},
		{"comparison", "compare: one run, or a capture without a run.", reflect.TypeFor[analysis.Run]()},
		{"inspection", "inspect: one run, or a capture without a run.", reflect.TypeFor[scan.Inspection]()},
		{"lint", "lint: one capture.", reflect.TypeFor[lint.Row]()},
		{"lint_group", "lint --group: the findings of one rule in all captures.", reflect.TypeFor[lint.Group]()},
		{"messages", "inspect --messages: the messages after an event of one capture.", reflect.TypeFor[messagesRow]()},
		{"state", "inspect --state: the state after an event of one capture.", reflect.TypeFor[stateRow]()},
		{"report", "report: one run on the page, or why there is no page.", reflect.TypeFor[report.Row]()},
		{"compaction", "compact: the compacted copy of one capture, or why there is none.", reflect.TypeFor[rewrite.Row]()},
		{"freeze", "freeze: one run, or a capture without a run.", reflect.TypeFor[freeze.Row]()},
		{"validation", "validate: one file.", reflect.TypeFor[validate.Row]()},
		{"difference", "diff: two artifacts.", reflect.TypeFor[difference.Row]()},
		{"trace_difference", "diff of captures, compare and discover --golden: one difference of their events.", reflect.TypeFor[tracediff.Difference]()},
		{"traces", "diff of captures, compare and discover --golden: the verdict, after the differences.", reflect.TypeFor[tracediff.Row]()},
		{"instability", "discover --repeat: something that differed between captures of a scenario.", reflect.TypeFor[golden.Instability]()},
		{"golden", "compare --write-golden: one golden.", reflect.TypeFor[golden.Row]()},
		{"verification", "verify: one artifact.", reflect.TypeFor[verify.Row]()},
		{"directory_entry", "verify DIR: one artifact, capture or other file in DIR.", reflect.TypeFor[verify.TreeRow]()},
		{"key_pair", "keygen: the new pair of keys.", reflect.TypeFor[KeyPair]()},
		{"signed", "sign and timestamp: one record.", reflect.TypeFor[sign.Row]()},
		{"recovery", "recover: one unfinished capture, or a closed one with temporary files.", reflect.TypeFor[recovery.Row]()},
		{"pruned", "prune: one capture, or what was left of one.", reflect.TypeFor[prune.Row]()},
		{"log_import", "log import: one capture, or one file with a thread.", reflect.TypeFor[transfer.Row]()},
		{"log_export", "log export: the file with the thread, or why there is none.", reflect.TypeFor[transfer.ExportRow]()},
		{"log_thread", "log threads: one thread.", reflect.TypeFor[LogThreadRow]()},
		{"log_run", "log runs: one run.", reflect.TypeFor[LogRunRow]()},
		{"log_entry", "log cat: one entry.", reflect.TypeFor[LogEntryRow]()},
		{"log_restore", "log restore: one conversation.", reflect.TypeFor[LogRestoreRow]()},
		{"log_stat", "log stat: the size of the log.", reflect.TypeFor[LogStatRow]()},
		{"log_pack", "log pack: one thread that had something to pack.", reflect.TypeFor[LogPackRow]()},
		{"log_seal", "log seal: one thread.", reflect.TypeFor[LogSealRow]()},
		{"log_verify", "log verify: one thread, or a file of --against whose thread the log does not have.", reflect.TypeFor[seal.Row]()},
		{"log_proof", "log prove and log check-proof: one proof.", reflect.TypeFor[LogProofRow]()},
		{"log_delete", "log delete: one thread.", reflect.TypeFor[LogDeleteRow]()},
		{"lineage", "lineage: one thread, or a capture that has no run or could not be read.", reflect.TypeFor[LineageRow]()},
		{"import", "assay: one artifact that was not imported.", reflect.TypeFor[export.Row]()},
		{"output", "assay: one file of events.", reflect.TypeFor[OutputRow]()},
		{"bundle", "assay verify and assay show: one bundle.", reflect.TypeFor[export.BundleRow]()},
		{"bundle_event", "assay show: one event of a bundle.", reflect.TypeFor[entryRow]()},
		{"topic", "explain: one line of the list of codes and rules.", reflect.TypeFor[topicRow]()},
		{"code", "explain CODE: one finding code.", reflect.TypeFor[codeRow]()},
		{"rule", "explain RULE: one rule.", reflect.TypeFor[ruleRow]()},
		{"schema", "schema: one JSON Schema of the list.", reflect.TypeFor[schemaRow]()},
		{"version", "version: this program.", reflect.TypeFor[Version]()},
	}
})

// typeName returns the name of the type of a row.
func typeName(row any) (string, error) {
	for _, t := range rowTypes() {
		if t.Of == reflect.TypeOf(row) {
			return t.Name, nil
		}
	}
	return "", fmt.Errorf("the Go type %T has no row type", row)
}
