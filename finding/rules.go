package finding

import (
	"maps"
	"slices"
	"sync"
)

// Rule is one numbered rule of docs/contract.md, docs/sequence.md or docs/lint.md.
type Rule struct {
	// ID is the number of the rule, such as "A12".
	ID string
	// Code is the code of findings that report a violation. The rules of the
	// canonical form have none, because an artifact in another form is accepted.
	Code Code
	// Spec is the source of the rule: a section of the plan (P20 §8.3) or of an
	// RFC, AG-UI, Assay's mapper or verifier, or OwnRule.
	Spec string
}

// OwnRule is the Spec of a rule that the contract itself introduces. The contract
// gives the reason for the rule.
const OwnRule = "p20export"

// rules lists the rules in the order of the contract. It is never changed. E10 was
// withdrawn, and its number is not reused.
var rules = []Rule{
	{"T1", TooLarge, OwnRule},
	{"T2", JSONInvalidUTF8, "RFC 8259 §8.1"},
	{"T3", JSONSyntax, "RFC 8259"},
	{"T4", JSONDuplicateKey, "RFC 8259 §4"},
	{"T5", JSONTooDeep, OwnRule},
	{"T6", JSONTrailing, "RFC 8259 §2"},

	{"A1", NotObject, "P20 §12"},
	{"A2", KeyMissing, "P20 §8.1"},
	{"A3", KeyUnknown, "Assay's mapper 5.4.0"},
	{"A4", ExtraEventFamily, "P20 §7"},
	{"A5", WrongType, "Assay's mapper 5.4.0"},
	{"A6", LoneSurrogate, OwnRule},
	{"A7", ValueBlank, "Assay's mapper 5.4.0"},
	{"A8", WrongValue, "P20 §12"},
	{"A9", WrongValue, "P20 §12"},
	{"A10", WrongValue, "P20 §12"},
	{"A11", TooLong, OwnRule},
	{"A12", RefNotOpaque, "P20 §8.3"},
	{"A13", RefNotOpaque, OwnRule},
	{"A14", RefNotOpaque, OwnRule},
	{"A27", RefNotOpaque, "P20 §8.3"},
	{"A28", RefNotOpaque, "P20 §8.3"},
	{"A29", RefNotOpaque, "P20 §8.3"},
	{"A15", TimestampMalformed, "RFC 3339 §5.6"},
	{"A16", TimestampMalformed, "RFC 3339 §5.7"},
	{"A17", TimestampMalformed, "Assay's mapper 5.4.0"},
	{"A18", TimesOutOfOrder, "Assay's mapper 5.4.0"},
	{"A19", WrongValue, "P20 §8.3"},
	{"A20", ExtraEventFamily, "P20 §7"},
	{"A21", KeyMissing, "Assay's mapper 5.4.0"},
	{"A22", ErrorKeyForbidden, "P20 §12"},
	{"A23", TooLong, OwnRule},
	{"A24", TooLong, OwnRule},
	{"A25", ControlCharacter, OwnRule},
	{"A26", ErrorStackTrace, "P20 §8.3"},

	{"M1", WrongType, "P20 §8.3"},
	{"M2", MessagesEmpty, "Assay's mapper 5.4.0"},
	{"M3", MessagesTooMany, OwnRule},
	{"M4", WrongType, "P20 §8.3"},
	{"M5", KeyMissing, "P20 §8.3"},
	{"M6", KeyUnknown, "P20 §8.3"},
	{"M7", ExtraEventFamily, "P20 §7"},
	{"M8", WrongType, "P20 §8.3"},
	{"M9", LoneSurrogate, OwnRule},
	{"M10", ValueBlank, "Assay's mapper 5.4.0"},
	{"M11", TooLong, OwnRule},
	{"M12", TooLong, OwnRule},
	{"M13", TooLong, OwnRule},
	{"M14", WrongValue, "Assay's mapper 5.4.0"},
	{"M15", ExtraEventFamily, "P20 §7"},
	{"M16", MessageIDRepeated, "Assay's mapper 5.4.0"},

	{"P1", TooLong, "Assay's mapper 5.4.0"},
	{"P2", TooLong, "Assay's mapper 5.4.0"},
	{"P3", TooLong, "Assay's mapper 5.4.0"},
	{"P4", TooLong, "Assay's mapper 5.4.0"},
	{"P5", TooLong, "Assay's mapper 5.4.0"},
	{"P6", TooLong, "Assay's mapper 5.4.0"},
	{"P7", EventLineTooLong, "Assay's verifier 5.4.0"},

	{"E1", EventNotObject, "AG-UI"},
	{"E2", EventTypeMissing, "AG-UI"},
	{"E3", ExtraEventFamily, "P20 §7"},
	{"E4", EnvelopeRepeated, "P20 §7"},
	{"E5", EnvelopeOrder, "AG-UI"},
	{"E6", EnvelopeIncomplete, "P20 §7"},
	{"E7", EventFieldMalformed, "AG-UI"},
	{"E8", EventFieldMalformed, "AG-UI"},
	{"E9", LoneSurrogate, OwnRule},
	{"E11", TerminalOtherThread, OwnRule},
	{"E12", SnapshotMalformed, "AG-UI"},
	{"E13", SnapshotMalformed, "AG-UI"},

	{"C1", "", OwnRule},
	{"C2", "", OwnRule},
	{"C3", "", "RFC 8785 §3.2.2.2"},
	{"C4", "", OwnRule},
}

// sequenceRules lists the rules of docs/sequence.md in its order.
var sequenceRules = []Rule{
	{"G1", OutsideRun, "AG-UI"},
	{"G2", OutsideRun, "AG-UI"},
	{"G3", OutsideRun, "AG-UI"},
	{"G4", RunStillOpen, "AG-UI"},

	{"G5", TagNull, "AG-UI"},
	{"G6", SubagentMalformed, "AG-UI"},
	{"G7", SubagentMalformed, "AG-UI"},
	{"G8", SubagentMalformed, "AG-UI"},

	{"G9", AlreadyOpen, "AG-UI"},
	{"G10", NotOpen, "AG-UI"},
	{"G11", AlreadyOpen, "AG-UI"},
	{"G12", NotOpen, "AG-UI"},
	{"G13", OwnerDiffers, "AG-UI"},
	{"G14", AlreadyOpen, "AG-UI"},
	{"G15", NotOpen, "AG-UI"},
	{"G16", AlreadyOpen, "AG-UI"},
	{"G17", NotOpen, "AG-UI"},
	{"G18", OwnerDiffers, "AG-UI"},

	{"G19", SubagentMalformed, "AG-UI"},
	{"G20", SubagentRestarted, "AG-UI"},
	{"G21", SubagentParentGone, "AG-UI"},
	{"G22", NotOpen, "AG-UI"},

	{"G23", LeftOpen, "AG-UI"},

	{"G24", ChunkInvalid, "AG-UI"},
	{"G25", ChunkInvalid, "AG-UI"},
	{"G26", ChunkInvalid, "AG-UI"},
	{"G27", ChunkInvalid, "AG-UI"},

	{"G28", AlreadyOpen, "AG-UI"},
	{"G29", NotOpen, "AG-UI"},

	{"G30", RunIDDiffers, "AG-UI"},
	{"G31", ThreadDiffers, "AG-UI"},
	{"G32", ThreadDiffers, "AG-UI"},
	{"G35", RunIDReused, "AG-UI"},

	{"G33", InterruptIDRepeated, "AG-UI"},
	{"G36", ResumeIncomplete, "AG-UI"},
	{"G37", ResumeUnknown, "AG-UI"},

	{"G34", StreamTruncated, "AG-UI"},

	{"G38", EncryptedTypeAlone, "AG-UI"},
	{"G39", PendingCallsDiffer, "AG-UI"},
	{"G40", ReopenedDiffers, "AG-UI"},
	{"G41", ReopenedDiffers, "AG-UI"},
	{"G42", SubagentLate, "AG-UI"},
	{"G43", OwnerDiffers, "AG-UI"},
}

// lintRules lists the rules of docs/lint.md in its order.
var lintRules = []Rule{
	{"W1", NeverEnded, OwnRule},
	{"W2", NeverEnded, OwnRule},
	{"W3", NeverEnded, OwnRule},
	{"W4", NeverEnded, OwnRule},
	{"W5", NeverEnded, OwnRule},
	{"W6", ResultWithoutCall, OwnRule},
	{"W7", DeltaInapplicable, OwnRule},
	{"W8", DeltaInapplicable, OwnRule},
	{"W9", DeltaEmpty, OwnRule},
	{"W10", DeltaEmpty, OwnRule},
	{"W11", IDReused, OwnRule},
	{"W12", IDReused, OwnRule},
	{"W13", IDReused, OwnRule},
	{"W14", SnapshotDrops, OwnRule},
	{"W15", SnapshotRenames, OwnRule},
	{"W16", TypeMisspelled, OwnRule},
	{"W17", TimestampDecreases, OwnRule},
	{"W18", TimestampUnit, OwnRule},
	{"W19", UsageInconsistent, OwnRule},
	{"W20", EvidenceLacking, OwnRule},
	{"W21", ArgumentsNotJSON, OwnRule},

	{"N1", HTTPContentType, "WHATWG HTML §9.2"},
	{"N2", CharsetOther, OwnRule},
	{"N3", LineIgnored, OwnRule},
	{"N4", EventIncomplete, "WHATWG HTML §9.2.6"},
	{"N5", ResponseBuffered, OwnRule},
	{"N6", SilenceLong, OwnRule},
	{"N7", CompressionDelays, OwnRule},
	{"N8", ConnectionCut, OwnRule},
	{"N9", HTTPStatus, "RFC 9110 §15"},
	{"N10", CORSRefused, OwnRule},
}

var ruleByID = sync.OnceValue(func() map[string]Rule {
	all := make(map[string]Rule, len(rules)+len(sequenceRules)+len(lintRules))
	for _, list := range [][]Rule{rules, sequenceRules, lintRules} {
		for _, r := range list {
			all[r.ID] = r
		}
	}
	return all
})

// soleRule maps each code that belongs to exactly one rule to the rule's ID.
var soleRule = sync.OnceValue(func() map[Code]string {
	sole, count := make(map[Code]string), make(map[Code]int)
	for _, r := range rules {
		count[r.Code]++
		sole[r.Code] = r.ID
	}
	maps.DeleteFunc(sole, func(c Code, _ string) bool { return c == "" || count[c] > 1 })
	return sole
})

// Rules returns the rules in the order of the contract.
func Rules() []Rule { return slices.Clone(rules) }

// SequenceRules returns the rules on the order of events, in the order of their page.
func SequenceRules() []Rule { return slices.Clone(sequenceRules) }

// LintRules returns the rules of docs/lint.md, in its order. A breach of one is not an error
// by default.
func LintRules() []Rule { return slices.Clone(lintRules) }

// InRule returns f as a finding about a rule, with the rule's source. The code of f must be
// the rule's.
func (f Finding) InRule(rule string) Finding { return f.withRuleID(rule) }

// Violation returns a finding that reports a violation of the rule with the given
// ID. The rule must have a code.
func Violation(rule, format string, args ...any) Finding {
	return New(ruleByID()[rule].Code, format, args...).withRuleID(rule)
}

// WithRule returns f with the rule that its code belongs to. If the code belongs
// to no rule or to several, WithRule returns f unchanged.
func (f Finding) WithRule() Finding {
	if rule, ok := soleRule()[f.Code]; ok {
		return f.withRuleID(rule)
	}
	return f
}

func (f Finding) withRuleID(rule string) Finding {
	f.Rule, f.Spec = rule, ruleByID()[rule].Spec
	return f
}
