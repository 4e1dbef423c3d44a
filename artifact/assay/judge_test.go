//go:build judge

package assay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// judge is a running process of the published verifier (judge/README.md).
type judge struct {
	in  io.WriteCloser
	out *bufio.Scanner
	dir string
}

// startJudge starts the program named by the environment variable P20EXPORT_JUDGE.
func startJudge(t *testing.T) *judge {
	t.Helper()
	t.Parallel()
	program := os.Getenv("P20EXPORT_JUDGE")
	if program == "" {
		t.Fatal("P20EXPORT_JUDGE is not set; run make judge, or set it to what artifact/assay/judge/build.sh prints")
	}
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) {
			t.Errorf("the judge ended with %v", err)
		}
	})
	return &judge{in, bufio.NewScanner(out), t.TempDir()}
}

// verdict returns the judge's output line for a bundle.
func (j *judge) verdict(t rapid.TB, data []byte) string {
	path := filepath.Join(j.dir, "bundle.tar.gz")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(j.in, path+"\n"); err != nil {
		t.Fatal(err)
	}
	if !j.out.Scan() {
		t.Fatalf("the judge said nothing: %v", j.out.Err())
	}
	return j.out.Text()
}

// differences are the kinds of bundles that both verifiers refuse with different codes.
var differences = []struct {
	reason  string
	applies func(theirs, ours string) bool // to two refusals
}{
	{
		"A deflate stream is cut off. From the last bits before the cut miniz_oxide decodes every symbol they hold; " +
			"Go's decoders read as many bits as the shortest end of a block needs first. So the reference may get a few bytes further, " +
			"and meet the cut in the next layer (header, member or trailer), or before it another fault in those bytes.",
		func(theirs, ours string) bool { return strings.Contains(ours, io.ErrUnexpectedEOF.Error()) },
	},
}

// ours returns our verdict in the format of the judge's line, without a message.
func ours(t rapid.TB, data []byte) string {
	v, err := Verify(bytes.NewReader(data), Options{})
	var r *Refusal
	if errors.As(err, &r) {
		return fmt.Sprintf("refused %s %s %s", r.Class, r.Code, r.Message)
	} else if err != nil {
		t.Fatalf("an error that is no refusal: %v", err)
	}
	return fmt.Sprintf("accepted %d %s", v.Events, v.RunRoot)
}

// agree compares both verdicts on a bundle and returns the judge's.
func (j *judge) agree(t rapid.TB, data []byte) string {
	t.Helper()
	theirs := j.verdict(t, data)
	got := ours(t, data)
	verdict := func(line string) string { return strings.Join(strings.SplitN(line+"   ", " ", 4)[:3], " ") }
	if verdict(theirs) == verdict(got) {
		return theirs
	}
	for _, d := range differences {
		if strings.HasPrefix(theirs, "refused ") && strings.HasPrefix(got, "refused ") && d.applies(theirs, got) {
			return theirs
		}
	}
	t.Errorf("the judge: %.300s\n     ours: %.300s", theirs, got)
	return theirs
}

func TestJudgeMutations(t *testing.T) {
	j := startJudge(t)
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			f := newForge()
			m.change(f)
			theirs := j.agree(t, f.bytes())
			want := "accepted "
			if m.code != accepted {
				want = "refused " + refuse(m.code, "").Class + " " + m.code + " "
			}
			if !strings.HasPrefix(theirs, want) {
				t.Errorf("the judge: %.300s\n     want: %s", theirs, want)
			}
		})
	}
}
