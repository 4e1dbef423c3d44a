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
	cmd := exec.Command("go", "run", "-mod=mod", ".", response)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := regexp.MustCompile(`^frozen accepted sha256:[0-9a-f]{64}\nverified true\n<nil>\ntrue\n$`); !want.Match(out) {
		t.Errorf("it prints\n%s", out)
	}
	shown := goBlock.FindSubmatch(testkit.Read(t, filepath.Join(root, "README.md")))
	if shown == nil || !strings.Contains(string(testkit.Read(t, filepath.Join(dir, "main.go"))), string(shown[1])) {
		t.Errorf("the code in README.md is not part of the consumer:\n%s", shown)
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// ofInternal matches a name of an internal package.
var ofInternal = regexp.MustCompile(`\b(atomicfile|diff|dirtree|eventnames|hint|hostcheck|humanize|jsonpatch|jsonvalue|ordered|spelling|strictjson|tarball|tarfs|testkit|timetext)\.[A-Z]`)

// TestSignatures checks that public signatures have no types of internal packages, which
// other modules cannot name. A public package may declare an alias of such a type.
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
			t.Errorf("internal/%s is missing in ofInternal", name)
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
		t.Errorf("only %d packages were checked", packages)
	}
}

// TestAliasedMethods checks the same for the methods of types that envelope declares
// aliases of.
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
		t.Errorf("only %d methods were checked", methods)
	}
}

var method = regexp.MustCompile(`^func \(\w+ \*?(?:Object|Value|Member|Kind)\) (.*)`)

// alias matches the declaration of an alias of a type or constant.
var alias = regexp.MustCompile(`^\t*(type )?[A-Z]\w* += `)
