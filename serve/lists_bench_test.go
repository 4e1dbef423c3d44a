package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// serveLog serves a new log, and returns its URL.
func serveLog(b *testing.B) (log store.Log, address string) {
	b.Helper()
	log, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), true)
	if err != nil {
		b.Fatal(err)
	}
	server, err := serve.New(serve.Settings{Log: log})
	if err != nil {
		b.Fatal(err)
	}
	h := httptest.NewServer(server)
	b.Cleanup(func() {
		h.Close()
		server.Close()
		log.Close()
	})
	return log, h.URL
}

// download gets what is at an address.
func download(b *testing.B, address string) []byte {
	b.Helper()
	response, err := http.Get(address)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatalf("%s: status %d, %v", address, response.StatusCode, err)
	}
	return text
}

// A page of 1,000 threads: the first, and one in the middle.
func BenchmarkThreads(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			log, address := serveLog(b)
			const workers = 200
			var appending sync.WaitGroup
			for worker := range workers {
				appending.Go(func() {
					for i := worker; i < n; i += workers {
						id := fmt.Sprintf("%x", uint32(i)*2654435761)
						_, err := log.Append(b.Context(), store.Key{Thread: id}, 0, []store.Entry{
							{Stream: "s", Kind: store.Input, Data: []byte(input(id, "r"))},
							{Stream: "s", Kind: store.Event, Data: []byte(started(id, "r"))},
							{Stream: "s", Kind: store.Event, Data: []byte(finished(id, "r"))},
							{Stream: "s", Kind: store.End, Data: []byte("eof")},
						})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			appending.Wait()
			for _, order := range []string{"newest", "id"} {
				first := address + "/threads?limit=1000&order=" + order
				middle := first
				for range n / 1000 / 2 {
					var page struct{ Next string }
					if err := json.Unmarshal(download(b, middle), &page); err != nil {
						b.Fatal(err)
					}
					middle = first + "&after=" + url.QueryEscape(page.Next)
				}
				for name, address := range map[string]string{"first": first, "middle": middle} {
					b.Run(order+"/"+name, func(b *testing.B) {
						for b.Loop() {
							download(b, address)
						}
					})
				}
			}
		})
	}
}

// The index of a thread of 100,000 entries, at once and the last of them, and one entry.
func BenchmarkEntries(b *testing.B) {
	for _, packed := range []bool{false, true} {
		b.Run(fmt.Sprintf("packed=%t", packed), func(b *testing.B) {
			log, address := serveLog(b)
			const n = 100_000
			key := store.Key{Thread: "t"}
			list := []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(started("t", "r"))}}
			for i := range n - 3 {
				list = append(list, store.Entry{Stream: "s", Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a text of the message with the number %d"}`, i)})
			}
			list = append(list, store.Entry{Stream: "s", Kind: store.Event, Data: []byte(finished("t", "r"))}, store.Entry{Stream: "s", Kind: store.End})
			if _, err := log.Append(b.Context(), key, 0, list); err != nil {
				b.Fatal(err)
			}
			if packed {
				if _, err := log.Pack(b.Context(), key); err != nil {
					b.Fatal(err)
				}
			}
			for name, path := range map[string]string{"all": "/entries?limit=100000", "last": "/entries?after=99990", "one": "/entries/50000", "export": "/export"} {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						download(b, address+"/threads/t"+path)
					}
				})
			}
		})
	}
}
