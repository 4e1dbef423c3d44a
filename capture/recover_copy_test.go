package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// Recover uses a complete copy, sets an incomplete one aside, and leaves everything else
// that has the name.
func TestRecoverAgain(t *testing.T) {
	whole := interrupted(t, nil)
	root := openRoot(t, t.TempDir())
	whole.lay(t, root, "c")
	first, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(t.Context(), root, "c", recoverTool); err == nil {
		t.Error("a remainder is recovered")
	}
	// The program was killed before it set anything aside.
	if err := root.RemoveAll("c"); err != nil {
		t.Fatal(err)
	}
	whole.lay(t, root, "c")
	again, err := Recover(t.Context(), root, "c", Tool{"p20export", "another"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
	whole.check(t, root, "c", again)

	// Another capture has the same name: its copy is not used.
	if err := root.RemoveAll("c"); err != nil {
		t.Fatal(err)
	}
	other := whole
	other.response = strings.Replace(other.response, "1", "2", 1)
	other.lay(t, root, "c")
	got, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil || got.Capture != "c-recovered-2" {
		t.Fatalf("%+v, %v", got, err)
	}
	other.check(t, root, "c", got)

	// Files, links, other directories, and captures that are being written are left.
	whole.lay(t, root, "d")
	if err := os.Symlink("c", filepath.Join(root.Name(), "d-recovered")); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(root.Name(), "d-recovered-2"), "x")
	w := createIn(t, root, "d-recovered-3")
	whole.lay(t, root, "d-recovered-4") // not a copy
	copied := interrupted(t, func(s *Settings) { s.Labels = map[string]string{"a": "1", RecoveredFrom: "d"} })
	copied.arrivals = ""
	copied.lay(t, root, "d-recovered-5")
	before := testkit.Contents(t, filepath.Join(root.Name(), "d-recovered-4"))
	if got, err = Recover(t.Context(), root, "d", recoverTool); err != nil || got.Capture != "d-recovered-6" {
		t.Fatalf("%+v, %v", got, err)
	}
	whole.check(t, root, "d", got)
	copied.checkRemainder(t, root, "d-recovered-5")
	if diff := cmp.Diff(before, testkit.Contents(t, filepath.Join(root.Name(), "d-recovered-4"))); diff != "" {
		t.Errorf("another capture was changed:\n%s", diff)
	}
	write(t, w, EndEOF, "x")

	// An incomplete copy of a capture that is still there is only set aside.
	whole.lay(t, root, "e")
	copied = interrupted(t, func(s *Settings) { s.Labels = map[string]string{"a": "1", RecoveredFrom: "e"} })
	copied.lay(t, root, "e-recovered")
	if got, err := Recover(t.Context(), root, "e-recovered", recoverTool); err != nil || got.Capture != "" || got.CopyOf != "e" {
		t.Errorf("%+v, %v", got, err)
	}
	copied.checkRemainder(t, root, "e-recovered")
}

// A capture that only has the label of a copy is recovered like any other.
func TestRecoverFalseCopy(t *testing.T) {
	labelled := interrupted(t, func(s *Settings) { s.Labels = map[string]string{"a": "1", RecoveredFrom: "c"} })
	for name, change := range map[string]func(original *broken){
		"without a claim":  func(original *broken) { original.claim = "" },
		"another response": func(original *broken) { original.response = strings.Replace(original.response, "1", "2", 1) },
		"fewer bytes":      func(original *broken) { original.response = original.response[:5] },
		"other times":      func(original *broken) { original.arrivals = strings.Replace(original.arrivals, "\t3\n", "\t4\n", 1) },
		"another request":  func(original *broken) { original.request = "{}" },
		"another start": func(original *broken) {
			original.claim = strings.ReplaceAll(original.claim, `"started_at": "2`, `"started_at": "1`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			original := interrupted(t, nil)
			before := original
			if change(&original); original == before {
				t.Fatal("nothing was changed")
			}
			root := openRoot(t, t.TempDir())
			original.lay(t, root, "c")
			labelled.lay(t, root, "c-recovered")
			got, err := Recover(t.Context(), root, "c-recovered", recoverTool)
			if err != nil || got.Capture != "c-recovered-recovered" || got.CopyOf != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			labelled.check(t, root, "c-recovered", got)
			if original.claim == "" {
				return
			}
			if err := errors.Join(root.RemoveAll("c-recovered"), root.RemoveAll("c-recovered-recovered")); err != nil {
				t.Fatal(err)
			}
			labelled.lay(t, root, "c-recovered")
			if got, err = Recover(t.Context(), root, "c", recoverTool); err != nil || got.Capture != "c-recovered-2" {
				t.Fatalf("%+v, %v", got, err)
			}
			if got, err = Recover(t.Context(), root, "c-recovered", recoverTool); err != nil {
				t.Fatal(err)
			}
			labelled.check(t, root, "c-recovered", got)
		})
	}
}

// A claim of an older version is a complete manifest, whose first byte may be lost.
func TestRecoverCompleteClaim(t *testing.T) {
	for _, arrivals := range []bool{false, true} {
		root := openRoot(t, t.TempDir())
		w, err := CreateIn(root, "c", Settings{Source: Source{Kind: KindProxy, URL: "http://h/"}, Framing: SSE, StartedAt: testStart, Tool: testTool, Arrivals: arrivals})
		if err != nil {
			t.Fatal(err)
		}
		write(t, w, EndEOF, "data: {}\n\n")
		if err := root.Rename("c/"+ManifestName, "c/"+ClaimName); err != nil {
			t.Fatal(err)
		}
		if arrivals {
			err = root.Remove("c/" + ArrivalsName)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := Recover(t.Context(), root, "c", recoverTool)
		if err != nil || got.Capture != "c-recovered" || !got.Manifest.FirstByteAt.IsZero() || (got.Response == 0) != arrivals {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// If the files were already set aside in part, they are found.
func TestRecoverHalfSetAside(t *testing.T) {
	whole := interrupted(t, nil)
	root := openRoot(t, t.TempDir())
	whole.lay(t, root, "c")
	first, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Rename("c/capture.json.tmp"+RemainderSuffix, "c/capture.json.tmp"); err != nil {
		t.Fatal(err)
	}
	// A program was killed while it renamed a file by means of a hard link.
	if err := root.Link("c/response.ndjson"+RemainderSuffix, "c/response.ndjson"); err != nil {
		t.Fatal(err)
	}
	again, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
	whole.check(t, root, "c", again)
}

// A capture that is held is not recovered, and one that was closed is not held.
func TestHold(t *testing.T) {
	root := openRoot(t, t.TempDir())
	w := createIn(t, root, "c")
	if _, err := Hold(root, "c"); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is written: %v", err)
	}
	w.claim.Close() // as a crash does
	release, err := Hold(root, "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(t.Context(), root, "c", testTool); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is held: %v", err)
	}
	release()
	if _, err := w.Close(EndEOF); err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(root, "c"); !errors.Is(err, ErrFinished) {
		t.Errorf("when closed: %v", err)
	}
}

// Recover can find the claim of a new capture before it is locked. The capture begins
// nevertheless.
func TestRecoverNewClaim(t *testing.T) {
	root := openRoot(t, t.TempDir())
	d, err := makeDirectoryIn(root, "c")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	f, err := d.create(ClaimName)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := Recover(t.Context(), root, "c", testTool); err != nil || got.Capture != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := d.lockClaim(f); err != nil {
		t.Fatal(err)
	}
	if used, err := InUse(root, "c"); err != nil || !used {
		t.Errorf("in use: %v, %v", used, err)
	}
	testkit.RequireNames(t, filepath.Join(root.Name(), "c"), ClaimName)
}

// Captures can be created in a store that is being recovered.
func TestCreateDuringRecover(t *testing.T) {
	root := openRoot(t, t.TempDir())
	for i := range 100 {
		name := fmt.Sprint(i)
		begun, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			close(begun)
			for range 20 {
				_, _ = Recover(t.Context(), root, name, testTool)
			}
		}()
		<-begun
		w := createIn(t, root, name)
		<-done
		write(t, w, EndEOF, "data: {}\n\n")
	}
}

// A name to which nothing can be appended is shortened.
func TestRecoverLongName(t *testing.T) {
	whole := interrupted(t, nil)
	for name, want := range map[string]string{
		strings.Repeat("n", 245):      strings.Repeat("n", 245) + "-recovered",
		strings.Repeat("n", 255):      strings.Repeat("n", 245) + "-recovered",
		strings.Repeat("\u00e9", 127): strings.Repeat("\u00e9", 122) + "-recovered",
	} {
		root := openRoot(t, t.TempDir())
		whole.lay(t, root, name)
		got, err := Recover(t.Context(), root, name, recoverTool)
		if err != nil || got.Capture != want {
			t.Fatalf("%+v, %v", got, err)
		}
		whole.check(t, root, name, got)
	}
}
