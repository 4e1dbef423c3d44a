// Command release checks whether HEAD can be released, and prints what a release would say:
//
//	release [-base REVISION]
//
// It compares with the last tag before HEAD, or with REVISION. Each line begins with "ok",
// "note" (to be read before the release) or "FAIL". It runs in the root of the repository. The
// exit status is 1 if a line says FAIL.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
)

func main() {
	base := flag.String("base", "", "the `REVISION` to compare with; the last tag when empty")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "release: usage: release [-base REVISION]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := checker{ctx: ctx, base: *base}
	c.run()
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "release: interrupted")
		os.Exit(130)
	}
	if c.failed {
		os.Exit(1)
	}
}

// A checker prints what it finds.
type checker struct {
	ctx     context.Context
	base    string
	version string
	failed  bool
}

func (c *checker) say(kind, format string, args ...any) {
	c.failed = c.failed || kind == "FAIL"
	fmt.Printf("%-5s %s\n", kind, fmt.Sprintf(format, args...))
}

// check says ok, or FAIL with what is wrong.
func (c *checker) check(ok bool, what, wrong string, args ...any) {
	if ok {
		c.say("ok", "%s", what)
		return
	}
	c.say("FAIL", "%s: "+wrong, append([]any{what}, args...)...)
}

// output returns what a command prints, without white space around it.
func (c *checker) output(name string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(c.ctx, name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), err
}

func (c *checker) run() {
	text, err := c.output("go", "run", "./cmd/p20export", "version", "--format", "json")
	var row struct{ Version string }
	if err == nil {
		err = json.Unmarshal([]byte(text), &row, json.MatchCaseInsensitiveNames(true))
	}
	if err != nil {
		c.say("FAIL", "the version: %v", err)
		return
	}
	c.version = row.Version
	c.say("ok", "this is %s", c.version)
	c.changelog()
	c.mentions()
	c.tree()
	if c.base == "" {
		c.base, _ = c.output("git", "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^")
	}
	if c.base == "" {
		c.say("note", "there is no earlier tag: schemas, the interface of serve and the Go API are compared with nothing")
		return
	}
	commit, err := c.output("git", "rev-parse", "--verify", "--quiet", "--end-of-options", c.base+"^{commit}")
	if err != nil {
		c.say("FAIL", "there is no commit %q to compare with", c.base)
		return
	}
	c.say("ok", "compared with %s", c.base)
	c.base = commit
	c.schemas()
	c.openapi()
	c.api()
}

// changelog checks that the first section of CHANGELOG.md is that of the version, with a date.
func (c *checker) changelog() {
	data, err := os.ReadFile("CHANGELOG.md")
	heading := regexp.MustCompile(`(?m)^## .*$`).Find(data)
	dated := regexp.MustCompile(`^## ` + regexp.QuoteMeta(c.version) + ` – \d{4}-\d\d-\d\d$`)
	c.check(err == nil && dated.Match(heading), "CHANGELOG.md", "its first section is %q, and not \"## %s – DATE\"", heading, c.version)
}

// mentioning are the files that name the release to install.
var mentioning = []string{
	"README.md", "action.yml", "docs/releases.md", "docs/start/go.md", "docs/start/operator.md",
	"packaging/ci/Jenkinsfile", "packaging/ci/gitlab.yml", "packaging/container/compose.proxy.yaml", "packaging/container/compose.serve.yaml",
}

// mentioned matches the version of this program where it is named as one to install.
var mentioned = regexp.MustCompile(`(?:p20export[_:=@-]v?|cmd/p20export@v|--branch v|raw/v|VERSION: |VERSION = '|such as |default: )(\d+\.\d+\.\d+)`)

// mentions checks that these files name this version.
func (c *checker) mentions() {
	n, wrong := 0, []string{}
	for _, path := range mentioning {
		data, err := os.ReadFile(path)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		found := mentioned.FindAllSubmatch(data, -1)
		if len(found) == 0 {
			wrong = append(wrong, path+" names none")
		}
		for _, m := range found {
			if n++; string(m[1]) != c.version {
				wrong = append(wrong, fmt.Sprintf("%s: %s", path, m[0]))
			}
		}
	}
	c.check(len(wrong) == 0, fmt.Sprintf("%d places that name the release to install", n), "%s", strings.Join(wrong, ", "))
}

// tree checks that HEAD is what would be tagged.
func (c *checker) tree() {
	changed, err := c.output("git", "status", "--porcelain")
	c.check(err == nil && changed == "", "no file is changed", "%v%s", err, changed)
	head, _ := c.output("git", "rev-parse", "HEAD")
	tagged, err := c.output("git", "rev-parse", "--verify", "--quiet", "refs/tags/v"+c.version+"^{commit}")
	switch {
	case err != nil:
		c.say("note", "the tag is missing: git tag --sign --message 'p20export %s' v%[1]s", c.version)
	default:
		c.check(tagged == head, "the tag v"+c.version, "it names %s, and HEAD is %s", tagged, head)
	}
}

// show returns a file of the base.
func (c *checker) show(path string) ([]byte, error) {
	return exec.CommandContext(c.ctx, "git", "show", c.base+":"+path).Output()
}

// schemas checks that every schema of the base still exists under the same id.
func (c *checker) schemas() {
	list, err := c.output("git", "ls-tree", "--name-only", c.base, "schema/")
	var wrong []string
	n := 0
	for path := range strings.FieldsSeq(list) {
		if !strings.HasSuffix(path, ".schema.json") {
			continue
		}
		n++
		var old, now struct {
			ID string `json:"$id"`
		}
		data, err := c.show(path)
		if err == nil {
			err = json.Unmarshal(data, &old)
		}
		if err == nil {
			data, err = os.ReadFile(path)
		}
		if err == nil {
			err = json.Unmarshal(data, &now)
		}
		if err != nil || old.ID != now.ID {
			wrong = append(wrong, fmt.Sprintf("%s (%s, was %s) %v", path, now.ID, old.ID, err))
		}
	}
	c.check(err == nil && n > 0 && len(wrong) == 0, fmt.Sprintf("%d schemas keep their ids", n), "%v %s", err, strings.Join(wrong, ", "))
}

// An operation is what clients rely on in the interface of serve.
type operation struct {
	Parameters []struct{ Name, In, Ref string }
	Responses  map[string]any
}

// openapi checks that no operation, parameter or response of the interface of serve is gone.
func (c *checker) openapi() {
	const path = "docs/serve.openapi.json"
	data, err := c.show(path)
	if err != nil {
		c.say("note", "the interface of serve is new")
		return
	}
	now, err := os.ReadFile(path)
	if err != nil {
		c.say("FAIL", "%v", err)
		return
	}
	before, after := operations(data), operations(now)
	var gone, added []string
	for name := range before {
		if !after[name] {
			gone = append(gone, name)
		}
	}
	for name := range after {
		if !before[name] {
			added = append(added, name)
		}
	}
	slices.Sort(gone)
	slices.Sort(added)
	c.check(len(before) > 0 && len(gone) == 0, fmt.Sprintf("the interface of serve keeps its %d operations, parameters and responses", len(before)), "gone: %s", strings.Join(gone, ", "))
	for _, name := range added {
		c.say("note", "new in the interface of serve: %s", name)
	}
}

func operations(document []byte) map[string]bool {
	var d struct{ Paths map[string]map[string]any }
	names := map[string]bool{}
	if json.Unmarshal(document, &d, json.MatchCaseInsensitiveNames(true)) != nil {
		return names
	}
	for path, methods := range d.Paths {
		for method, about := range methods {
			if method == "parameters" {
				continue
			}
			name := strings.ToUpper(method) + " " + path
			names[name] = true
			text, _ := json.Marshal(about)
			var o operation
			if json.Unmarshal(bytes.ReplaceAll(text, []byte(`"$ref"`), []byte(`"Ref"`)), &o, json.MatchCaseInsensitiveNames(true)) != nil {
				continue
			}
			for _, p := range o.Parameters {
				names[name+" parameter "+p.In+" "+p.Name+p.Ref] = true
			}
			for status := range o.Responses {
				names[name+" status "+status] = true
			}
		}
	}
	return names
}

// api prints the changes of the Go API that callers have to follow. Before 1.0 any release may
// have some (docs/stability.md).
func (c *checker) api() {
	dir, err := os.MkdirTemp("", "p20export-release-")
	if err != nil {
		c.say("FAIL", "%v", err)
		return
	}
	defer os.RemoveAll(dir)
	old, export := filepath.Join(dir, "old"), filepath.Join(dir, "export")
	tool := filepath.Join(dir, "apidiff")
	const module = "github.com/p20export/p20export"
	for _, step := range [][]string{
		{"git", "clone", "--quiet", "--no-checkout", ".", old},
		{"git", "-C", old, "checkout", "--quiet", "--detach", c.base},
		{"go", "build", "-modfile=internal/tools/go.mod", "-o", tool, "golang.org/x/exp/cmd/apidiff"},
		{"env", "-C", old, tool, "-m", "-w", export, module},
	} {
		if _, err := c.output(step[0], step[1:]...); err != nil {
			c.say("FAIL", "%v", err)
			return
		}
	}
	text, err := c.output(tool, "-m", "-incompatible", export, module)
	if err != nil {
		c.say("FAIL", "the Go API: %v", err)
		return
	}
	n := strings.Count(text, "\n- ")
	if strings.HasPrefix(text, "- ") {
		n++
	}
	if n == 0 {
		c.say("ok", "the Go API has no incompatible changes")
		return
	}
	c.say("note", "the Go API has %d incompatible changes:", n)
	fmt.Println(text)
}
