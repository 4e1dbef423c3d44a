package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
)

// TestSQLiteErased deletes a thread whose rows are between those of others, and looks for
// its bytes in the files.
func TestSQLiteErased(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprint("packed ", packed), func(t *testing.T) {
			t.Parallel()
			o := opened(t)
			defer o.Log.Close()
			random := rand.New(rand.NewPCG(1, 2))
			last := make([]int64, 9)
			for range 400 {
				n := random.IntN(len(last))
				var err error
				last[n], err = o.Log.Append(t.Context(), store.Key{Thread: thread(n)}, last[n], secrets(n, last[n], 1+random.IntN(8), random))
				must(t, err)
			}
			victim := store.Key{Thread: thread(4)}
			if packed {
				// Only what has ended can be packed.
				_, err := o.Log.Append(t.Context(), victim, last[4], []store.Entry{{Stream: "secret 4", Kind: store.End, Data: []byte("secret 4 ends")}})
				must(t, err)
				found, err := o.Log.Pack(t.Context(), victim)
				must(t, err)
				if found.Entries != last[4]+1 {
					t.Errorf("packed %v", found)
				}
			}
			kept := []store.Derived{{Position: 1, Head: []byte("secret 4 head"), Data: []byte(strings.Repeat("secret 4 data ", 1000))}}
			must(t, o.Log.Keep(t.Context(), victim, "kind", kept))
			_, err := plain(t, o.Name).ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`)
			must(t, err)
			before := sizes(t, o.Name)
			if n := occurrences(t, o.Name, "secret 4 "); n == 0 {
				t.Fatal("nothing is in the files before")
			}
			deleted, err := o.Log.Delete(t.Context(), victim)
			must(t, err)
			if deleted.Last < last[4] || deleted.DeletedAt.IsZero() {
				t.Errorf("deleted %v", deleted)
			}
			for _, text := range []string{"secret 4", "run of 4"} {
				if n := occurrences(t, o.Name, text); n != 0 {
					t.Errorf("%q is %d times in the files", text, n)
				}
			}
			if after := sizes(t, o.Name); after > before || after == before && !packed { // packs are small
				t.Errorf("the file had %d bytes and has %d", before, after)
			}
			for n := range last {
				if n == 4 {
					continue
				}
				entries := int64(0)
				for _, err := range o.Log.Read(t.Context(), store.Key{Thread: thread(n)}, 0) {
					must(t, err)
					entries++
				}
				if entries != last[n] || occurrences(t, o.Name, fmt.Sprintf("secret %d", n)) == 0 {
					t.Errorf("thread %d has %d entries, want %d", n, entries, last[n])
				}
			}
			isIntact(t, o.Name)
		})
	}
}

// thread returns a thread id, which a deleted thread keeps.
func thread(n int) string { return fmt.Sprint("thread ", n) }

// secrets returns entries of various sizes that contain "secret N".
func secrets(n int, after int64, count int, random *rand.Rand) []store.Entry {
	entries := make([]store.Entry, count)
	for i := range entries {
		position := after + int64(i) + 1
		data := fmt.Sprintf(`{"type":"CUSTOM","name":"secret %d %d","value":"%s"}`, n, position, strings.Repeat(fmt.Sprintf("secret %d ", n), random.IntN(1000)))
		if position%50 == 1 {
			data = fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"t","runId":"run of %d, %d"}`, n, position)
		}
		entries[i] = store.Entry{Stream: fmt.Sprint("secret ", n), Kind: store.Event, Data: []byte(data), Arrived: time.UnixMicro(position)}
	}
	return entries
}

// occurrences counts a text in the files of a log.
func occurrences(t *testing.T, file, text string) int {
	t.Helper()
	n := 0
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(file + suffix)
		must(t, err)
		n += bytes.Count(data, []byte(text))
	}
	return n
}

// sizes returns the size of the file.
func sizes(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	return info.Size()
}
