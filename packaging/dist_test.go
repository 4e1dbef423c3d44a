//go:build dist || roots

// Package packaging_test installs what make dist builds as its users would: from an index on
// this machine, without Go and without this repository.
package packaging_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	attestation "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/p20export/p20export/internal/testkit"
)

// dist is the directory that make dist wrote, and version what it has the release of.
var dist, version = os.Getenv("P20EXPORT_DIST"), ""

func TestMain(m *testing.M) {
	found, _ := filepath.Glob(filepath.Join(dist, "p20export_*.intoto.jsonl"))
	if len(found) != 1 {
		fmt.Fprintln(os.Stderr, "P20EXPORT_DIST is not a directory of make dist; use make packages")
		os.Exit(1)
	}
	version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "p20export_"), ".intoto.jsonl")
	os.Exit(m.Run())
}

// command returns a command in a directory, with no more in PATH than the given programs and
// those of the system, and a home of its own. The network is that of this machine.
func command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "NO_COLOR=1",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_CACHE_DIR=1", "PIP_CONFIG_FILE=/dev/null", "npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false",
	}
	return cmd
}

// output runs a command and returns what it printed. The command has to succeed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}

// failing runs a command that has to fail with a status, and returns what it printed.
func failing(t *testing.T, status int, cmd *exec.Cmd) string {
	t.Helper()
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("%s: exit status %d, want %d\n%s", cmd, got, status, out)
	}
	return string(out)
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("lacks %q:\n%s", w, text)
		}
	}
}

// published returns the path of a published file.
func published(format string, args ...any) string {
	return filepath.Join(dist, fmt.Sprintf(format, args...))
}

// An entry is a file in an archive.
type entry struct {
	mode fs.FileMode
	data []byte
}

// entries returns the files of an archive by name.
func entries(t *testing.T, path string) map[string]entry {
	t.Helper()
	data, list := testkit.Read(t, path), map[string]entry{}
	if strings.HasSuffix(path, ".zip") || strings.HasSuffix(path, ".whl") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			list[f.Name] = entry{f.Mode(), content}
		}
		return list
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list[h.Name] = entry{h.FileInfo().Mode(), content}
	}
}

// systems are those that programs are built for.
var systems = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"}

// Every archive has the program for its system, its pages and its licences.
func TestArchives(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		suffix, program := ".tar.gz", "p20export"
		if strings.HasPrefix(system, "windows") {
			suffix, program = ".zip", "p20export.exe"
		}
		name := "p20export_" + version + "_" + system
		list := entries(t, published("%s%s", name, suffix))
		for file, want := range map[string]string{
			"LICENSE": "Apache License", "CHANGELOG.md": "# Changelog", "THIRD-PARTY-NOTICES.txt": "the Go standard library", "man/man1/p20export.1": ".TH", "man/man1/p20export-freeze.1": ".TH",
			"completions/p20export.bash": "bash completion", "completions/_p20export": "#compdef p20export", "completions/p20export.fish": "fish", "completions/p20export.ps1": "powershell",
		} {
			e := list[name+"/"+file]
			if e.mode != 0o644 || !bytes.Contains(e.data, []byte(want)) {
				t.Errorf("%s: %s has the mode %v and %d bytes", name, file, e.mode, len(e.data))
			}
		}
		for _, file := range []string{"systemd/p20export-proxy.service", "systemd/p20export-prune.timer", "conf/proxy.conf", "conf/serve.conf"} {
			if _, ok := list[name+"/"+file]; ok != strings.HasPrefix(system, "linux") {
				t.Errorf("%s: %s: %t", name, file, ok)
			}
		}
		e := list[name+"/"+program]
		info, err := buildinfo.Read(bytes.NewReader(e.data))
		if err != nil || e.mode != 0o755 {
			t.Fatalf("%s: mode %v, %v", name, e.mode, err)
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["GOOS"]+"_"+settings["GOARCH"] != system || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" || settings["vcs.modified"] != "false" || settings["vcs.revision"] == "" {
			t.Errorf("%s: %v", name, settings)
		}
		notices := string(list[name+"/THIRD-PARTY-NOTICES.txt"].data)
		for _, m := range info.Deps {
			contains(t, notices, m.Path+" "+m.Version+" (")
		}
		for _, m := range windowModules(t) {
			contains(t, notices, m+" (")
		}
	}
}

// windowModules returns the modules of npm that the window has, with their versions.
func windowModules(t *testing.T) []string {
	t.Helper()
	var list struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(testkit.Read(t, "../serve/window/modules/package.json"), &list); err != nil || len(list.Dependencies) == 0 {
		t.Fatalf("%d modules, %v", len(list.Dependencies), err)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(list.Dependencies)) {
		all = append(all, name+" "+list.Dependencies[name])
	}
	return all
}

// linuxArchitectures are the names that Debian and Fedora have for those of Go.
var linuxArchitectures = []struct{ golang, debian, rpm string }{{"amd64", "amd64", "x86_64"}, {"arm64", "arm64", "aarch64"}}

// The packages for Debian and Fedora have the same files, of root and with the same modes, as
// dpkg and rpm read them; the program is that of the archive.
func TestLinuxPackages(t *testing.T) {
	t.Parallel()
	units := []string{"p20export-proxy.service", "p20export-prune.service", "p20export-prune.timer", "p20export-serve.service"}
	for _, arch := range linuxArchitectures {
		deb, rpm := published("p20export_%s_%s.deb", version, arch.debian), published("p20export-%s-1.%s.rpm", version, arch.rpm)
		archived := "p20export_" + version + "_linux_" + arch.golang
		program := entries(t, published("%s.tar.gz", archived))[archived+"/p20export"].data
		dir := t.TempDir()
		output(t, exec.Command("dpkg-deb", "--extract", deb, filepath.Join(dir, "deb")))
		output(t, exec.Command("sh", "-c", `mkdir "$2" && rpm2cpio "$1" | cpio --quiet --extract --make-directories --no-absolute-filenames --directory "$2" 2>"$2.log"`, "sh", rpm, filepath.Join(dir, "rpm")))
		// Both list one file on each line, as "-rwxr-xr-x root/root /usr/bin/p20export".
		listed := output(t, exec.Command("sh", "-c", `dpkg-deb --contents "$1" | awk '$1 !~ /^d/ {print $1, $2, substr($6, 2)}'`, "sh", deb))
		other := output(t, exec.Command("rpm", "--query", "--package", "--nosignature", "--queryformat", `[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]`, rpm))
		other = strings.ReplaceAll(other, "/zsh/site-functions/", "/zsh/vendor-completions/")
		a, b := slices.Sorted(strings.Lines(listed)), slices.Sorted(strings.Lines(other))
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s: the .deb (-) and the .rpm (+) list: %s", arch.golang, diff)
		}
		contains(t, listed, "-rwxr-xr-x root/root /usr/bin/p20export\n", "-rw-r--r-- root/root /usr/share/man/man1/p20export-freeze.1.gz\n", "-rw-r--r-- root/root /etc/p20export/serve.conf\n")
		for _, name := range []string{"deb", "rpm"} {
			if !bytes.Equal(testkit.Read(t, filepath.Join(dir, name, "usr/bin/p20export")), program) {
				t.Errorf("%s: the program of the .%s is not that of the archive", arch.golang, name)
			}
			for _, unit := range units {
				if !bytes.Equal(testkit.Read(t, filepath.Join(dir, name, "usr/lib/systemd/system", unit)), testkit.Read(t, "linux/"+unit)) {
					t.Errorf("%s: %s of the .%s is another", arch.golang, unit, name)
				}
			}
		}
		const configuration = "/etc/p20export/proxy.conf\n/etc/p20export/serve.conf\n"
		for _, cmd := range []*exec.Cmd{exec.Command("dpkg-deb", "--info", deb, "conffiles"), exec.Command("rpm", "--query", "--package", "--nosignature", "--configfiles", rpm)} {
			if got := output(t, cmd); got != configuration {
				t.Errorf("%s: the files of the administrator are %q", cmd, got)
			}
		}
		scripts := output(t, exec.Command("rpm", "--query", "--package", "--nosignature", "--scripts", rpm))
		for debian, name := range map[string]string{"postinst": "postinstall.sh", "prerm": "preremove.sh", "postrm": "postremove.sh"} {
			want := string(testkit.Read(t, "linux/"+name))
			if got := output(t, exec.Command("dpkg-deb", "--info", deb, debian)); got != want {
				t.Errorf("%s: %s is another", arch.golang, debian)
			}
			contains(t, scripts, strings.TrimSpace(want))
		}
		contains(t, output(t, exec.Command("rpm", "--checksig", "--nosignature", rpm)), "digests OK")
		contains(t, output(t, exec.Command("rpm", "--query", "--package", "--nosignature", "--recommends", rpm)), "ca-certificates")
		contains(t, output(t, exec.Command("dpkg-deb", "--info", deb)), " Recommends: ca-certificates\n", " Architecture: "+arch.debian+"\n", " Version: "+version+"\n")
	}
}

// The digests are those of all files but the signatures.
func TestDigests(t *testing.T) {
	t.Parallel()
	var names []string
	for line := range strings.Lines(string(testkit.Read(t, published("SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		got := sha256.Sum256(testkit.Read(t, published("%s", name)))
		if hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has another digest", name)
		}
		names = append(names, name)
	}
	if _, others := signatures(t); len(names) != others-1 || len(names) < 30 {
		t.Errorf("%d digests of %d files", len(names), others)
	}
}

// Every bill of materials lists the modules of its program.
func TestBills(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		var bill struct {
			Metadata struct {
				Component struct{ Version string }
			}
			Components []struct {
				Name, Version string
				Licenses      []any
			}
		}
		if err := json.Unmarshal(testkit.Read(t, published("p20export_%s_%s.cdx.json", version, system)), &bill, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		suffix, program := ".tar.gz", "p20export"
		if strings.HasPrefix(system, "windows") {
			suffix, program = ".zip", "p20export.exe"
		}
		name := "p20export_" + version + "_" + system
		info, err := buildinfo.Read(bytes.NewReader(entries(t, published("%s%s", name, suffix))[name+"/"+program].data))
		if err != nil {
			t.Fatal(err)
		}
		want, got := []string{"stdlib " + info.GoVersion}, []string{}
		for _, m := range info.Deps {
			want = append(want, m.Path+" "+m.Version)
		}
		want = append(want, windowModules(t)...)
		for _, c := range bill.Components {
			if got = append(got, c.Name+" "+c.Version); len(c.Licenses) == 0 {
				t.Errorf("%s: %s has no licence", system, c.Name)
			}
		}
		if !slices.Equal(got, want) || bill.Metadata.Component.Version != version || len(want) < 20 {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
	python := os.Getenv("P20EXPORT_PACKAGES_PYTHON")
	const check = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path).read())
    assert error is None, (path, error)
print(len(sys.argv) - 1, "valid")`
	args := []string{"-c", check}
	for _, system := range systems {
		args = append(args, published("p20export_%s_%s.cdx.json", version, system))
	}
	if got := output(t, exec.Command(python, args...)); got != "6 valid\n" {
		t.Error(got)
	}
}

// The provenance is an in-toto statement about all files that were written before it.
func TestProvenance(t *testing.T) {
	t.Parallel()
	var s attestation.Statement
	text := testkit.Read(t, published("p20export_%s.intoto.jsonl", version))
	if err := protojson.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Error(s.PredicateType)
	}
	for _, subject := range s.Subject {
		sum := sha256.Sum256(testkit.Read(t, published("%s", subject.Name)))
		if subject.Digest["sha256"] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has another digest", subject.Name)
		}
	}
	if _, others := signatures(t); len(s.Subject) != others-2 {
		t.Errorf("%d subjects of %d files", len(s.Subject), others)
	}
	contains(t, string(text), `"gitCommit"`, "pkg:golang/github.com/spf13/cobra@", "pkg:golang/stdlib@go")
}

var all = flag.Bool("all", false, "build for every system again, not only for Linux on x86-64")

// Another clone, in another folder, with another user, umask and time zone, compiles everything
// again and builds the same bytes.
func TestReproducible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clone := filepath.Join(dir, "another", "clone")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const script = `
set -e
umask 077
git -c safe.directory='*' clone --quiet --no-hardlinks "$1" "$2"
cd "$2"
exec go run ./cmd/internal/dist -o "$3" -only "$4" -key "$5" -fresh`
	only := "linux/amd64"
	if *all {
		only = ""
	}
	again := filepath.Join(dir, "again")
	cmd := exec.Command("unshare", "--user", "--map-user=12345", "--map-group=23456", "sh", "-c", script, "sh", root, clone, again, only, releaseKey(t, ".key.pem"))
	cmd.Env = append(os.Environ(), "HOME="+dir, "USER=another", "LOGNAME=another", "TZ=Pacific/Auckland", "LC_ALL=C.UTF-8", "TMPDIR="+dir)
	cmd.Env = append(cmd.Env, "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	output(t, cmd)
	files, err := os.ReadDir(again)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for _, f := range files {
		switch a, b := testkit.Read(t, filepath.Join(again, f.Name())), testkit.Read(t, published("%s", f.Name())); {
		case bytes.Equal(a, b):
			same++
		case !*all && (strings.HasPrefix(f.Name(), "SHA256SUMS") || strings.Contains(f.Name(), ".intoto.") || f.Name() == "p20export-"+version+".tgz"):
			// They list the files for all systems.
		default:
			sums := strings.Split(string(testkit.Read(t, published("SHA256SUMS"))), "\n")
			t.Errorf("%s differs from that of %q", f.Name(), sums)
		}
	}
	if want := map[bool]int{false: 9, true: 43}[*all]; same < want {
		t.Errorf("only %d files are the same", same)
	}
}

// host is the system of this machine, as archives name it.
func host() string { return runtime.GOOS + "_" + runtime.GOARCH }
