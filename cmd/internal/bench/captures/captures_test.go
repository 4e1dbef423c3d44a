package captures

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// TestDeterministic checks that the generator still writes the captures that the figures of
// docs/benchmarks.md were measured on.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	for shape, want := range map[Shape]string{
		Dense:       "60da999ed4cce2bdf06567764ac48bbdaf3b62bd5312d86a1b983dba59712560",
		ADK:         "a62aea4009f7ba91ded2fbd354fe1e2d862819ad6ce2118db7b792f230dcfded",
		Timestamped: "ece5ba164dd7a19774cb7c055fbe1250a2ecfc87f35d7713b8354b684fbce833",
		LangGraph:   "a0ad465c6fcc1686f14a35383f365b9b5d7967995e8cab72b0859acb72a42267",
	} {
		h := sha256.New()
		if err := Write(h, shape, 1_000_000, 1); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%s: the digest is %s, want %s", shape, got, want)
		}
	}
}

// TestFreezes checks that captures of every shape and size have about the size asked for,
// and that the default projection freezes them.
func TestFreezes(t *testing.T) {
	t.Parallel()
	for _, shape := range Shapes() {
		for _, size := range []int64{1_000, 4_000, 50_000, 300_000, 5_000_000} {
			var b bytes.Buffer
			if err := Write(&b, shape, size, 7); err != nil {
				t.Fatal(err)
			}
			least, most := size-size/10, size+size/10
			if shape == Timestamped {
				most = size + size/3
			}
			if shape == LangGraph {
				least, most = min(size/3, least), max(32_000, size+150_000)
			}
			if n := int64(b.Len()); n < least || n > most {
				t.Errorf("%s of %d bytes has %d bytes, want %d to %d", shape, size, n, least, most)
			}
			runs, err := freeze.Reader(context.Background(), &b, "run", freeze.Settings{Settings: project.Settings{Operator: project.OperatorTimes{StartedAt: "2026-01-31T12:00:00Z"}}})
			if err != nil {
				t.Fatal(err)
			}
			if len(runs) != 1 || runs[0].Verdict != project.Frozen {
				t.Errorf("%s of %d bytes is not one frozen run: %+v", shape, size, runs)
			}
		}
	}
}

// TestSmall checks that the list and the archive name the same captures, in the same order,
// and that all differ.
func TestSmall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	const count = 120
	if err := Small(dir, ADK, count, 4000); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(dir + ".list")
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Split(strings.TrimSpace(string(list)), "\n")
	f, err := os.Open(dir + ".tar")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	archive, seen := tar.NewReader(f), map[string]bool{}
	for _, path := range paths {
		header, err := archive.Next()
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dir, filepath.FromSlash(header.Name)); path != want {
			t.Fatalf("the list has %s, the archive %s", path, want)
		}
		member, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(member, text) {
			t.Errorf("%s differs from the archive's", path)
		}
		seen[string(text)] = true
	}
	if len(seen) != count {
		t.Errorf("there are %d different captures, want %d", len(seen), count)
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{"1": 1, "4k": 4000, "256M": 256_000_000, "1G": 1_000_000_000, "": 0, "k": 0, "-1": 0, "0": 0, "1T": 0, "99999999G": 0} {
		if got, err := ParseSize(s); got != want || (err == nil) != (want > 0) {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
}
