package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/p20export/p20export/store"
)

func byteTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"bytes/data are exact":       exactData,
		"bytes/each single byte":     eachByte,
		"bytes/large entries":        largeEntries,
		"bytes/the largest entry":    largestEntry,
		"bytes/times of arrival":     arrivals,
		"bytes/types":                types,
		"bytes/kinds":                kinds,
		"bytes/data differ by place": repeatedData,
	}
}

// hostileData are texts that a database or a driver might change or refuse.
func hostileData() []string {
	return []string{
		"", " ", "\n", "\r\n", "\x00", "\x00\x00", "a\x00b", "\xff", "\xfe\xff", "\xed\xa0\x80", "\xc0\x80",
		"\xef\xbb\xbf{}", "\\", `\x00`, `\\x41`, `\000`, "'", "''; DROP TABLE entries; --", "$1", "?", "%s",
		"null", "NULL", "0x00", "a\tb", "a\u2028b", "\u0085", "e\u0301", "é", "👩\u200d🔬", "\U0010ffff",
		`{"type":"CUSTOM","name":"x"}` + "\n", ` {"type" : "CUSTOM"}`, `{"type":"CUSTOM","type":"RAW"}`,
		`{"type":"RUN_STARTED"`, "data: {}\n\n", strings.Repeat("\x00", 5000), strings.Repeat("ab", 5000),
	}
}

func exactData(f *fixture) {
	k := key("t")
	var after int64
	for _, kind := range []store.Kind{store.Event, store.Input, store.Closing} {
		for _, data := range hostileData() {
			after = f.append(k, after, store.Entry{Stream: "s", Kind: kind, Data: []byte(data)})
		}
	}
	var batch []store.Entry
	for _, data := range hostileData() {
		batch = append(batch, event("s", data))
	}
	f.append(k, after, batch...)
	got, want := f.read(k, 0), hostileData()
	if len(got) != 4*len(want) {
		f.Fatalf("%d entries, want %d", len(got), 4*len(want))
	}
	var size int64
	for i, e := range got {
		size += int64(len(e.Data))
		if string(e.Data) != want[i%len(want)] {
			f.Errorf("entry %d is %.80q, want %.80q", i+1, e.Data, want[i%len(want)])
		}
	}
	if t := f.thread(k); t.Bytes != size {
		f.Errorf("Thread.Bytes is %d, want %d", t.Bytes, size)
	}
}

func eachByte(f *fixture) {
	k := key("t")
	var batch []store.Entry
	for c := range 256 {
		batch = append(batch, event("s", string([]byte{byte(c)})), event("s", string([]byte{'a', byte(c), 'z'})))
	}
	f.append(k, 0, batch...)
	for i, e := range f.read(k, 0) {
		if !bytes.Equal(e.Data, batch[i].Data) {
			f.Errorf("entry %d is %q, want %q", i+1, e.Data, batch[i].Data)
		}
	}
}

// noise returns data that do not compress and differ for each seed.
func noise(n int, seed uint64) []byte {
	data := make([]byte, n)
	for i := range data {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		data[i] = byte(seed)
	}
	return data
}

func largeEntries(f *fixture) {
	k := key("t")
	var batch []store.Entry
	for i, n := range []int{1 << 10, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20, 3 << 20} {
		e := event(fmt.Sprint("s", i%2), "")
		e.Data = noise(n, uint64(n))
		batch = append(batch, e)
	}
	f.append(k, 0, batch...)
	got := f.read(k, 0)
	if len(got) != len(batch) {
		f.Fatalf("%d entries, want %d", len(got), len(batch))
	}
	for i, e := range got {
		if !bytes.Equal(e.Data, batch[i].Data) {
			f.Errorf("entry %d with %d bytes differs", i+1, len(batch[i].Data))
		}
	}
}

func largestEntry(f *fixture) {
	k := key("t")
	e := event("s", "")
	e.Data = bytes.Repeat([]byte("0123456789abcde\xff"), store.MaxEntryBytes/16)
	f.append(k, 0, e)
	n := 0
	for got, err := range f.log.Read(f.ctx, k, 0) {
		if err != nil {
			f.Fatal(err)
		}
		if !bytes.Equal(got.Data, e.Data) {
			f.Error("the data differ")
		}
		n++
	}
	if n != 1 {
		f.Errorf("%d entries, want 1", n)
	}
}

func arrivals(f *fixture) {
	k := key("t")
	zone := time.FixedZone("", -5*3600)
	times := []struct{ arrived, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.UnixMicro(0), time.UnixMicro(0).UTC()},
		{time.UnixMicro(1), time.UnixMicro(1).UTC()},
		{time.UnixMicro(-1), time.UnixMicro(-1).UTC()},
		{at(123456), at(123456)},
		{at(123456).Add(999), at(123456)},
		{at(5).In(zone), at(5)},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)},
		{time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Now(), time.Time{}}, // has a monotonic clock; what is wanted is below
	}
	times[len(times)-1].want = time.UnixMicro(times[len(times)-1].arrived.UnixMicro()).UTC()
	var batch []store.Entry
	for _, tt := range times {
		e := event("s", `{"type":"RUN_STARTED"}`)
		e.Arrived = tt.arrived
		batch = append(batch, e)
	}
	f.append(k, 0, batch...)
	runs := f.runs(store.RunQuery{})
	for i, e := range f.read(k, 0) {
		if want := times[i].want; e.Arrived != want || runs[i].StartedAt != want || runs[i].LastAt != want {
			f.Errorf("%v: entry %v, run from %v to %v, want %v", times[i].arrived, e.Arrived, runs[i].StartedAt, runs[i].LastAt, want)
		}
	}
}

func types(f *fixture) {
	k := key("t")
	long := strings.Repeat("T", store.MaxIDBytes)
	texts := []struct{ data, want string }{
		{`{"type":"CUSTOM"}`, "CUSTOM"},
		{` {"a":1, "type" : "\u0043USTOM"} `, "CUSTOM"},
		{`{"type":"Of a later version é😀"}`, "Of a later version é😀"},
		{`{"type":"` + long + `"}`, long},
		{`{"type":"` + long + `T"}`, ""},
		{`{"type":"a\u0000"}`, ""},
		{`{"type":"\ud800"}`, ""},
		{`{"type":null}`, ""},
		{`{"kind":"CUSTOM"}`, ""},
		{`"CUSTOM"`, ""},
		{`{"type":"CUSTOM"`, ""},
		{`{"type":"CUSTOM","a":1,"a":2}`, ""},
		{"{\"type\":\"CUSTOM\",\"a\":\"\xff\"}", ""},
	}
	var batch []store.Entry
	for _, tt := range texts {
		batch = append(batch, event("s", tt.data), store.Entry{Stream: "s", Kind: store.Input, Data: []byte(tt.data)})
	}
	f.append(k, 0, batch...)
	for i, e := range f.read(k, 0) {
		want := texts[i/2].want
		if e.Kind == store.Input {
			want = ""
		}
		if e.Type != want {
			f.Errorf("the type of %s %.80q is %q, want %q", e.Kind, e.Data, e.Type, want)
		}
	}
}

func kinds(f *fixture) {
	k := key("t")
	batch := []store.Entry{
		{Stream: "s", Kind: store.Input, Data: []byte(`{"threadId":"t"}`)},
		{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"CUSTOM"}`)},
		{Stream: "s", Kind: store.Closing, Data: []byte(`{"type":"RUN_ERROR"}`)},
		{Stream: "s", Kind: store.End, Data: []byte(`cancelled`)},
	}
	f.append(k, 0, batch...)
	for i, e := range f.read(k, 0) {
		if e.Kind != batch[i].Kind || string(e.Data) != string(batch[i].Data) || e.Stream != "s" {
			f.Errorf("entry %d is %+v, want %+v", i+1, e, batch[i])
		}
	}
}

// repeatedData appends equal and almost equal entries, which an adapter could merge.
func repeatedData(f *fixture) {
	k := key("t")
	e := event("s", `{"type":"CUSTOM"}`)
	var after int64
	for range 5 {
		after = f.append(k, after, e, e)
	}
	f.append(key("other"), 0, e)
	if got := f.read(k, 0); len(got) != 10 {
		f.Errorf("%d entries, want 10", len(got))
	}
}
