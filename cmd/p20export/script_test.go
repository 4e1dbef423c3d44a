package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// atOnce makes a program built with -race exit immediately. By default, it waits a second for
// races in goroutines that are still running.
const atOnce = "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	_ = os.Setenv("GORACE", atOnce) // for the programs that tests start
	testscript.Main(m, map[string]func(){"p20export": main, "signer": signer, "measured": measured})
}

// TestScripts runs the scripts in testdata/script, which specify the behavior of the program
// by topic. With -update, it rewrites the expected output in the scripts.
func TestScripts(t *testing.T) {
	captures, err := filepath.Abs("../../discovery/captures")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := filepath.Abs("../../schema")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			// Use a short relative path, so that wrapping does not depend on the location
			// of the checkout.
			e.Setenv("CAPTURES", ".captures")
			e.Setenv("SCHEMA", schema)
			e.Setenv("GORACE", atOnce)
			e.Values[serverKey{}] = &server{}
			return os.Symlink(captures, filepath.Join(e.WorkDir, ".captures"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":      serveFile,
			"start":      start,
			"await":      await,
			"get":        get,
			"signal":     sendSignal,
			"ended":      ended,
			"interrupt":  interrupt,
			"flip":       flip,
			"putbytes":   putBytes,
			"exitcode":   exitCode,
			"gotar":      gotar,
			"unpackrows": unpackrows,
			"appendlog":  appendLog,
			"authority":  serveAuthority(t),
		},
	})
}

// serve FILE [status=N] [type=T] [cors=ORIGIN] [hold|cut] starts a server that answers every request with
// the file. It sets $URL, and $HOST to the host and port. With hold, the response stays open
// until the client disconnects; with cut, the connection is aborted after the file. With
// cors=ORIGIN, pages of the origin may use the server. The path and headers of the last
// request, unless it is OPTIONS, are written to the file request.txt.
func serveFile(ts *testscript.TestScript, _ bool, args []string) {
	body := ts.ReadFile(args[0])
	status, contentType, hold, cut := http.StatusOK, "text/event-stream", false, false
	origin := ""
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "status":
			status, _ = strconv.Atoi(value)
		case "type":
			contentType = value
		case "cors":
			origin = value
		case "hold":
			hold = true
		case "cut":
			cut = true
		}
	}
	asked := ts.MkAbs("request.txt")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var seen strings.Builder
		seen.WriteString(r.Method + " " + r.URL.Path + "\n")
		_ = r.Header.Write(&seen)
		if origin != "" {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Headers", "Accept, Content-Type")
		}
		if r.Method == http.MethodOptions {
			return
		}
		_ = os.WriteFile(asked, []byte(seen.String()), 0o644)
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Set-Cookie", "session=secret")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		_ = http.NewResponseController(w).Flush()
		if hold {
			<-r.Context().Done()
		}
		if cut {
			panic(http.ErrAbortHandler)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("URL", server.URL)
	ts.Setenv("HOST", strings.TrimPrefix(server.URL, "http://"))
}

// interrupt SIGNAL CODE FILE SIZE ARGS... runs p20export with the arguments, waits until a
// file that matches the pattern FILE has the size, sends the signal, and checks the exit
// status. The output of p20export is written to the file output.txt. Its standard input is the
// file input.txt, if that exists, and stays open. If FILE is "-", comments are appended to the
// input, and the signal is sent when p20export has read some of them.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM}
	size, err := strconv.ParseInt(args[3], 10, 64)
	ts.Check(err)
	cmd := exec.Command(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "p20export"), args[4:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "URL="+ts.Getenv("URL"), "TMPDIR="+ts.Getenv("TMPDIR"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	defer stdin.Close()
	ts.Check(cmd.Start())
	if input, err := os.ReadFile(ts.MkAbs("input.txt")); err == nil {
		_, _ = stdin.Write(input)
	}
	if args[2] == "-" {
		// This exceeds the capacity of a pipe, so the write returns when the program reads.
		_, err := io.WriteString(stdin, strings.Repeat(": comment\n\n", 1<<15))
		ts.Check(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		if args[2] == "-" || grew(ts.MkAbs(args[2]), size) {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			ts.Fatalf("%s did not grow to %d bytes", args[2], size)
		}
	}
	ts.Check(cmd.Process.Signal(signals[args[0]]))
	<-done
	ts.Logf("[output]\n%s", out.String())
	ts.Check(os.WriteFile(ts.MkAbs("output.txt"), out.Bytes(), 0o644))
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit status %s, want %s", got, args[1])
	}
}

// grew reports whether a file that matches the pattern has the size.
func grew(pattern string, size int64) bool {
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Size() >= size {
			return true
		}
	}
	return false
}

// flip FILE N flips the lowest bit of byte N; a negative N counts from the end.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 1
	ts.Check(os.WriteFile(path, data, 0o644))
}

// putbytes FILE HEX writes the bytes.
func putBytes(ts *testscript.TestScript, _ bool, args []string) {
	data, err := hex.DecodeString(strings.Join(args[1:], ""))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

// exitcode N COMMAND... runs a command and checks its exit status. The
// command's output is matched with stdout and stderr as after exec.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		coder, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = coder.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}
