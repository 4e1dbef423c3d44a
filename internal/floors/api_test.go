package floors

import (
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestConsumer builds and runs a program in another module, outside the repository. The
// program uses the packages to freeze, validate and verify.
func TestConsumer(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	testkit.CopyDir(t, dir, "testdata/consumer")
	for name, text := range map[string]string{
		"go.mod": "module consumer.example\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n",
		"go.sum": string(testkit.Read(t, filepath.Join(root, "go.sum"))),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	response := testkit.WriteCapture(t, "run", testkit.Started, testkit.Message, testkit.Snapshot, testkit.Finished)
	// Its dependencies are those of this module, so nothing is downloaded.
	cmd := exec.Command("go", "run", "-trimpath", "-mod=mod", ".", response)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := regexp.MustCompile(`^frozen accepted sha256:[0-9a-f]{64}\nverified true\n<nil>\ntrue\n$`); !want.Match(out) {
		t.Errorf("it prints\n%s", out)
	}
	shown := goBlock.FindSubmatch(testkit.Read(t, filepath.Join(root, "docs", "go.md")))
	if shown == nil || !strings.Contains(string(testkit.Read(t, filepath.Join(dir, "main.go"))), string(shown[1])) {
		t.Errorf("the code in docs/go.md is not part of the consumer:\n%s", shown)
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// ofInternal matches a name of an internal package.
var ofInternal = regexp.MustCompile(`\b(atomicfile|diff|dirtree|eventnames|hint|hostcheck|humanize|jsonpatch|jsonvalue|look|ordered|picture|saving|spelling|strictjson|tarball|tarfs|testkit|timetext)\.[A-Z]`)

// TestSignatures checks that public signatures have no types of internal packages, which
// other modules cannot name. A public package may declare an alias of such a type.
func TestSignatures(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", "{{if .GoFiles}}{{.ImportPath}} {{.Dir}} {{join .GoFiles \" \"}}{{end}}", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	internal, err := filepath.Glob("../*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range internal {
		if name := filepath.Base(dir); name != "floors" && name != "tools" && !ofInternal.MatchString(name+".X") {
			t.Errorf("internal/%s is missing in ofInternal", name)
		}
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		path, dir, names := fields[0], fields[1], fields[2:]
		if strings.Contains(path, "/internal/") {
			continue
		}
		packages++
		for line := range strings.Lines(exported(t, path, dir, names)) {
			if ofInternal.MatchString(line) && !alias.MatchString(line) {
				t.Errorf("%s: %s", path, strings.TrimSpace(line))
			}
		}
	}
	if packages < 15 {
		t.Errorf("only %d packages were checked", packages)
	}
}

// exported returns the exported declarations of the named files of a package, as go doc -all
// prints them, without comments.
func exported(t *testing.T, path, dir string, names []string) string {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(set, files, path)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	add := func(decl ast.Decl) {
		if err := format.Node(&text, set, decl); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			add(v.Decl)
		}
	}
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			add(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, of := range p.Types {
		add(of.Decl)
		values(of.Consts)
		values(of.Vars)
		funcs(of.Funcs)
		funcs(of.Methods)
	}
	return text.String()
}

// TestAliasedMethods checks the same for the methods of types that envelope declares
// aliases of.
func TestAliasedMethods(t *testing.T) {
	text, err := exec.Command("go", "doc", "-all", "../strictjson").Output()
	if err != nil {
		t.Fatal(err)
	}
	methods := 0
	for line := range strings.Lines(string(text)) {
		if found := method.FindStringSubmatch(line); found != nil {
			methods++
			if strings.Contains(found[1], "Decoder") || strings.Contains(found[1], "Token") {
				t.Errorf("another module cannot call %s", strings.TrimSpace(line))
			}
		}
	}
	if methods < 5 {
		t.Errorf("only %d methods were checked", methods)
	}
}

var method = regexp.MustCompile(`^func \(\w+ \*?(?:Object|Value|Member|Kind)\) (.*)`)

// alias matches the declaration of an alias of a type or constant.
var alias = regexp.MustCompile(`^\t*(type )?[A-Z]\w* += `)
