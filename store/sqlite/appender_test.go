package sqlite_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// faultVariable makes the test program append to the log that it names: see appendThrough. With
// the variable of the same name and _FOLLOW, the program follows: see followThrough.
const faultVariable = "P20EXPORT_SQLITE_FAULTS"

const faultAppends = 12

const followEntries = 20

// followThrough prints the positions of followEntries entries. After an error, which it prints,
// it follows again.
func followThrough(path string) error {
	log, err := sqlite.Open(context.Background(), path, false)
	if err != nil {
		return err
	}
	for last, tries := int64(0), 0; last < followEntries && tries < 100; tries++ {
		for e, err := range log.Follow(context.Background(), store.Key{Thread: "t"}, last) {
			if err != nil {
				fmt.Println("error", err)
				break
			}
			fmt.Println("entry", e.Position)
			if last = e.Position; last == followEntries {
				break
			}
		}
	}
	return log.Close()
}

// checkpointOf is the checkpoint of a seal of appendThrough.
func checkpointOf(size int64) []byte { return fmt.Append(nil, "checkpoint ", size) }

// appendThrough appends to a log with faults, seals it after every third append, goes on after
// each error, and prints the last position or the error of each call.
func appendThrough(path string) error {
	ctx := context.Background()
	log, err := sqlite.Open(ctx, path, true)
	for tries := 0; err != nil && tries < 100; tries++ {
		fmt.Println("error", err)
		log, err = sqlite.Open(ctx, path, true)
	}
	if err != nil {
		return err
	}
	key := store.Key{Thread: "t"}
	for done, tries := 0, 0; done < faultAppends && tries < 100; tries++ {
		t, err := log.Thread(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			fmt.Println("error", err)
			continue
		}
		var entries []store.Entry
		for i := range 20 {
			entries = append(entries, store.Entry{Stream: "s", Kind: store.Event, Data: fmt.Appendf(nil, "%d %01000d", t.Last+int64(i)+1, 0)})
		}
		last, err := log.Append(ctx, key, t.Last, entries)
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("last", last)
		if done++; done%3 > 0 {
			continue
		}
		if err := log.Seal(ctx, key, store.Seal{Size: last, Checkpoint: checkpointOf(last)}, store.Blocks{}); err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("sealed", last)
	}
	return log.Close()
}
