// Package docs has the rules of the contract and of the projections as the pages
// in this directory state them, and explains rules and the codes of findings.
//
// It knows how these two pages are written. It must not know how an explanation is
// shown.
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
)

//go:embed contract.md
var contract string

//go:embed projections.md
var projections string

// Rule is a numbered rule of one of the pages. Its texts are plain: of Markdown,
// links, anchors and emphasis are taken out, and backticks, lists, tables and
// fences are kept. A paragraph is one line.
type Rule struct {
	// ID is its number, such as "A26".
	ID string
	// Page is the file name of the page that states it.
	Page string
	// Text is the rule, without its number: its paragraph, and the lists, tables and
	// fences that follow directly.
	Text string
	// Notes is what else the page says before the next rule or section. It may be
	// about this rule, about several, or about the next.
	Notes string
	// Codes are those that the text names, in its order.
	Codes []finding.Code
}

// Rules returns the rules of the contract, then those of the projections, in the
// order of the pages. A number that is withdrawn is among them: the page says why.
// The result must not be changed.
func Rules() []Rule { return rules() }

var rules = sync.OnceValue(func() []Rule {
	return append(parse(Contract, contract), parse(Projections, projections)...)
})

// Find returns the rule of a number. The case of ASCII letters does not matter.
func Find(id string) (Rule, bool) {
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.ID == upper(id) })
	if i < 0 {
		return Rule{}, false
	}
	return Rules()[i], true
}

// RulesOf returns the numbers of the rules that have a code: those of the contract
// whose findings have it, and those of the projections that name it.
func RulesOf(code finding.Code) (ids []string) {
	for _, r := range finding.Rules() {
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

// upper makes ASCII letters upper-case.
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			r += 'A' - 'a'
		}
		return r
	}, s)
}

const anchor = `<a id="`

// parse reads the rules of a page: a rule begins with its anchor at the beginning
// of a line, and what follows it ends before the next rule or section.
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

// divide divides the blocks of a rule into its paragraph with the lists, tables and
// fences directly after it, and the rest.
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
	// markup is a fence or a code span, which are kept, or a link or emphasis.
	markup = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`|\\[([^\\]\n]*)\\]\\([^)\\s]*\\)|\\*\\*|\\*([^*\n`]+)\\*")
	})
)

// plain takes links and emphasis out of Markdown, but not out of code.
func plain(text string) string {
	return markup().ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '`' {
			return s
		}
		m := markup().FindStringSubmatch(s)
		return m[1] + m[2]
	})
}
