package schema

import (
	"slices"

	"github.com/p20export/p20export/finding"
)

// A Rule is a rule of a file format that its schema cannot express. The schema
// accepts a file that breaks only such rules; the program refuses it.
type Rule struct {
	// Name is in lower_snake_case and unique among the rules of one schema.
	Name string
	// Text states the rule.
	Text string
	// Code is the finding of a file that breaks the rule. It is empty if the program
	// accepts the file anyway, and NoFinding if the command fails without a finding.
	Code finding.Code
	// Spec is where the rule comes from.
	Spec string
	// Rules are the numbers of the corresponding rules of docs/contract.md. The
	// schema may express a part of such a rule.
	Rules []string
}

// NoFinding is the Code of rules about input files of a command that are not
// evidence. The command fails and reports no finding.
const NoFinding finding.Code = "uncoded"

// Inexpressible lists the rules that the named schema cannot express. A schema
// describes the values that a JSON parser returns, so it cannot express rules about the
// bytes of the text, even if some parsers check some of them. The list is empty for
// Rows and AssayEvent, which the program does not read as single files.
func Inexpressible(name string) []Rule {
	switch name {
	case Artifact:
		return slices.Clone(artifactRules)
	case ArtifactAssay:
		return slices.Concat(artifactRules, assayRules)
	case Envelope:
		return slices.Clone(envelopeRules)
	case Record:
		return slices.Clone(recordRules)
	case Capture:
		return slices.Clone(captureRules)
	case Baseline:
		return slices.Concat(inputRules, baselineRules)
	case Scenarios:
		return slices.Concat(inputRules, scenarioRules)
	case Expected:
		return slices.Concat(inputRules, expectedRules)
	case Harness:
		return slices.Clone(inputRules)
	}
	return nil
}

var artifactRules = []Rule{
	{"duplicate_key", "no object has two members with the same name, compared after unescaping", finding.JSONDuplicateKey, "RFC 8259 §4", []string{"T4"}},
	{"utf8", "the text is valid UTF-8", finding.JSONInvalidUTF8, "RFC 8259 §8.1", []string{"T2"}},
	{"surrogate_pairs", "no string contains half of a surrogate pair", finding.LoneSurrogate, finding.OwnRule, []string{"A6", "M9"}},
	{"one_value", "nothing but white space follows the value", finding.JSONTrailing, "RFC 8259 §2", []string{"T6"}},
	{"file_bytes", "the file has at most 8,388,608 bytes", finding.TooLarge, finding.OwnRule, []string{"T1"}},
	{"unique_ids", "no two messages have ids that are equal after trimming", finding.MessageIDRepeated, "Assay's mapper 5.4.0", []string{"M16"}},
	{"times_in_order", "finished_at is not before started_at", finding.TimesOutOfOrder, "Assay's mapper 5.4.0", []string{"A18"}},
	{"leap_day", "29 February occurs only in leap years", finding.TimestampMalformed, "RFC 3339 §5.7", []string{"A16"}},
	{"utc_year", "the instant of a timestamp is in the years 1 to 9999 in UTC", finding.TimestampMalformed, "Assay's mapper 5.4.0", []string{"A17"}},
	{"stack_traces", "error_code and error_message contain no known shape of a stack trace", finding.ErrorStackTrace, "P20 §8.3", []string{"A26"}},
	{"canonical", "the canonical form: key order, two-space indent, minimal escapes, one newline at the end; other forms are accepted with canonical: false", "", "RFC 8785 §3.2.2.2", []string{"C1", "C2", "C3"}},
}

var assayRules = []Rule{
	{"trimmed_length", "the limit applies to the trimmed string; for a string with white space at an end the schema checks only twice the limit", finding.TooLong, "Assay's mapper 5.4.0", []string{"P1", "P2", "P3", "P4", "P5", "P6"}},
	{"event_line", "the artifact's event line has at most 1,048,576 bytes", finding.EventLineTooLong, "Assay's verifier 5.4.0", []string{"P7"}},
}

var envelopeRules = []Rule{
	{"duplicate_key", "no object has two members with the same name, compared after unescaping", finding.JSONDuplicateKey, "RFC 8259 §4", []string{"T4"}},
	{"utf8", "the text is valid UTF-8", finding.JSONInvalidUTF8, "RFC 8259 §8.1", []string{"T2"}},
	{"one_value", "nothing but white space follows the event on its line", finding.JSONTrailing, "RFC 8259 §2", []string{"T6"}},
	{"depth", "at most 512 arrays and objects are open at once", finding.JSONTooDeep, finding.OwnRule, []string{"T5"}},
	{"event_bytes", "an event has at most 67,108,864 bytes", finding.EventTooLarge, finding.OwnRule, nil},
	{"surrogate_pairs", "threadId and runId contain no half of a surrogate pair", finding.LoneSurrogate, finding.OwnRule, []string{"E9"}},
	{"one_thread", "threadId of the terminal event, if present, equals that of RUN_STARTED", finding.TerminalOtherThread, finding.OwnRule, []string{"E11"}},
	{"canonical", "three lines without white space around the events; other forms are accepted with canonical: false", "", finding.OwnRule, []string{"C4"}},
}

var recordRules = []Rule{
	{"duplicate_key", "no object has two members with the same name", finding.RecordMalformed, "RFC 8259 §4", nil},
	{"utf8", "the text is valid UTF-8 and contains no half of a surrogate pair", finding.RecordMalformed, "RFC 8259 §8.1", nil},
	{"one_value", "only one newline follows the record", finding.RecordMalformed, "RFC 8259 §2", nil},
	{"one_spelling", "the canonical form of records: key order, two-space indent, minimal escapes", finding.RecordMalformed, "RFC 8785 §3.2.2.2", nil},
	{"integers", "an integer is written without fraction and exponent and fits in 64 bits", finding.RecordMalformed, "RFC 8259 §6", nil},
	{"file_bytes", "the file has at most 67,108,864 bytes", finding.RecordMalformed, finding.OwnRule, nil},
	{"tool_version_bytes", "the tool's version has at most 128 bytes; the schema counts code points", finding.RecordMalformed, finding.OwnRule, nil},
	{"snapshot_number", "the number of a snapshot fits in 64 bits", finding.RecordMalformed, finding.OwnRule, nil},
	{"times_in_order", "the operator's finished_at is not before started_at", finding.RecordMalformed, "Assay's mapper 5.4.0", nil},
	{"leap_day", "29 February occurs only in leap years", finding.RecordMalformed, "RFC 3339 §5.7", nil},
	{"about_the_files", "digests, sizes, places, families and omissions match the artifact, the envelope and the capture", finding.RecordDiffers, "P20 §14.2", nil},
}

var captureRules = []Rule{
	{"duplicate_key", "no object has two members with the same name", finding.ManifestMalformed, "RFC 8259 §4", nil},
	{"utf8", "the text is valid UTF-8 and contains no half of a surrogate pair", finding.ManifestMalformed, "RFC 8259 §8.1", nil},
	{"one_value", "nothing but white space follows the manifest", finding.ManifestMalformed, "RFC 8259 §2", nil},
	{"integers", "an integer is written without fraction and exponent and fits in 64 bits", finding.ManifestMalformed, "RFC 8259 §6", nil},
	{"file_bytes", "the file has at most 1,048,576 bytes", finding.ManifestMalformed, finding.OwnRule, nil},
	{"url", "the URL can be parsed", finding.ManifestMalformed, "RFC 3986 §3", nil},
	{"times_in_order", "started_at, first_byte_at and ended_at are in order", finding.ManifestMalformed, "P20 §14.2", nil},
	{"leap_day", "29 February occurs only in leap years", finding.ManifestMalformed, "RFC 3339 §5.7", nil},
	{"zero_time", "started_at and ended_at are not the first instant of year 1", finding.ManifestMalformed, finding.OwnRule, nil},
	{"about_the_files", "sizes and digests match the files of the capture", finding.DigestMismatch, "P20 §14.3", nil},
}

// inputRules apply to all files that compare and discover read.
var inputRules = []Rule{
	{"duplicate_key", "no object has two members with the same name", NoFinding, "RFC 8259 §4", nil},
	{"utf8", "the text is valid UTF-8 and contains no half of a surrogate pair", NoFinding, "RFC 8259 §8.1", nil},
	{"one_value", "nothing but white space follows the value", NoFinding, "RFC 8259 §2", nil},
	{"file_bytes", "the file has at most 67,108,864 bytes", NoFinding, finding.OwnRule, nil},
}

var baselineRules = []Rule{
	{"integers", "an integer is written without fraction and exponent and fits in 64 bits", NoFinding, "RFC 8259 §6", nil},
	{"run_order", "runs are sorted by capture name and run number, without duplicates", NoFinding, finding.OwnRule, nil},
	{"each_projection", "a run has each projection once, in the program's order", NoFinding, finding.OwnRule, nil},
	{"more_snapshots", "snapshots are only counted after the hundredth", NoFinding, finding.OwnRule, nil},
	{"same_contract", "the profile is the one that the comparison uses", NoFinding, finding.OwnRule, nil},
}

var scenarioRules = []Rule{
	{"unique_names", "no two scenarios have the same name", NoFinding, finding.OwnRule, nil},
	{"clean_path", "a path has no empty or dot element, and its escapes are complete", NoFinding, finding.OwnRule, nil},
}

var expectedRules = []Rule{
	{"integers", "an integer is written without fraction and exponent and fits in 64 bits", NoFinding, "RFC 8259 §6", nil},
	{"list_order", "the scenarios are those of the list, in the same order", NoFinding, finding.OwnRule, nil},
}
