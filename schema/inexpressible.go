package schema

import (
	"slices"

	"github.com/p20export/p20export/finding"
)

// Rule is a rule of a file that its schema cannot say. What breaks such rules
// alone is accepted by the schema and refused by the program.
type Rule struct {
	// Name is in lower_snake_case and unique among the rules of one schema.
	Name string
	// Text states the rule.
	Text string
	// Code is the finding by which the program refuses a file that breaks the
	// rule; it is empty when the file is accepted all the same, and Uncoded when
	// the refusal is an error of the command.
	Code finding.Code
	// Spec is where the rule comes from.
	Spec string
	// Rules are the numbers of docs/contract.md that it stands for; of some the
	// schema says a part.
	Rules []string
}

// NoFinding is the Code of rules of files that are input of a command and no evidence:
// it fails, and has no finding.
const NoFinding finding.Code = "uncoded"

// Inexpressible lists what the named schema cannot say. A schema describes the values
// that a JSON parser hands over, and the first rules are of the bytes before
// that: a parser may keep some of them, and none can be relied on. There are none of
// Rows and AssayEvent, which the program does not read one by one.
func Inexpressible(name string) []Rule {
	switch name {
	case Artifact:
		return slices.Clone(ofArtifacts)
	case ArtifactAssay:
		return slices.Concat(ofArtifacts, ofAssay)
	case Envelope:
		return slices.Clone(ofEnvelopes)
	case Record:
		return slices.Clone(ofRecords)
	case Capture:
		return slices.Clone(ofCaptures)
	case Baseline:
		return slices.Concat(ofInputs, ofBaselines)
	case Scenarios:
		return slices.Concat(ofInputs, ofScenarios)
	case Expected:
		return slices.Concat(ofInputs, ofExpected)
	case Harness:
		return slices.Clone(ofInputs)
	}
	return nil
}

var ofArtifacts = []Rule{
	{"duplicate_key", "no key stands twice in one object, compared after unescaping", finding.JSONDuplicateKey, "RFC 8259 §4", []string{"T4"}},
	{"utf8", "the text is valid UTF-8", finding.JSONInvalidUTF8, "RFC 8259 §8.1", []string{"T2"}},
	{"surrogate_pairs", "no string holds half of a surrogate pair", finding.LoneSurrogate, finding.OwnRule, []string{"A6", "M9"}},
	{"one_value", "nothing but white space follows the value", finding.JSONTrailing, "RFC 8259 §2", []string{"T6"}},
	{"file_bytes", "the file has at most 8,388,608 bytes", finding.TooLarge, finding.OwnRule, []string{"T1"}},
	{"unique_ids", "no two messages have ids that are equal after trimming", finding.MessageIDRepeated, "Assay's mapper 5.4.0", []string{"M16"}},
	{"times_in_order", "finished_at is not before started_at", finding.TimesOutOfOrder, "Assay's mapper 5.4.0", []string{"A18"}},
	{"leap_day", "29 February stands in leap years only", finding.TimestampMalformed, "RFC 3339 §5.7", []string{"A16"}},
	{"utc_year", "the instant of a timestamp lies in the years 1 to 9999 of UTC", finding.TimestampMalformed, "Assay's mapper 5.4.0", []string{"A17"}},
	{"stack_traces", "error_code and error_message hold no stack trace of a known shape", finding.ErrorStackTrace, "P20 §8.3", []string{"A26"}},
	{"canonical", "the canonical spelling: key order, two-space indent, minimal escapes, one newline at the end; another one is accepted with canonical: false", "", "RFC 8785 §3.2.2.2", []string{"C1", "C2", "C3"}},
}

var ofAssay = []Rule{
	{"trimmed_length", "a string with white space at an end keeps its limit without it; the schema holds it to twice the limit", finding.TooLong, "Assay's mapper 5.4.0", []string{"P1", "P2", "P3", "P4", "P5", "P6"}},
	{"event_line", "the artifact's event line has at most 1,048,576 bytes", finding.EventLineTooLong, "Assay's verifier 5.4.0", []string{"P7"}},
}

var ofEnvelopes = []Rule{
	{"duplicate_key", "no key stands twice in one object, compared after unescaping", finding.JSONDuplicateKey, "RFC 8259 §4", []string{"T4"}},
	{"utf8", "the text is valid UTF-8", finding.JSONInvalidUTF8, "RFC 8259 §8.1", []string{"T2"}},
	{"one_value", "nothing but white space follows the event on its line", finding.JSONTrailing, "RFC 8259 §2", []string{"T6"}},
	{"depth", "values nest at most 512 deep", finding.JSONTooDeep, finding.OwnRule, []string{"T5"}},
	{"event_bytes", "an event has at most 67,108,864 bytes", finding.EventTooLarge, finding.OwnRule, nil},
	{"surrogate_pairs", "threadId and runId hold no half of a surrogate pair", finding.LoneSurrogate, finding.OwnRule, []string{"E9"}},
	{"one_thread", "threadId of the terminal event, where it has one, is that of RUN_STARTED", finding.TerminalOtherThread, finding.OwnRule, []string{"E11"}},
	{"canonical", "three lines without white space around the events; another framing is accepted with canonical: false", "", finding.OwnRule, []string{"C4"}},
}

var ofRecords = []Rule{
	{"duplicate_key", "no key stands twice in one object", finding.RecordMalformed, "RFC 8259 §4", nil},
	{"utf8", "the text is valid UTF-8 and holds no half of a surrogate pair", finding.RecordMalformed, "RFC 8259 §8.1", nil},
	{"one_value", "nothing follows the record but one newline", finding.RecordMalformed, "RFC 8259 §2", nil},
	{"one_spelling", "the one spelling of records: key order, two-space indent, minimal escapes", finding.RecordMalformed, "RFC 8785 §3.2.2.2", nil},
	{"integers", "an integer is written without fraction and exponent and fits 64 bits", finding.RecordMalformed, "RFC 8259 §6", nil},
	{"file_bytes", "the file has at most 67,108,864 bytes", finding.RecordMalformed, finding.OwnRule, nil},
	{"tool_version_bytes", "the tool's version has at most 128 bytes; the schema counts code points", finding.RecordMalformed, finding.OwnRule, nil},
	{"snapshot_number", "the number of a snapshot fits 64 bits", finding.RecordMalformed, finding.OwnRule, nil},
	{"times_in_order", "the operator's finished_at is not before started_at", finding.RecordMalformed, "Assay's mapper 5.4.0", nil},
	{"leap_day", "29 February stands in leap years only", finding.RecordMalformed, "RFC 3339 §5.7", nil},
	{"about_the_files", "digests, sizes, places, families and omissions are those of the artifact, the envelope and the capture", finding.RecordDiffers, "P20 §14.2", nil},
}

var ofCaptures = []Rule{
	{"duplicate_key", "no key stands twice in one object", finding.ManifestMalformed, "RFC 8259 §4", nil},
	{"utf8", "the text is valid UTF-8 and holds no half of a surrogate pair", finding.ManifestMalformed, "RFC 8259 §8.1", nil},
	{"one_value", "nothing but white space follows the manifest", finding.ManifestMalformed, "RFC 8259 §2", nil},
	{"integers", "an integer is written without fraction and exponent and fits 64 bits", finding.ManifestMalformed, "RFC 8259 §6", nil},
	{"file_bytes", "the file has at most 1,048,576 bytes", finding.ManifestMalformed, finding.OwnRule, nil},
	{"url", "the URL can be read as one", finding.ManifestMalformed, "RFC 3986 §3", nil},
	{"times_in_order", "started_at, first_byte_at and ended_at do not go back", finding.ManifestMalformed, "P20 §14.2", nil},
	{"leap_day", "29 February stands in leap years only", finding.ManifestMalformed, "RFC 3339 §5.7", nil},
	{"zero_time", "started_at and ended_at are not the first instant of year 1", finding.ManifestMalformed, finding.OwnRule, nil},
	{"about_the_files", "sizes and digests are those of the files beside it", finding.DigestMismatch, "P20 §14.3", nil},
}

// ofInputs are of the files that compare and discover read.
var ofInputs = []Rule{
	{"duplicate_key", "no key stands twice in one object", NoFinding, "RFC 8259 §4", nil},
	{"utf8", "the text is valid UTF-8 and holds no half of a surrogate pair", NoFinding, "RFC 8259 §8.1", nil},
	{"one_value", "nothing but white space follows the value", NoFinding, "RFC 8259 §2", nil},
	{"file_bytes", "the file has at most 67,108,864 bytes", NoFinding, finding.OwnRule, nil},
}

var ofBaselines = []Rule{
	{"integers", "an integer is written without fraction and exponent and fits 64 bits", NoFinding, "RFC 8259 §6", nil},
	{"run_order", "runs are in the order of their captures' names and their numbers, and none is there twice", NoFinding, finding.OwnRule, nil},
	{"each_projection", "a run has each projection once, in the order of the program", NoFinding, finding.OwnRule, nil},
	{"more_snapshots", "snapshots are counted only past the hundredth", NoFinding, finding.OwnRule, nil},
	{"same_contract", "the contract is that of the comparison", NoFinding, finding.OwnRule, nil},
}

var ofScenarios = []Rule{
	{"unique_names", "no two scenarios have one name", NoFinding, finding.OwnRule, nil},
	{"clean_path", "a path has no empty element and no dots, and its escapes are whole", NoFinding, finding.OwnRule, nil},
}

var ofExpected = []Rule{
	{"integers", "an integer is written without fraction and exponent and fits 64 bits", NoFinding, "RFC 8259 §6", nil},
	{"list_order", "the scenarios are those of the list, in its order", NoFinding, finding.OwnRule, nil},
}
