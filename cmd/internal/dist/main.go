// Command dist builds what is published of a release, into a directory that it creates:
//
//	p20export_VERSION_OS_ARCH.tar.gz, .zip   the program, its man pages, completions and licences
//	p20export_VERSION_OS_ARCH.cdx.json       the modules of the program (CycloneDX 1.6)
//	p20export_VERSION_ARCH.deb, .rpm         the same for Debian and Fedora, with services
//	p20export-VERSION-py3-none-TAG.whl       the program and a Python module, for pip
//	p20export-VERSION.tar.gz                 the Python module without the program, for pip
//	p20export-VERSION.tgz and others         the program, for npm
//	p20export-client-VERSION.tgz             @p20export/client, for npm
//	p20export-vectors_VERSION.tar.zst, .whl  the vectors, their runner and the reference
//	p20export_VERSION.intoto.jsonl           how the files were built (SLSA provenance v1)
//	SHA256SUMS                               the digests of all files above
//	*.dsse.json                              signatures, if there is a key
//
// The signatures are DSSE envelopes of SHA256SUMS, the provenance and each list of modules.
// The same commit and release of Go make the same bytes, wherever, whenever and by whomever the
// files are built: times are that of the commit, modes are fixed, and nothing names the
// builder. It runs in the root of a clean clone. The Makefile calls it.
package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/project/sign"
)

func main() {
	out := flag.String("o", "", "the directory to create")
	fresh := flag.Bool("fresh", false, "compile every package again, instead of taking it from the cache")
	vectors := flag.Bool("vectors", false, "build only the archive and the wheel of the vectors")
	only := flag.String("only", "", "the targets to build for, such as linux/amd64, with commas between; all when empty")
	var k keys
	flag.StringVar(&k.file, "key", "", "the file of the private key with which the release is signed; not signed when empty")
	flag.StringVar(&k.passphrase, "passphrase-file", "", "the file whose first line is the passphrase of the key")
	flag.StringVar(&k.signer, "signer", "", "the command that signs the release, as for p20export sign --signer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *out == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "dist: usage: dist -o DIR [-only linux/amd64,...]")
		os.Exit(2)
	}
	if *vectors && k != (keys{}) {
		fmt.Fprintln(os.Stderr, "dist: -vectors builds nothing that is signed")
		os.Exit(2)
	}
	if err := build(ctx, *out, *only, *vectors, *fresh, k); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// build builds the release and signs it.
func build(ctx context.Context, out, only string, vectors, fresh bool, k keys) error {
	signers, end, err := k.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, out, only, vectors, fresh, signers), end())
}

// A target is a system that programs are built for, with the names that others give it.
type target struct {
	os, arch string
	wheel    string // the platform tags of PyPI
	npm      string // the name of the package
	node     [2]string
}

var targets = []target{
	{"linux", "amd64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64", "linux-x64", [2]string{"linux", "x64"}},
	{"linux", "arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64", "linux-arm64", [2]string{"linux", "arm64"}},
	{"darwin", "amd64", "macosx_12_0_x86_64", "darwin-x64", [2]string{"darwin", "x64"}},
	{"darwin", "arm64", "macosx_12_0_arm64", "darwin-arm64", [2]string{"darwin", "arm64"}},
	{"windows", "amd64", "win_amd64", "win32-x64", [2]string{"win32", "x64"}},
	{"windows", "arm64", "win_arm64", "win32-arm64", [2]string{"win32", "arm64"}},
}

func (t target) String() string { return t.os + "/" + t.arch }

// program returns the name of the program's file.
func (t target) program() string {
	if t.os == "windows" {
		return "p20export.exe"
	}
	return "p20export"
}

// env returns the environment in which the program is built.
func (t target) env() []string {
	return []string{"GOENV=off", "CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="}
}

// A release is what is being built.
type release struct {
	ctx     context.Context
	fresh   bool
	out     string
	version string // as the program says
	commit  string
	at      time.Time // of the commit
	targets []target
	signers []sign.Signer

	programs map[target]file
	shared   []file // what every archive has besides the program
	notices  file
	modules  map[target][]module
	linked   []module
	licences map[module][]string // the SPDX identifiers of the linked modules
	embedded []embedded
}

func run(ctx context.Context, out, only string, vectors, fresh bool, signers []sign.Signer) (err error) {
	r := &release{ctx: ctx, fresh: fresh, signers: signers, programs: map[target]file{}, modules: map[target][]module{}, licences: map[module][]string{}}
	for _, t := range targets {
		if only == "" || strings.Contains(","+only+",", ","+t.String()+",") {
			r.targets = append(r.targets, t)
		}
	}
	if n := strings.Count(only, ",") + 1; only != "" && n != len(r.targets) {
		return fmt.Errorf("-only %s names a target that is not one of %v", only, targets)
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := r.source(); err != nil {
		return err
	}
	if err := r.keepEnv(); err != nil {
		return err
	}
	if err := os.Mkdir(r.out, 0o755); err != nil {
		return err
	}
	if vectors {
		return r.vectors()
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"programs", r.build}, {"version", r.ask}, {"notices", r.collectNotices}, {"pages", r.collectShared}, {"archives", r.archives},
		{"bills of materials", r.bills}, {"Debian and RPM packages", r.packages}, {"wheels", r.python}, {"npm packages", r.npm}, {"vectors", r.vectors},
		{"provenance", r.provenance}, {"digests", r.digests}, {"signatures", r.sign},
	} {
		if step.name == "signatures" && len(signers) == 0 {
			fmt.Fprintln(os.Stderr, "dist: the release is not signed, because there is no key (RELEASE_KEY=FILE make dist)")
			continue
		}
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%-24s %6.1fs\n", step.name, time.Since(began).Seconds())
	}
	return nil
}

// source finds out what is being built. Files that are not committed would not be in a build
// from another clone.
func (r *release) source() (err error) {
	if err := r.clean(); err != nil {
		return err
	}
	if r.commit, err = r.output(nil, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	at, err := r.output(nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	r.at = time.Unix(seconds, 0).UTC()
	return err
}

// clean returns an error if a file is not committed. It ignores the settings of git.
func (r *release) clean() error {
	changed, err := r.output(nil, "git", "status", "--porcelain", "--untracked-files=all")
	if err == nil && changed != "" {
		err = errors.New("there are files that are not committed (git status); commit them first, so that others can build the same")
	}
	return err
}

// keepEnv keeps what the settings of the user (go env -w) say about where modules are from.
// The other settings are ignored, because some of them affect what is built.
func (r *release) keepEnv() error {
	names := []string{"GOCACHE", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "GOPROXY", "GOSUMDB"}
	text, err := r.output(nil, "go", append([]string{"env"}, names...)...)
	if err != nil {
		return err
	}
	for i, value := range strings.Split(text, "\n") {
		if err := os.Setenv(names[i], value); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command and returns what it printed, without white space around it.
func (r *release) output(env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, name, args...)
	cmd.Env = append(os.Environ(), append(env, "LC_ALL=C", "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.at.Unix(), 10))...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// build builds the program for every target.
func (r *release) build() error {
	for _, t := range r.targets {
		path := filepath.Join(r.out, ".work", t.os+"-"+t.arch, t.program())
		args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", path}
		if r.fresh {
			args = append(args, "-a")
		}
		if _, err := r.output(t.env(), "go", append(args, "./cmd/p20export")...); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r.programs[t] = file{name: t.program(), data: data, mode: 0o755}
		if err := r.checkSource(data); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if r.modules[t], err = modules(path); err != nil {
			return err
		}
	}
	return nil
}

// checkSource checks that a program was built from the commit and nothing else.
func (r *release) checkSource(program []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	from := map[string]string{}
	for _, s := range info.Settings {
		from[s.Key] = s.Value
	}
	if from["vcs.revision"] != r.commit || from["vcs.modified"] != "false" {
		return fmt.Errorf("the program was built from the commit %q, modified %s, and not from %s", from["vcs.revision"], from["vcs.modified"], r.commit)
	}
	return r.clean()
}

// host returns the path of the program for this machine.
func (r *release) host() (string, error) {
	for _, t := range r.targets {
		if t.os == runtime.GOOS && t.arch == runtime.GOARCH {
			return filepath.Join(r.out, ".work", t.os+"-"+t.arch, t.program()), nil
		}
	}
	return "", fmt.Errorf("%s/%s has to be among the targets: the program itself writes its completions", runtime.GOOS, runtime.GOARCH)
}

// ask asks the program for its version.
func (r *release) ask() error {
	host, err := r.host()
	if err != nil {
		return err
	}
	text, err := r.output(nil, host, "version", "--format", "json")
	if err != nil {
		return err
	}
	var row struct{ Version, Commit string }
	if err := json.Unmarshal([]byte(text), &row, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if row.Commit != r.commit {
		return fmt.Errorf("the program says that it was built from the commit %q, and not from %s", row.Commit, r.commit)
	}
	r.version = row.Version
	return nil
}

// collectShared collects what every archive has besides the program.
func (r *release) collectShared() error {
	host, err := r.host()
	if err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r.shared = append(r.shared, file{name: name, data: data, mode: 0o644})
	}
	r.shared = append(r.shared, r.notices)
	man := filepath.Join(r.out, ".work", "man")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return err
	}
	if _, err := r.output(nil, "go", "test", "-count=1", "./cmd/p20export", "-run", "^TestMan$", "-man", man); err != nil {
		return err
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	if len(pages) < 10 {
		return fmt.Errorf("only %d man pages", len(pages))
	}
	for _, p := range pages {
		data, err := os.ReadFile(filepath.Join(man, p.Name()))
		if err != nil {
			return err
		}
		r.shared = append(r.shared, file{name: "man/man1/" + p.Name(), data: data, mode: 0o644})
	}
	for shell, name := range map[string]string{"bash": "p20export.bash", "zsh": "_p20export", "fish": "p20export.fish", "powershell": "p20export.ps1"} {
		text, err := r.output(nil, host, "completion", shell)
		if err != nil {
			return err
		}
		r.shared = append(r.shared, file{name: "completions/" + name, data: []byte(text + "\n"), mode: 0o644})
	}
	return nil
}

// archives writes an archive for every target.
func (r *release) archives() error {
	for _, t := range r.targets {
		name := fmt.Sprintf("p20export_%s_%s_%s", r.version, t.os, t.arch)
		files := append([]file{r.programs[t]}, r.shared...)
		if t.os == "linux" {
			for _, of := range [][2]string{{"*.service", "systemd/"}, {"*.timer", "systemd/"}, {"proxy.conf", "conf/"}, {"serve.conf", "conf/"}} {
				units, err := glob("packaging/linux/"+of[0], of[1])
				if err != nil {
					return err
				}
				files = append(files, units...)
			}
		}
		write, suffix := writeTar, ".tar.gz"
		if t.os == "windows" {
			write, suffix = writeZip, ".zip"
		}
		if err := write(filepath.Join(r.out, name+suffix), under(name+"/", files), r.at); err != nil {
			return err
		}
	}
	return nil
}
