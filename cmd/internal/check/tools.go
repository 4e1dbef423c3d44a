package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A tool is a program that a lane needs.
type tool struct {
	name     string
	programs []string // any of these on the PATH
	paths    []string // or a file that matches one of these patterns
	version  []string // the arguments that print the version
	least    string   // the oldest version that works
	debian   string   // Debian's packages, with spaces between; unpacked means not installed, since that starts a server
	unpack   string   // the script that unpacks Debian's package instead of installing it
	other    string   // where else it is from
}

var tools = []tool{
	{name: "git", programs: []string{"git"}, version: []string{"--version"}, debian: "git"},
	{name: "go", programs: []string{"go"}, version: []string{"version"}, least: "1.26", other: "https://go.dev/dl/"},
	{name: "cc", programs: []string{"gcc", "clang", "cc"}, version: []string{"--version"}, debian: "gcc libc6-dev"},
	{name: "python3", programs: []string{"python3"}, version: []string{"-c", "import sys, venv, ensurepip; print(sys.version.split()[0])"}, least: "3.11", debian: "python3 python3-venv"},
	{name: "node", programs: []string{"node"}, version: []string{"--version"}, least: "20", debian: "nodejs", other: "https://nodejs.org/ for Debian 12 and older"},
	{name: "npm", programs: []string{"npm"}, version: []string{"--version"}, debian: "npm"},
	{name: "cargo", programs: []string{"cargo"}, version: []string{"--version"}, least: "1.89", other: "https://rustup.rs/"},
	{name: "chromium", programs: []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}, version: []string{"--version"}, debian: "chromium"},
	{name: "postgres", programs: []string{"initdb"}, paths: []string{"/usr/lib/postgresql/*/bin/initdb", "/var/cache/p20export/postgresql/usr/lib/postgresql/*/bin/initdb", "~/.cache/p20export/postgresql/usr/lib/postgresql/*/bin/initdb"}, version: []string{"--version"}, debian: "postgresql", unpack: "store/postgres/server.sh programs"},
	{name: "nginx", programs: []string{"nginx"}, paths: []string{"/usr/sbin/nginx", "~/.cache/p20export/nginx/usr/sbin/nginx"}, version: []string{"-v"}, debian: "nginx", unpack: "internal/testkit/nginx.sh"},
	{name: "openssl", programs: []string{"openssl"}, version: []string{"version"}, debian: "openssl"},
	{name: "curl", programs: []string{"curl"}, version: []string{"--version"}, debian: "curl"},
	{name: "jq", programs: []string{"jq"}, version: []string{"--version"}, debian: "jq"},
	{name: "dpkg-deb", programs: []string{"dpkg-deb"}, version: []string{"--version"}, debian: "dpkg"},
	{name: "rpm", programs: []string{"rpm"}, version: []string{"--version"}, debian: "rpm rpm2cpio"},
	{name: "cpio", programs: []string{"cpio"}, version: []string{"--version"}, debian: "cpio"},
	{name: "systemd-analyze", programs: []string{"systemd-analyze"}, version: []string{"--version"}, debian: "systemd"},
	// ssh-agent has no argument that prints its version; ssh is from the same package.
	{name: "ssh-agent", programs: []string{"ssh"}, version: []string{"-V"}, debian: "openssh-client"},
	{name: "java", programs: []string{"javac"}, version: []string{"-version"}, least: "17", debian: "default-jdk-headless"},
	{name: "debootstrap", programs: []string{"debootstrap"}, version: []string{"--version"}, debian: "debootstrap"},
	{name: "buildah", programs: []string{"buildah"}, version: []string{"--version"}, debian: "buildah"},
	{name: "mvn", programs: []string{"mvn"}, version: []string{"--version"}, debian: "maven"},
	{name: "softhsm2-util", programs: []string{"softhsm2-util"}, version: []string{"--version"}, debian: "softhsm2"},
	// pkcs11-tool has no argument that prints its version; opensc-tool is from the same package.
	{name: "pkcs11-tool", programs: []string{"opensc-tool"}, version: []string{"--info"}, debian: "opensc"},
}

func (t tool) title() string {
	if t.least == "" {
		return t.name
	}
	return t.name + " " + t.least + " or newer"
}

// advice says where the tool is from.
func (t tool) advice() string {
	var parts []string
	if t.debian != "" {
		parts = append(parts, "Debian: apt-get install "+t.debian)
	}
	if t.other != "" {
		parts = append(parts, t.other)
	}
	return strings.Join(parts, "; ")
}

// find returns the path and the version of the tool. The path is empty if there is none, and
// the version is what a program that is too old or does not run says of itself.
func (t tool) find(ctx context.Context) (path, version string, ok bool) {
	for _, name := range t.programs {
		if path, _ = exec.LookPath(name); path != "" {
			break
		}
	}
	for _, pattern := range t.paths {
		if rest, home := strings.CutPrefix(pattern, "~/"); home {
			pattern = filepath.Join(os.Getenv("HOME"), rest)
		}
		if found, _ := filepath.Glob(pattern); path == "" && len(found) > 0 {
			path = found[len(found)-1]
		}
	}
	if path == "" {
		return "", "", false
	}
	cmd := exec.CommandContext(ctx, path, t.version...)
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	version = versionNumber.FindString(line)
	if err != nil && version == "" {
		return path, line, strings.Contains(path, "/p20export/") // a server that was unpacked needs its own libraries
	}
	return path, version, t.least == "" || !older(version, t.least)
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)*`)

// older reports whether one version is lower than another, part by part.
func older(version, least string) bool {
	have, want := strings.Split(version, "."), strings.Split(least, ".")
	for i := range want {
		if i == len(have) {
			return true
		}
		a, _ := strconv.Atoi(have[i])
		b, _ := strconv.Atoi(want[i])
		if a != b {
			return a < b
		}
	}
	return false
}

// missing returns the tools that are not there or are too old.
func missing(ctx context.Context, of []tool) []tool {
	var list []tool
	for _, t := range of {
		if _, _, ok := t.find(ctx); !ok {
			list = append(list, t)
		}
	}
	return list
}

// doctor prints the table of tools.
func doctor(ctx context.Context, w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "tool\tfound\tneeded by\tfrom")
	lacking := map[string]bool{}
	for _, t := range tools {
		path, version, ok := t.find(ctx)
		state := version + "  " + path
		switch {
		case path == "":
			state = "missing"
		case !ok:
			state = "does not fit: " + version + "  " + path
		}
		var needing []string
		for _, l := range lanes {
			if l.needs(t.name) {
				needing = append(needing, l.name)
				lacking[l.name] = lacking[l.name] || !ok
			}
		}
		for _, p := range parts {
			if len(needing) == 0 && contains(p.tools, t.name) {
				needing = append(needing, "nightly")
			}
		}
		needed := strings.Join(needing, ", ")
		if len(needing) == len(lanes) {
			needed = "everything"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.title(), state, needed, t.advice())
	}
	table.Flush()
	var without []string
	for _, l := range lanes {
		if lacking[l.name] {
			without = append(without, l.name)
		}
	}
	switch {
	case lacking[testLane.name]:
		fmt.Fprintln(w, "\nNothing can run before git and Go are there.")
	case len(without) > 0:
		fmt.Fprintf(w, "\nmake test can run. make check cannot before make setup; without it: make check SKIP=%s\n", strings.Join(without, ","))
	default:
		fmt.Fprintln(w, "\nmake test and make check can run.")
	}
}
