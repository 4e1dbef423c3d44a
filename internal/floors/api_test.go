package floors

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestConsumer builds and runs a program of another module, outside the
// repository, that freezes, validates and verifies through the packages.
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
	// What it needs is there, as this module needs it; nothing is fetched.
	cmd := exec.Command("go", "run", "-mod=mod", ".", response)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := regexp.MustCompile(`^frozen accepted sha256:[0-9a-f]{64}\nverified true\n<nil>\ntrue\n$`); !want.Match(out) {
		t.Errorf("it says\n%s", out)
	}
	shown := goBlock.FindSubmatch(testkit.Read(t, filepath.Join(root, "README.md")))
	if shown == nil || !strings.Contains(string(testkit.Read(t, filepath.Join(dir, "main.go"))), string(shown[1])) {
		t.Errorf("README.md shows what the consumer does not do:\n%s", shown)
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// ofInternal is a type of a package that other modules cannot import.
var ofInternal = regexp.MustCompile(`\b(atomicfile|diff|dirtree|hint|humanize|strictjson|testkit)\.[A-Z]`)

// TestSignatures holds that no public signature has a type that another module
// cannot name: where one is of an internal package, a public package gives it a
// name.
func TestSignatures(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", "{{if .GoFiles}}{{.ImportPath}}{{end}}", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	internal, err := filepath.Glob("../*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range internal {
		if name := filepath.Base(dir); name != "floors" && name != "tools" && !ofInternal.MatchString(name+".X") {
			t.Errorf("internal/%s is not looked for", name)
		}
	}
	packages := 0
	for _, path := range strings.Fields(string(out)) {
		if strings.Contains(path, "/internal/") {
			continue
		}
		doc, err := exec.Command("go", "doc", "-all", path).Output()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		packages++
		for line := range strings.Lines(string(doc)) {
			code, _, _ := strings.Cut(line, "//")
			if ofInternal.MatchString(code) && !alias.MatchString(code) {
				t.Errorf("%s: %s", path, strings.TrimSpace(line))
			}
		}
	}
	if packages < 15 {
		t.Errorf("only %d packages were looked at", packages)
	}
}

// TestAliasedMethods holds the same of the methods of types that envelope gives a
// name to.
func TestAliasedMethods(t *testing.T) {
	doc, err := exec.Command("go", "doc", "-all", "../strictjson").Output()
	if err != nil {
		t.Fatal(err)
	}
	methods := 0
	for line := range strings.Lines(string(doc)) {
		if found := method.FindStringSubmatch(line); found != nil {
			methods++
			if strings.Contains(found[1], "Decoder") || strings.Contains(found[1], "Token") {
				t.Errorf("another module cannot call %s", strings.TrimSpace(line))
			}
		}
	}
	if methods < 5 {
		t.Errorf("only %d methods were looked at", methods)
	}
}

var method = regexp.MustCompile(`^func \(\w+ \*?(?:Object|Value|Member|Kind)\) (.*)`)

// alias gives a name to a type or a constant.
var alias = regexp.MustCompile(`^\t*(type )?[A-Z]\w* += `)
