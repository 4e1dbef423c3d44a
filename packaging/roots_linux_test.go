//go:build roots

package packaging_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit"
)

// A reader is someone who is new, with the Debian packages that they have.
type reader struct {
	packages []string
	prepare  string // sets up what the reader has in addition to the packages
}

var (
	// The reader answers yes. What the package recommends is not installed.
	debian = reader{nil, "echo 'APT::Get::Assume-Yes \"true\"; APT::Install-Recommends \"false\";' >/etc/apt/apt.conf.d/reader\n"}
	// The images of Python have a Python and a pip of their own in front.
	python = reader{[]string{"python3-venv"}, "python3 -m venv /venv; export PATH=/venv/bin:$PATH\n"}
	node   = reader{[]string{"npm"}, ""}
	// The images of Go have it in /usr/local/go, and what go install makes on the PATH. The
	// sums are in a database that has no release which is not yet made.
	golang = reader{nil, "export PATH=$HOME/go/bin:/usr/local/go/bin:$PATH GOFLAGS=-modcacherw GOTOOLCHAIN=local GONOSUMDB=* GONOSUMCHECK=1 GOPROXY=file:///proxy,file:///modules/cache/download\n"}
)

// starts are the pages for new users, and what their commands have to print.
var starts = []struct {
	page string
	reader
	want []string
}{
	{"maintainer", python, []string{"written ", "scenarios: ", " equal\n"}},
	{"evidence", python, []string{"frozen ", "verified ", "accepted ", "written ", "verified "}},
	{"operator", debian, []string{"ready", "accepted ", "whole "}},
	{"python", python, []string{"accepted "}},
	{"typescript", node, []string{"accepted ", "accepted "}},
	{"go", golang, []string{"accepted ", "\nfrozen\n"}},
	{"implementer", python, []string{"passed"}},
}

// documentedAddress matches the addresses of servers in the pages.
var documentedAddress = regexp.MustCompile(`127\.0\.0\.1:(8000|8011|8080|9090)\b`)

// TestRoots runs the commands of the pages for new users, as they are printed, each in a
// Debian that has nothing but what its reader has. Packages come from indexes on this machine.
func TestRoots(t *testing.T) {
	server := index(t)
	for _, s := range starts {
		t.Run(s.page, func(t *testing.T) {
			script := strings.ReplaceAll(commands(t, s.page), "sudo ", "")
			if s.page == "maintainer" { // the exit status says that a scenario did not pass
				script = regexp.MustCompile(`(?m)^p20export .*$`).ReplaceAllString(script, "$0 || [ $$? = 1 ]")
			}
			s.expect(t, server, script, s.want...)
		})
	}
}

// installing matches the row of an ecosystem in README.md, and its command.
var installing = regexp.MustCompile("(?m)^\\| (Python|Node\\.js|Go) [^`]*`([^`]+)`")

// TestStranger runs what README.md says first: the command of each ecosystem that installs the
// program, and the one that gives a verdict about an endpoint.
func TestStranger(t *testing.T) {
	server := index(t)
	readme := string(testkit.Read(t, "../README.md"))
	discover := regexp.MustCompile(`(?m)^p20export discover http://127\.0\.0\.1:8000/\S+ -o \S+$`).FindString(readme)
	readers := map[string]reader{"Python": python, "Node.js": node, "Go": golang}
	for _, row := range installing.FindAllStringSubmatch(readme, -1) {
		r, ok := readers[row[1]]
		if !ok {
			continue
		}
		delete(readers, row[1])
		t.Run(row[1], func(t *testing.T) {
			verdict := discover
			if row[1] == "Node.js" {
				verdict = "npx " + discover
			}
			r.expect(t, server, row[2]+"\n"+verdict+" || [ $? = 1 ]\n", "\nqualifies: ")
		})
	}
	if len(readers) > 0 || discover == "" {
		t.Errorf("README.md lacks %v, or the command %q", readers, discover)
	}
}

// expect runs the commands, which have to print what is wanted, in its order, in five minutes.
func (r reader) expect(t *testing.T, server *httptest.Server, script string, want ...string) {
	t.Helper()
	out, took := r.run(t, server, script)
	t.Logf("%.1f s\n%s", took.Seconds(), out)
	rest := out
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Errorf("does not print %q then", w)
		}
		rest = after
	}
	if took > 5*time.Minute {
		t.Errorf("took %v", took)
	}
}

// enter runs /root/script in a Debian: the lower directory, with what is written going to
// another. The arguments after the address of the indexes are directories to show in it.
const enter = `lower=$1 dir=$2 url=$3; shift 3
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
mount -t proc proc "$dir/root/proc"; mount --rbind /dev "$dir/root/dev"
while [ $# -gt 0 ]; do mkdir -p "$dir/root$2"; mount --bind -o ro "$1" "$dir/root$2"; shift 2; done
exec env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_INDEX_URL="$url/simple/" npm_config_registry="$url" \
  PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_update_notifier=false chroot "$dir/root" bash /root/script`

// run runs the commands as root in the home directory, and returns what they printed.
func (r reader) run(t *testing.T, server *httptest.Server, script string) (string, time.Duration) {
	t.Helper()
	script = "set -e\ncd /root\n" + r.prepare + "set -x\n" + strings.ReplaceAll(script, "0.2.0", version)
	ports := map[string]string{"127.0.0.1:8000": strings.TrimPrefix(recorded(t), "http://")}
	script = documentedAddress.ReplaceAllStringFunc(script, func(a string) string {
		if ports[a] == "" {
			ports[a] = testkit.FreeAddress(t)
		}
		return ports[a]
	})
	dir := t.TempDir()
	for _, name := range []string{"upper", "work", "root", "upper/root"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	deb := fmt.Sprintf("p20export_%s_amd64.deb", version)
	testkit.Write(t, filepath.Join(dir, "upper", "root", deb), testkit.Read(t, published("%s", deb)))
	testkit.Write(t, filepath.Join(dir, "upper", "root", "script"), script)
	args := []string{"--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", enter, "bash", strings.TrimSpace(output(t, exec.Command("./root.sh", r.packages...))), dir, server.URL}
	if strings.Contains(r.prepare, "GOPROXY") {
		args = append(args, goEnv(t, "GOROOT"), "/usr/local/go", goProxy(t), "/proxy", goModules(t), "/modules")
	}
	began := time.Now()
	out, err := exec.Command("unshare", args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out), time.Since(began)
}

// goModules returns a cache of all modules that the program and its packages need.
func goModules(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-ec", `go mod init example.com/all; go get github.com/p20export/p20export@v`+version+`; go mod download all`)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOMODCACHE="+dir, "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GONOSUMCHECK=1",
		"GOPROXY=file://"+goProxy(t)+",file://"+goEnv(t, "GOMODCACHE")+"/cache/download,"+goEnv(t, "GOPROXY"))
	output(t, cmd)
	return dir
}
