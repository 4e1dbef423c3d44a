package floors

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Every file has a name that Windows, macOS and the module proxy accept: "go install" refuses a
// module that has another (golang.org/x/mod/module.CheckFilePath), and two names that differ
// only in case are one file there.
func TestNamesArePortable(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	reserved := regexp.MustCompile(`(?i)(^|/)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.[^/]*)?(/|$)`)
	refused := regexp.MustCompile(`[^ !#$%&()+,\-./0-9=@A-Z\[\]^_a-z{}~]|\.(/|$)`)
	seen := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if reserved.MatchString(name) || refused.MatchString(name) {
			t.Errorf("%s cannot be part of a module", name)
		}
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%s and %s differ only in case", name, other)
		}
		seen[strings.ToLower(name)] = name
	}
	if len(seen) < 1000 {
		t.Errorf("only %d files", len(seen))
	}
}
