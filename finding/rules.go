package finding

import (
	"maps"
	"slices"
	"sync"
)

// Rule is one numbered rule of docs/contract.md.
type Rule struct {
	// ID is its number, such as "A12".
	ID string
	// Code is that of every finding of the rule. The rules of the canonical
	// form have none: an artifact in another spelling is accepted.
	Code Code
	// Spec is where the rule comes from: a section of the plan (P20 §8.3) or of
	// an RFC, AG-UI, Assay's mapper or verifier, or OwnRule.
	Spec string
}

// OwnRule is the Spec of a rule that comes from the contract itself. The
// contract says why it has the rule.
const OwnRule = "p20export"

// rules are in the order of the contract. They are never changed at run time.
// E10 is withdrawn; its number is not used again.
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

var ruleByID = sync.OnceValue(func() map[string]Rule {
	all := make(map[string]Rule, len(rules))
	for _, r := range rules {
		all[r.ID] = r
	}
	return all
})

// soleRule has the codes that a single rule has.
var soleRule = sync.OnceValue(func() map[Code]string {
	sole, count := make(map[Code]string), make(map[Code]int)
	for _, r := range rules {
		count[r.Code]++
		sole[r.Code] = r.ID
	}
	maps.DeleteFunc(sole, func(c Code, _ string) bool { return c == "" || count[c] > 1 })
	return sole
})

// Rules lists the rules of the contract, in its order.
func Rules() []Rule { return slices.Clone(rules) }

// Violation makes a finding that a rule of the contract is broken. The rule must
// be one that has a code.
func Violation(rule, format string, args ...any) Finding {
	return New(ruleByID()[rule].Code, format, args...).under(rule)
}

// WithRule returns f under the contract's rule of its code, where the code has
// just one.
func (f Finding) WithRule() Finding {
	if rule, ok := soleRule()[f.Code]; ok {
		return f.under(rule)
	}
	return f
}

func (f Finding) under(rule string) Finding {
	f.Rule, f.Spec = rule, ruleByID()[rule].Spec
	return f
}
