//go:build roots

package packaging_test

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/p20export/p20export/internal/testkit"
)

// A service is one of a Compose file.
type service struct {
	Command     string
	Healthcheck struct{ Test []string }
	ReadOnly    bool `yaml:"read_only"`
}

// inside is run in the image as its user, with a read-only root and /data of its own, as the
// Compose files want it. It takes the image, a scratch directory, and the command.
const inside = `mkdir -p "$2/root" "$2/data" "$2/secrets"
chown 65532:65532 "$2/data"
mount --bind "$1" "$2/root"
mkdir -p "$2/root/run/secrets"
mount --bind "$2/data" "$2/root/data"
mount --bind "$2/secrets" "$2/root/run/secrets"
mount -o remount,bind,ro "$2/root"
root=$2/root
shift 2
exec env -i "$(PATH=$PATH:/usr/sbin command -v chroot)" --userspec=65532:65532 "$root" "$@"`

// TestContainer builds the image with buildah, and runs the services of the Compose files in it:
// the proxy, and serve on a real PostgreSQL. Their own health checks say that they are ready.
func TestContainer(t *testing.T) {
	dir := t.TempDir()
	context := filepath.Join(dir, "context")
	output(t, exec.Command("container/context.sh", dist, context))
	buildah := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(output(t, exec.Command("buildah", append([]string{"--storage-driver", "vfs", "--root", filepath.Join(dir, "storage"), "--runroot", filepath.Join(dir, "run")}, args...)...)))
	}
	buildah("bud", "--isolation", "chroot", "--format", "docker", "--platform", "linux/amd64", "--tag", "p20export", "--file", "container/Containerfile", context)
	name := buildah("from", "localhost/p20export")
	config := buildah("inspect", "--type", "image", "localhost/p20export")
	contains(t, config, `"User": "65532:65532"`, `"WorkingDir": "/data"`, `"/usr/bin/p20export"`)
	image := buildah("mount", name)
	t.Cleanup(func() { buildah("umount", name); buildah("rm", name) })

	in := func(scratch string, args ...string) *exec.Cmd {
		return exec.Command("unshare", append([]string{"--mount", "bash", "-ec", inside, "bash", image, scratch}, args...)...)
	}
	contains(t, output(t, in(t.TempDir(), "/usr/bin/p20export", "version")), "p20export "+version)

	database, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil || database.Host == "" {
		t.Fatalf("P20EXPORT_POSTGRES: %v", err)
	}
	for name, file := range map[string]string{"proxy": "container/compose.proxy.yaml", "serve": "container/compose.serve.yaml"} {
		var compose struct{ Services map[string]service }
		if err := yaml.Unmarshal(testkit.Read(t, file), &compose); err != nil {
			t.Fatal(err)
		}
		s := compose.Services[name]
		if !s.ReadOnly {
			t.Errorf("%s is not read-only", name)
		}
		metrics := testkit.FreeAddress(t)
		change := strings.NewReplacer("0.0.0.0:8080", "127.0.0.1:0", "${AGENT:?the URL of the agent}", agent(t), "127.0.0.1:9090", metrics, "postgres://p20export@postgres/threads", database.String())
		scratch := t.TempDir()
		if err := os.Chmod(filepath.Dir(scratch), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(scratch, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(scratch, "secrets"), 0o755); err != nil {
			t.Fatal(err)
		}
		line := string(testkit.Read(t, os.Getenv("PGPASSFILE")))
		password := strings.TrimSpace(line[strings.LastIndex(line, ":")+1:])
		testkit.Write(t, filepath.Join(scratch, "secrets", "password"), password+"\n")
		cmd := in(scratch, append([]string{"/usr/bin/p20export"}, strings.Fields(change.Replace(s.Command))...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		log := bufio.NewScanner(stderr)
		var lines []string
		for listening := false; !listening && log.Scan(); listening = strings.Contains(log.Text(), `"msg":"listening"`) {
			lines = append(lines, log.Text())
		}
		check := s.Healthcheck.Test
		for i := range check {
			check[i] = change.Replace(check[i])
		}
		if out, err := in(t.TempDir(), check[1:]...).CombinedOutput(); err != nil || string(out) != "ready\n" {
			t.Errorf("%s: %v: %s%s", name, err, out, strings.Join(lines, "\n"))
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		for log.Scan() {
			lines = append(lines, log.Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(lines, "\n"))
		}
	}
}
