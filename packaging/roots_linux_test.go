//go:build roots

package packaging_test

import (
	"fmt"
	"net"
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

// A start is a page for new users, the Debian packages that its reader has, and what the
// commands have to print.
type start struct {
	page     string
	packages []string
	prepare  string // sets up what the reader has in addition to the packages
	want     []string
}

var starts = []start{
	{"maintainer", []string{"python3-venv"}, venv, []string{"baseline written: baseline.json", "exact "}},
	{"evidence", []string{"python3-venv"}, venv, []string{"frozen ", "verified ", "accepted ", "written ", "verified "}},
	{"operator", nil, "", []string{"ready", "accepted ", "whole "}},
	{"python", []string{"python3-venv"}, venv, []string{"accepted "}},
	{"typescript", []string{"npm"}, "", []string{"accepted ", "accepted "}},
	{"implementer", []string{"python3-venv"}, venv, []string{"passed"}},
}

// venv puts a Python and a pip of its own in front, as the images of Python have.
const venv = "python3 -m venv /venv; export PATH=/venv/bin:$PATH\n"

// documentedAddress matches the addresses of servers in the pages.
var documentedAddress = regexp.MustCompile(`127\.0\.0\.1:(8000|8011|8080|9090)\b`)

// TestRoots runs the commands of the pages for new users, as they are printed, each in a
// Debian that has nothing but what its reader has. Packages come from indexes on this machine.
func TestRoots(t *testing.T) {
	server := index(t)
	for _, s := range starts {
		t.Run(s.page, func(t *testing.T) {
			out, took := s.run(t, server)
			t.Logf("%s: %.1f s\n%s", s.page, took.Seconds(), out)
			rest := out
			for _, w := range s.want {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Errorf("does not print %q then", w)
				}
				rest = after
			}
			if took > 5*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// run runs the commands of the page.
func (s start) run(t *testing.T, server *httptest.Server) (string, time.Duration) {
	t.Helper()
	script := "set -e\ncd /root\n" + s.prepare + "set -x\n" + commands(t, s.page)
	script = strings.ReplaceAll(script, "sudo ", "")
	if s.page == "maintainer" { // the exit status says that a scenario did not pass
		script = regexp.MustCompile(`(?m)^p20export .*$`).ReplaceAllString(script, "$0 || [ $$? = 1 ]")
	}
	script = strings.ReplaceAll(script, "0.2.0", version)
	ports := map[string]string{"127.0.0.1:8000": strings.TrimPrefix(recorded(t), "http://")}
	script = documentedAddress.ReplaceAllStringFunc(script, func(a string) string {
		if ports[a] == "" {
			ports[a] = freeAddress(t)
		}
		return ports[a]
	})
	root := strings.TrimSpace(output(t, exec.Command("./root.sh", s.packages...)))
	dir := t.TempDir()
	for _, name := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "upper", "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	deb := fmt.Sprintf("p20export_%s_amd64.deb", version)
	testkit.Write(t, filepath.Join(dir, "upper", "root", deb), testkit.Read(t, published("%s", deb)))
	testkit.Write(t, filepath.Join(dir, "upper", "root", "script"), script)
	const enter = `mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"; mount --rbind /dev "$2/root/dev"
exec env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_INDEX_URL="$3/simple/" npm_config_registry="$3" \
  PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_update_notifier=false chroot "$2/root" bash /root/script`
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", enter, "bash", root, dir, server.URL)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out), time.Since(began)
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
