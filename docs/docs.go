// Package docs provides the rules of the contract, of the projections, of the order of
// events and of lint from the pages in this directory.
//
// It knows the format of these pages. It must not know how an explanation is rendered.
package docs

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/p20export/p20export/finding"
)

// The pages with rules.
const (
	Contract    = "contract.md"
	Projections = "projections.md"
	Sequence    = "sequence.md"
	Lint        = "lint.md"
)

//go:embed contract.md
var contract string

//go:embed projections.md
var projections string

//go:embed sequence.md
var sequence string

//go:embed lint.md
var lint string

// A Rule is a numbered rule of one of the pages. Its texts have no Markdown links, anchors
// and emphasis, but keep backticks, lists, tables and fences. A paragraph is one line.
type Rule struct {
	// ID is its number, such as "A26".
	ID string
	// Page is the file name of its page.
	Page string
	// Text is the rule without its number: its paragraph, and the lists, tables and fences
	// directly after it.
	Text string
	// Notes is the rest of the text before the next rule or section. It may be about this
	// rule, about several rules, or about the next one.
	Notes string
	// Codes are the codes in the text, in order.
	Codes []finding.Code
}

// Rules returns the rules of the contract, then those of the projections, of the order of
// events and of lint, in the order of the pages. It includes withdrawn numbers, whose text is the
// reason. The caller must not modify the result.
func Rules() []Rule { return rules() }

var rules = sync.OnceValue(func() []Rule {
	return slices.Concat(parse(Contract, contract), parse(Projections, projections), parse(Sequence, sequence), parse(Lint, lint))
})

// Find returns the rule with a number, and whether it exists. It ignores the case of ASCII
// letters.
func Find(id string) (Rule, bool) {
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.ID == upper(id) })
	if i < 0 {
		return Rule{}, false
	}
	return Rules()[i], true
}

// RulesOf returns the numbers of the rules with a code: the rules of the contract, of the
// order of events and of lint whose findings have the code, and the rules of the projections
// that name it.
func RulesOf(code finding.Code) (ids []string) {
	for _, r := range slices.Concat(finding.Rules(), finding.SequenceRules(), finding.LintRules()) {
		if r.Code == code {
			ids = append(ids, r.ID)
		}
	}
	for _, r := range Rules() {
		if r.Page == Projections && slices.Contains(r.Codes, code) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Summary returns the first sentence of a rule, without its full stop.
func (r Rule) Summary() string {
	first, _, _ := strings.Cut(r.Text, "\n")
	first, _, _ = strings.Cut(first, ". ")
	return strings.TrimRight(first, ".:")
}

// upper returns s with ASCII letters in upper case.
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			r += 'A' - 'a'
		}
		return r
	}, s)
}

const anchor = `<a id="`

// parse returns the rules of a page. A rule begins with its anchor at the beginning of a
// line and ends before the next rule or section.
func parse(page, text string) (all []Rule) {
	for part := range strings.SplitSeq(text, "\n"+anchor) {
		id, body, ok := strings.Cut(part, `"></a>`)
		if !ok || len(id) > 3 { // the head of the page
			continue
		}
		body, _, _ = strings.Cut(body, "\n## ")
		body = strings.TrimPrefix(body, "**"+id+".** ")
		own, after := divide(strings.Split(strings.TrimSpace(body), "\n\n"))
		r := Rule{ID: id, Page: page, Text: plain(own), Notes: plain(after)}
		for _, m := range code().FindAllStringSubmatch(own, -1) {
			c := finding.Code(m[1])
			if _, ok := finding.Describe(c); ok && !slices.Contains(r.Codes, c) {
				r.Codes = append(r.Codes, c)
			}
		}
		all = append(all, r)
	}
	return all
}

// divide splits the blocks of a rule into its paragraph with the lists, tables and fences
// directly after it, and the rest.
func divide(blocks []string) (own, after string) {
	n := 1
	for n < len(blocks) && attached().MatchString(blocks[n]) {
		n++
	}
	return strings.Join(blocks[:n], "\n\n"), strings.Join(blocks[n:], "\n\n")
}

var (
	code     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([a-z0-9_]+)`") })
	attached = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(- |1\\. |\\| |```)") })
	// markup matches a fence or a code span, which are kept, or a link or emphasis.
	markup = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`|\\[([^\\]\n]*)\\]\\([^)\\s]*\\)|\\*\\*|\\*([^*\n`]+)\\*")
	})
)

// plain removes links and emphasis from Markdown, but not from code.
func plain(text string) string {
	return markup().ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '`' {
			return s
		}
		m := markup().FindStringSubmatch(s)
		return m[1] + m[2]
	})
}
