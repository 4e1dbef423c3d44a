package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
)

// Off is the severity of a rule whose findings are not reported.
const Off finding.Severity = "off"

// A Policy says which findings are reported, how severe they are, and which features a
// stream has to exercise. The zero value has the default severities and requires nothing.
type Policy struct {
	// Rules has the severity of rules that do not have the default one, by the number of
	// the rule in upper case, or by the code of findings without a rule.
	Rules map[string]finding.Severity
	// Require lists features. See Features.
	Require []string
}

// Set sets the severity of a rule: error, warning, info or off. A rule is named by its
// number, such as G15, or by the code of findings without a rule, in any case. See
// RuleNames.
func (p *Policy) Set(rule string, severity finding.Severity) error {
	name, ok := ruleName(rule)
	if !ok {
		return fmt.Errorf("there is no rule %s that lint applies; the rules are those of docs/sequence.md (G15) and docs/lint.md (W7, N5), and %s", finding.Quote(rule), strings.Join(RuleNames()[:len(unnumbered)], ", "))
	}
	switch severity {
	case finding.Error, finding.Warning, finding.Info, Off:
	default:
		return fmt.Errorf("rule %s: the severities are error, warning, info and off", name)
	}
	if p.Rules == nil {
		p.Rules = make(map[string]finding.Severity)
	}
	p.Rules[name] = severity
	return nil
}

// unnumbered are the codes of findings that have no rule of their own and whose severity can
// be set.
var unnumbered = []finding.Code{finding.EventRefused, finding.EventAltered, finding.ProtocolNewer, finding.RunNotTerminated, finding.CaptureCutShort}

// ruleName returns the name of a rule as it is in Policy.Rules, and whether it exists.
func ruleName(s string) (string, bool) {
	for _, code := range unnumbered {
		if strings.EqualFold(s, string(code)) {
			return string(code), true
		}
	}
	for _, r := range append(finding.SequenceRules(), finding.LintRules()...) {
		if strings.EqualFold(s, r.ID) {
			return r.ID, true
		}
	}
	return "", false
}

// RuleNames returns the names that Policy.Set accepts, in the order of the documentation.
func RuleNames() []string {
	var names []string
	for _, code := range unnumbered {
		names = append(names, string(code))
	}
	for _, r := range append(finding.SequenceRules(), finding.LintRules()...) {
		names = append(names, r.ID)
	}
	return names
}

// SetRequired sets the features that a stream has to exercise.
func (p *Policy) SetRequired(features []string) error {
	p.Require = nil
	for _, name := range features {
		if !slices.Contains(Features(), name) {
			return fmt.Errorf("there is no feature %s; the features are %s", finding.Quote(name), strings.Join(Features(), ", "))
		}
		if !slices.Contains(p.Require, name) {
			p.Require = append(p.Require, name)
		}
	}
	return nil
}

// apply returns a finding with the severity that the policy gives it, and whether it is
// reported.
func (p *Policy) apply(f finding.Finding) (finding.Finding, bool) {
	if p == nil {
		return f, true
	}
	switch severity := p.Rules[nameOf(f)]; severity {
	case "":
		return f, true
	case Off:
		return f, false
	default:
		return f.WithSeverity(severity), true
	}
}

// nameOf returns the number of the rule of a finding, or the code of one without a rule.
func nameOf(f finding.Finding) string {
	if f.Rule != "" {
		return f.Rule
	}
	return string(f.Code)
}

// ParseSeverity returns the severity with a name.
func ParseSeverity(s string) (finding.Severity, error) {
	switch severity := finding.Severity(s); severity {
	case finding.Error, finding.Warning, finding.Info:
		return severity, nil
	}
	return "", errors.New("the severities are error, warning and info")
}

// AtLeast reports whether a severity is as grave as another one.
func AtLeast(s, least finding.Severity) bool { return s.Grade() >= least.Grade() }

// Options are the settings of a check.
type Options struct {
	// Protocol is the version of AG-UI. The default is event.Auto.
	Protocol event.Protocol
	// Policy may be nil.
	Policy *Policy
	// FailOn is the least severity of findings with which a capture does not pass. The
	// default is finding.Error.
	FailOn finding.Severity
	// Live has what is known of a response that was just recorded, or is nil.
	Live *Live
}
