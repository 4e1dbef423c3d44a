//go:build unix

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// Either all files are published or none.
func TestPublishAll(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		d := open(dir)
		named := func(name, data string) Named { return Named{d.stage(t, data), name, Equal} }
		if err := d.Publish(t.Context(), named("a", "1"), named("b", "2")); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"a": "1", "b": "2"}
		mustHold(t, dir, want)
		for _, last := range []string{"b", "nowhere/d"} {
			files := []Named{named("a", "1"), named("c", "3"), named(last, "4")}
			err := d.Publish(t.Context(), files...)
			if err == nil {
				t.Errorf("%s was published", last)
			} else if strings.Contains(err.Error(), ".tmp") || strings.Contains(err.Error(), "/proc") {
				t.Errorf("the error names a temporary file: %v", err)
			}
			for _, f := range files {
				f.Discard()
			}
			mustHold(t, dir, want)
		}
		if err := d.Publish(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A file that Publish used is not removed by another publisher.
func TestPublishAllAtOnce(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		for range 100 {
			dir := t.TempDir()
			errs := atOnce(4, func(i int) error {
				d := open(dir)
				same, err1 := d.Stage([]byte("same"))
				own, err2 := d.Stage(fmt.Appendf(nil, "of %d", i))
				defer same.Discard()
				defer own.Discard()
				if err := errors.Join(err1, err2); err != nil {
					return err
				}
				return d.Publish(t.Context(), Named{same, "a", Equal}, Named{own, "b", Equal})
			})
			for i, err := range errs {
				if err == nil {
					mustHold(t, dir, map[string]string{"a": "same", "b": fmt.Sprintf("of %d", i)})
				} else if !errors.Is(err, fs.ErrExist) {
					t.Errorf("%d: %v", i, err)
				}
			}
		}
	})
}

// The function of WithOnWait is called after a second. Waiting ends when the context is
// done.
func TestPublishWaits(t *testing.T) {
	dir := t.TempDir()
	holder := opened(t, dir)
	if err := holder.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	s := d.stage(t, "one")
	told, stopped := make(chan string, 1), errors.New("stopped by the test")
	ctx, stop := context.WithCancelCause(WithOnWait(t.Context(), func(dir string) { told <- dir }))
	ended := make(chan error)
	go func() { ended <- d.Publish(ctx, Named{s, "final", Equal}) }()
	if name := <-told; name != dir {
		t.Errorf("called with %s", name)
	}
	stop(stopped)
	if err := <-ended; !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	mustHold(t, dir, map[string]string{})
	unlock(holder.file)
	if err := d.Publish(t.Context(), Named{s, "final", Equal}); err != nil {
		t.Error(err)
	}
	mustHold(t, dir, map[string]string{"final": "one"})
	if err := d.Publish(ctx, Named{s, "final", Equal}); !errors.Is(err, stopped) {
		t.Errorf("after the context's end: %v", err)
	}
}
