//go:build programs

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestOperations runs the commands in the operations blocks of the page for operators, in their
// order, as a shell does. All of them must succeed. A server gets a free port instead of the
// one that the page names.
func TestOperations(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := &operations{t: t, root: root, jobs: map[string]*server{}, env: append(os.Environ(), "PATH="+ownBin(t)+":"+os.Getenv("PATH"), "SCRATCH="+t.TempDir())}
	commands := 0
	for _, block := range blocks(t, operationsPage, "```sh operations") {
		for _, command := range strings.Split(strings.TrimSpace(strings.ReplaceAll(block.text, "\\\n", " ")), "\n") {
			s.do(command)
			commands++
		}
	}
	if commands == 0 {
		t.Error("the page shows no command")
	}
}

// operations runs the commands of a document.
type operations struct {
	t    *testing.T
	root string
	env  []string
	// jobs are the servers by the variable with their process id; "!" is the last one.
	jobs map[string]*server
	// addresses has pairs of an address in the document and the one that is used instead.
	addresses []string
}

// address matches the address of a server in the flags of its command.
var address = regexp.MustCompile(`--(listen|metrics) (\S+)`)

// do runs a command.
func (o *operations) do(command string) {
	o.t.Helper()
	if name, ok := strings.CutSuffix(command, "=$!"); ok {
		o.jobs[name] = o.jobs["!"]
		return
	}
	if job, ok := strings.CutPrefix(command, "kill $"); ok {
		job, waits, _ := strings.Cut(job, "; wait $")
		if waits != job {
			o.t.Fatalf("%s: does not wait for the server that it stops", command)
		}
		o.stop(job)
		return
	}
	if strings.HasPrefix(command, "sleep ") {
		return // until a server listens, and start waits for that
	}
	rest, background := strings.CutSuffix(command, " &")
	if !background {
		if out, err := o.command(strings.NewReplacer(o.addresses...).Replace(command)).CombinedOutput(); err != nil {
			o.t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return
	}
	o.start(rest)
}

func (o *operations) command(line string) *exec.Cmd {
	cmd := exec.CommandContext(o.t.Context(), "sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env = o.root, o.env
	return cmd
}

// start starts a server, and waits until it listens.
func (o *operations) start(command string) {
	o.t.Helper()
	documented := map[string]string{}
	for _, found := range address.FindAllStringSubmatch(command, -1) {
		documented[found[1]] = found[2]
	}
	command = strings.NewReplacer(o.addresses...).Replace(address.ReplaceAllString(command, "--$1 127.0.0.1:0"))
	if strings.Contains(command, "--tls-cert") {
		dir := o.t.TempDir()
		writeCertificate(o.t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
		command = strings.NewReplacer("cert.pem", filepath.Join(dir, "cert.pem"), "key.pem", filepath.Join(dir, "key.pem")).Replace(command)
	}
	s := &server{cmd: o.command(command)}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		o.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	s.log = bufio.NewReader(stderr)
	var line struct{ Address, Metrics string }
	if err := json.Unmarshal([]byte(s.await(o.t, `"msg":"listening"`)), &line); err != nil {
		o.t.Fatal(err)
	}
	for flag, used := range map[string]string{"listen": line.Address, "metrics": line.Metrics} {
		if shown, ok := documented[flag]; ok {
			o.addresses = append([]string{shown, used}, o.addresses...) // the last server is the one that listens
		}
	}
	o.jobs["!"] = s
}

// stop stops the server whose process id is in a variable of the shell.
func (o *operations) stop(job string) {
	o.t.Helper()
	s := o.jobs[job]
	if s == nil {
		o.t.Fatalf("$%s is no server", job)
	}
	s.kill(o.t, syscall.SIGTERM)
	if status, log := s.wait(o.t); status != 0 {
		o.t.Fatalf("$%s: exit status %d\n%s", job, status, log)
	}
}

// TestUnitsVerified lets systemd verify the units.
func TestUnitsVerified(t *testing.T) {
	t.Parallel()
	dir, bin := t.TempDir(), filepath.Join(ownBin(t), "p20export")
	args := []string{"verify", "--man=no"}
	units, err := filepath.Glob(filepath.Join(unitDir, "p20export-*"))
	if err != nil || len(units) != 4 {
		t.Fatalf("%q, %v", units, err)
	}
	for _, unit := range units {
		path := filepath.Join(dir, filepath.Base(unit))
		testkit.Write(t, path, strings.ReplaceAll(string(testkit.Read(t, unit)), "/usr/bin/p20export", bin))
		args = append(args, path)
	}
	if out, err := exec.Command("systemd-analyze", args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
