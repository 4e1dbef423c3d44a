package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// machine describes the machine, and the versions of everything that is measured.
func (s *settings) machine() (string, error) {
	t := &table{}
	t.row("what", "which")
	t.WriteString("|---|---|\n")
	t.row("processor", fmt.Sprintf("%s, %d cores", page.Find("/proc/cpuinfo", `(?m)^model name\s*: (.*)`), runtime.NumCPU()))
	t.row("SHA-256 in the processor", map[bool]string{true: "yes", false: "no"}[page.Find("/proc/cpuinfo", `\b(sha_ni|sha2)\b`) != ""])
	t.row("memory", page.Memory())
	t.row("load before the measurement", s.load)
	// This is last, since the memory of this program counts, and grows.
	smallest, err := s.run(0, "true")
	if err != nil {
		return "", err
	}
	t.row("smallest peak RSS that can be measured", page.Number(smallest.rss)+" MiB")
	for _, line := range [][]string{
		{"kernel", "uname", "-sr"},
		{"file system", "findmnt", "-n", "-o", "FSTYPE", "-T", s.dir},
		{"p20export", s.program, "version"},
		{"Go", "go", "version"},
		{"OpenSSL", "openssl", "version"},
		{"jq", "jq", "--version"},
		{"Node", "node", "--version"},
	} {
		out, err := exec.Command(line[1], line[2:]...).Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(line[1:], " "), err)
		}
		first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		t.row(line[0], string(first))
	}
	t.row("@ag-ui/client", page.Find(filepath.Join(s.scripts, "client", "package.json"), `"@ag-ui/client": "(.*)"`))
	for _, name := range []string{"orjson", "pydantic"} {
		out, err := exec.Command(filepath.Join(s.dir, "peers", name, "bin", "python"), "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check").Output()
		if err != nil {
			return "", fmt.Errorf("the packages of %s: %w", name, err)
		}
		version, err := exec.Command(filepath.Join(s.dir, "peers", name, "bin", "python"), "--version").Output()
		if err != nil {
			return "", err
		}
		packages := regexp.MustCompile(`(?m)^(orjson|ag-ui-protocol|pydantic)==(.*)$`).FindAllStringSubmatch(string(out), -1)
		text := strings.TrimSpace(string(version))
		for _, p := range packages {
			text += ", " + p[1] + " " + p[2]
		}
		t.row("the script over "+name, text)
	}
	return t.String(), nil
}
