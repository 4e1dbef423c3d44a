package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// server is a command that serves, of a script.
type server struct {
	cmd *exec.Cmd
	log *bufio.Reader
	all strings.Builder // what was read of the log
}

// serverKey is the key of the server in the values of a script.
type serverKey struct{}

// start ARGS... starts p20export with the arguments, and waits until it listens. It sets
// $SERVER to its URL and $METRICS to that of --metrics. The server is stopped with stop, or
// at the end of the script.
func start(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.Value(serverKey{}).(*server)
	s.all.Reset()
	s.cmd = exec.Command(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "p20export"), append(args, "--log-format", "json")...)
	s.cmd.Dir, s.cmd.Env = ts.MkAbs("."), append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"), storeVariable+"="+ts.Getenv(storeVariable))
	stderr, err := s.cmd.StderrPipe()
	ts.Check(err)
	s.log = bufio.NewReader(stderr)
	ts.Check(s.cmd.Start())
	ts.Defer(func() { _ = s.cmd.Process.Kill() })
	var line struct{ Address, Metrics string }
	ts.Check(json.Unmarshal([]byte(s.await(ts, `"msg":"listening"`)), &line))
	ts.Setenv("SERVER", "http://"+line.Address)
	ts.Setenv("METRICS", "http://"+line.Metrics)
}

// get URL ['NAME: VALUE'...] gets a document with request headers, and writes the status and
// the body to the file body.txt. It fails unless the status is 200, or with "!" if it is.
func get(ts *testscript.TestScript, neg bool, args []string) {
	request, err := http.NewRequest(http.MethodGet, args[0], nil)
	ts.Check(err)
	for _, h := range args[1:] {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	if (response.StatusCode != http.StatusOK) != neg {
		ts.Fatalf("%s\n%s", response.Status, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs("body.txt"), append([]byte(response.Status+"\n"), body...), 0o644))
}

// await PATTERN waits until the server logs a line that matches.
func await(ts *testscript.TestScript, _ bool, args []string) {
	ts.Value(serverKey{}).(*server).await(ts, args[0])
}

// await returns the next line of the log that matches the pattern.
func (s *server) await(t interface{ Fatalf(string, ...any) }, pattern string) string {
	wanted := regexp.MustCompile(pattern)
	for {
		line, err := s.log.ReadString('\n')
		s.all.WriteString(line)
		if err != nil {
			t.Fatalf("%v before a line that matches %s:\n%s", err, pattern, s.all.String())
		}
		if wanted.MatchString(line) {
			return line
		}
	}
}

// signal SIGNAL sends a signal to the server.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	ts.Check(ts.Value(serverKey{}).(*server).cmd.Process.Signal(signals[args[0]]))
}

// ended CODE waits until the server ends, and checks its exit status, which is -1 if a
// signal killed it. Its log is written to the file log.txt.
func ended(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.Value(serverKey{}).(*server)
	_, err := io.Copy(&s.all, s.log)
	ts.Check(err)
	_ = s.cmd.Wait()
	ts.Logf("[log]\n%s", s.all.String())
	ts.Check(os.WriteFile(ts.MkAbs("log.txt"), []byte(s.all.String()), 0o644))
	if got := strconv.Itoa(s.cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}
