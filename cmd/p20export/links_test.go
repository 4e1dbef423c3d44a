package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

var (
	markdownFence   = regexp.MustCompile("(?ms)^```.*?^```")
	markdownCode    = regexp.MustCompile("`[^`\n]*`")
	markdownLink    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	markdownHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	markdownAnchor  = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	notInSlug       = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every link of a document to a file of this repository points to an existing file and an
// existing anchor.
func TestLinks(t *testing.T) {
	t.Parallel()
	links := 0
	for _, doc := range documents(t, "../..") {
		text := markdownFence.ReplaceAllString(string(testkit.Read(t, doc)), "")
		for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			to := doc
			if path != "" {
				to = filepath.Join(filepath.Dir(doc), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s: %v", doc, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(t, to), anchor) {
				t.Errorf("%s: %s has no anchor %s", doc, to, anchor)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// The first mention of the plan in a document is a link to its description.
func TestPlanIsLinked(t *testing.T) {
	t.Parallel()
	mention := regexp.MustCompile(`\bP20\b`)
	mentioned := 0
	for _, doc := range documents(t, "../..") {
		if base := filepath.Base(doc); base == "p20.md" || base == "CHANGELOG.md" {
			continue
		}
		text := markdownCode.ReplaceAllString(markdownFence.ReplaceAllString(string(testkit.Read(t, doc)), ""), "")
		at := mention.FindStringIndex(text)
		if at == nil {
			continue
		}
		mentioned++
		if !regexp.MustCompile(`^P20( §[\d.]+)?\]\([^)]*p20\.md(#[^)]*)?\)`).MatchString(text[at[0]:]) {
			t.Errorf("%s mentions P20 first without a link: %.60q", doc, text[at[0]:])
		}
	}
	if mentioned < 5 {
		t.Errorf("only %d documents mention the plan", mentioned)
	}
}

// documents lists the Markdown files of the repository, except those of installed tools and
// those in captures.
func documents(t *testing.T, root string) []string {
	var list []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".build", ".git", ".venv", "captures", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			list = append(list, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// anchors lists the anchors of a document: those that GitHub derives from its headings, and
// explicit ones.
func anchors(t *testing.T, path string) []string {
	text := markdownFence.ReplaceAllString(string(testkit.Read(t, path)), "")
	var list []string
	for _, m := range markdownHeading.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	for _, m := range markdownAnchor.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// The targets of links in findings exist: each rule in the contract, each code in the table of
// codes, and each cited section of the plan.
func TestFindingsAreDocumented(t *testing.T) {
	t.Parallel()
	rules, codes, plan := anchors(t, "../../docs/contract.md"), anchors(t, "../../docs/findings.md"), anchors(t, "../../docs/p20.md")
	cited := func(what, spec string) {
		if section, ok := strings.CutPrefix(spec, "P20 §"); ok && !slices.Contains(plan, "s"+section) {
			t.Errorf("%s cites %s, which docs/p20.md lacks", what, spec)
		}
	}
	for _, r := range finding.Rules() {
		if !slices.Contains(rules, r.ID) {
			t.Errorf("docs/contract.md has no anchor %s", r.ID)
		}
		cited(r.ID, r.Spec)
	}
	for _, code := range finding.Codes() {
		if !slices.Contains(codes, string(code)) {
			t.Errorf("docs/findings.md has no anchor %s", code)
		}
		about, _ := finding.Describe(code)
		cited(string(code), about.Spec)
	}
}
