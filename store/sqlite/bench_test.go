package sqlite

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
)

// contents returns n events of one stream, of 200 bytes each.
func contents(stream string, n int) []store.Entry {
	entries := make([]store.Entry, n)
	for i := range entries {
		data := fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-%d","delta":"`, i)
		data = append(data, bytes.Repeat([]byte{'x'}, 198-len(data))...)
		entries[i] = store.Entry{Stream: stream, Kind: store.Event, Data: append(data, `"}`...), Arrived: time.UnixMicro(1_800_000_000_000_000 + int64(i))}
	}
	return entries
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			log, err := Open(b.Context(), filepath.Join(b.TempDir(), "log"), true)
			if err != nil {
				b.Fatal(err)
			}
			defer log.Close()
			entries := contents("s", size)
			last := int64(0)
			for b.Loop() {
				if last, err = log.Append(b.Context(), store.Key{Thread: "t"}, last, entries); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(last)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	log, err := Open(b.Context(), filepath.Join(b.TempDir(), "log"), true)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	const n = 100_000
	key := store.Key{Thread: "t"}
	if _, err := log.Append(b.Context(), key, 0, contents("s", n)); err != nil {
		b.Fatal(err)
	}
	if _, err := log.Append(b.Context(), key, n, []store.Entry{{Stream: "s", Kind: store.End}}); err != nil {
		b.Fatal(err)
	}
	read := func(b *testing.B) {
		b.SetBytes(n * 200)
		for b.Loop() {
			for _, err := range log.Read(b.Context(), key, 0) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("rows", read)
	if _, err := log.Pack(b.Context(), key); err != nil {
		b.Fatal(err)
	}
	b.Run("packed", read)
}

func BenchmarkPack(b *testing.B) {
	const n = 20_000
	b.SetBytes(n * 200)
	for b.Loop() {
		b.StopTimer()
		log, err := Open(b.Context(), filepath.Join(b.TempDir(), "log"), true)
		if err != nil {
			b.Fatal(err)
		}
		key := store.Key{Thread: "t"}
		if _, err := log.Append(b.Context(), key, 0, append(contents("s", n), store.Entry{Stream: "s", Kind: store.End})); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := log.Pack(b.Context(), key); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		log.Close()
		b.StartTimer()
	}
}

func BenchmarkAppendTogether(b *testing.B) {
	log, err := Open(b.Context(), filepath.Join(b.TempDir(), "log"), true)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	entries := contents("s", 10)
	var threads atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		key := store.Key{Thread: fmt.Sprint(threads.Add(1))}
		for last := int64(0); pb.Next(); {
			var err error
			if last, err = log.Append(b.Context(), key, last, entries); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N*len(entries))/b.Elapsed().Seconds(), "events/s")
}
