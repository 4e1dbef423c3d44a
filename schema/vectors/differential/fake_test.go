package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// fault is the environment variable that makes the test binary a server, and names the
// fault of its responses.
const fault = "DIFFERENTIAL_FAULT"

// none is the fault of a server whose responses are correct.
const none = "none"

func TestMain(m *testing.M) {
	if what, ok := os.LookupEnv(fault); ok {
		if err := fake(os.Stdin, os.Stdout, what); err != nil {
			fmt.Fprintln(os.Stderr, "fake server:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fake serves the protocol. It makes a capture from each request alone, and responds with
// the program's own result and a fault.
func fake(in io.Reader, out io.Writer, what string) error {
	dir, err := os.MkdirTemp("", "differential")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := bufio.NewReader(in)
	for {
		line, err := source.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		c, err := receive(line, source)
		if err != nil {
			return err
		}
		if what == "no answer" {
			return errors.New("no response")
		}
		if err := c.write(dir); err != nil {
			return err
		}
		answer, err := projectRuns(context.Background(), dir, c.settings)
		if err != nil {
			return err
		}
		inject(&answer, what)
		text, err := json.Marshal(answer, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return err
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			return err
		}
	}
}

// receive reads a request.
func receive(line []byte, r io.Reader) (*captured, error) {
	var h header
	if err := json.Unmarshal(line, &h, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	c := &captured{framing: h.Framing, started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	take := func(n *int) []byte {
		if n == nil {
			return nil
		}
		b := make([]byte, *n)
		if _, err := io.ReadFull(r, b); err != nil {
			panic(err)
		}
		return b
	}
	c.response, c.request, c.arrivals = take(&h.Bytes), take(h.Request), take(h.Arrivals)
	if h.ArrivalsFrom != "" {
		started, err := time.Parse(manifestTime, h.ArrivalsFrom)
		if err != nil {
			return nil, err
		}
		c.started = started
	}
	for _, s := range h.Settings {
		all := project.Settings{Projection: s.Projection, Snapshot: s.Snapshot, Profile: s.Profile}
		var err error
		if all.Operator, err = project.NewOperatorTimes(s.StartedAt, s.FinishedAt); err != nil {
			return nil, err
		}
		if err := all.Normalize(); err != nil {
			return nil, err
		}
		c.settings = append(c.settings, all)
	}
	return c, nil
}

// faults maps each fault to the name under which the command must report it.
var faults = map[string]string{
	"artifact": ": artifact\n", "envelope": ": envelope\n", "omission left out": ": omission ", "omission order": ": omission ", "omission count": ": omission ",
	"times": ": times\n", "outcome": ": outcome\n", "errors": ": errors\n", "runs": "runs\n", "results": "results from Python",
}

// inject changes one part of a response, if the response has it.
func inject(a *projections, what string) {
	for _, results := range a.Results {
		for i := range results {
			r := &results[i]
			n := len(r.Omissions)
			switch {
			case what == "artifact" && r.Artifact != "":
				r.Artifact = r.Artifact[:len(r.Artifact)-1] + " "
			case what == "envelope" && r.Envelope != "":
				r.Envelope = strings.Replace(r.Envelope, "RUN_STARTED", "RUN_STARTEE", 1)
			case what == "omission left out" && n > 0:
				r.Omissions = r.Omissions[:n-1]
			case what == "omission order" && n > 1 && !sameOmission(r.Omissions[0], r.Omissions[1]):
				r.Omissions[0], r.Omissions[1] = r.Omissions[1], r.Omissions[0]
			case what == "omission count" && n > 0:
				r.Omissions[0].Count++
			case what == "times" && r.Times == project.EventTime:
				r.Times = project.ArrivalTime
			case what == "outcome" && r.Outcome == project.Refused:
				*r = result{Outcome: project.Frozen}
			case what == "errors" && len(r.Errors) > 0:
				r.Errors = append(r.Errors, finding.IOFailed)
			}
		}
	}
	switch {
	case what == "runs":
		a.Runs++
	case what == "results" && len(a.Results) > 0:
		a.Results[0] = a.Results[0][1:]
	}
}

// fakeServer returns the command that runs the test binary as a server.
func fakeServer(t *testing.T, what string) []string {
	t.Helper()
	t.Setenv(fault, what)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self}
}

// output collects the output of several workers.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}
