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
	// Spec is where the rule comes from.
	Spec string
}

// rules are in the order of the contract. They are never changed at run time.
var rules = []Rule{
	{"T1", TooLarge, "P20 §8.3"},
	{"T2", JSONInvalidUTF8, "RFC 8259 §8.1"},
	{"T3", JSONSyntax, "RFC 8259"},
	{"T4", JSONDuplicateKey, "RFC 8259 §4"},
	{"T5", JSONTooDeep, "RFC 8259 §9"},
	{"T6", JSONTrailing, "RFC 8259 §2"},

	{"A1", NotObject, "P20 §12"},
	{"A2", KeyMissing, "P20 §8.1"},
	{"A3", KeyUnknown, "P20 §8"},
	{"A4", ExtraEventFamily, "P20 §7"},
	{"A5", WrongType, "P20 §8"},
	{"A6", LoneSurrogate, "RFC 8259 §8.2"},
	{"A7", ValueBlank, "P20 §8"},
	{"A8", WrongValue, "P20 §8.3"},
	{"A9", WrongValue, "P20 §8.3"},
	{"A10", WrongValue, "P20 §8.3"},
	{"A11", TooLong, "P20 §8.3"},
	{"A12", RefNotOpaque, "P20 §8.3"},
	{"A13", RefNotOpaque, "P20 §8.3"},
	{"A14", RefNotOpaque, "P20 §8.3"},
	{"A15", TimestampMalformed, "RFC 3339 §5.6"},
	{"A16", TimestampMalformed, "RFC 3339 §5.7"},
	{"A17", TimestampMalformed, "RFC 3339 §5.6"},
	{"A18", TimesOutOfOrder, "P20 §8.3"},
	{"A19", WrongValue, "P20 §8.3"},
	{"A20", ExtraEventFamily, "P20 §7"},
	{"A21", KeyMissing, "P20 §8.3"},
	{"A22", ErrorKeyForbidden, "P20 §8.3"},
	{"A23", TooLong, "P20 §8.3"},
	{"A24", TooLong, "P20 §8.3"},
	{"A25", ControlCharacter, "P20 §8.3"},

	{"M1", WrongType, "P20 §8.3"},
	{"M2", MessagesEmpty, "P20 §8.3"},
	{"M3", MessagesTooMany, "P20 §8.3"},
	{"M4", WrongType, "P20 §8.3"},
	{"M5", KeyMissing, "P20 §8.3"},
	{"M6", KeyUnknown, "P20 §8.3"},
	{"M7", ExtraEventFamily, "P20 §7"},
	{"M8", WrongType, "P20 §8.3"},
	{"M9", LoneSurrogate, "RFC 8259 §8.2"},
	{"M10", ValueBlank, "P20 §8.3"},
	{"M11", TooLong, "P20 §8.3"},
	{"M12", TooLong, "P20 §8.3"},
	{"M13", TooLong, "P20 §8.3"},
	{"M14", WrongValue, "P20 §8.3"},
	{"M15", ExtraEventFamily, "P20 §7"},
	{"M16", MessageIDRepeated, "P20 §8.3"},

	{"P1", TooLong, "P20 §8.3"},
	{"P2", TooLong, "P20 §8.3"},
	{"P3", TooLong, "P20 §8.3"},
	{"P4", TooLong, "P20 §8.3"},
	{"P5", TooLong, "P20 §8.3"},
	{"P6", TooLong, "P20 §8.3"},
	{"P7", EventLineTooLong, "P20 §8.3"},

	{"E1", EventNotObject, "P20 §7"},
	{"E2", EventTypeMissing, "P20 §7"},
	{"E3", ExtraEventFamily, "P20 §7"},
	{"E4", EnvelopeRepeated, "P20 §7"},
	{"E5", EnvelopeOrder, "P20 §7"},
	{"E6", EnvelopeIncomplete, "P20 §7"},
	{"E7", EventFieldMalformed, "AG-UI"},
	{"E8", EventFieldMalformed, "AG-UI"},
	{"E9", LoneSurrogate, "RFC 8259 §8.2"},
	{"E10", TerminalOtherRun, "P20 §7"},
	{"E11", TerminalOtherThread, "P20 §7"},
	{"E12", SnapshotMalformed, "P20 §7"},
	{"E13", SnapshotMalformed, "P20 §7"},

	{"C1", "", "P20 §8"},
	{"C2", "", "P20 §8"},
	{"C3", "", "RFC 8785 §3.2.2.2"},
	{"C4", "", "P20 §7"},
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

// Breach makes a finding that a rule of the contract is broken. The rule must
// be one that has a code.
func Breach(rule, format string, args ...any) Finding {
	return New(ruleByID()[rule].Code, format, args...).under(rule)
}

// Ruled returns f under the contract's rule of its code, where the code has
// just one.
func (f Finding) Ruled() Finding {
	if rule, ok := soleRule()[f.Code]; ok {
		return f.under(rule)
	}
	return f
}

func (f Finding) under(rule string) Finding {
	f.Rule, f.Spec = rule, ruleByID()[rule].Spec
	return f
}
