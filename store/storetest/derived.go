package storetest

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/p20export/p20export/store"
)

func derivedTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"derived/is kept":             derivedKept,
		"derived/what is refused":     derivedRefused,
		"derived/of a deleted thread": derivedDeleted,
		"derived/survives pack":       derivedPacked,
	}
}

// kept returns what is kept of a kind.
func (f *fixture) kept(k store.Key, kind string, from, to int64, data bool) []store.Derived {
	f.Helper()
	list, err := f.log.Kept(f.ctx, k, kind, from, to, data)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

func (f *fixture) keep(k store.Key, kind string, list ...store.Derived) {
	f.Helper()
	if err := f.log.Keep(f.ctx, k, kind, list); err != nil {
		f.Fatal(err)
	}
}

func derivedKept(f *fixture) {
	k, other := key("t"), store.Key{Tenant: "x", Thread: "t"}
	f.append(k, 0, slices.Repeat([]store.Entry{custom("s")}, 5)...)
	f.append(other, 0, custom("s"))
	before := f.thread(k)
	large := bytes.Repeat([]byte("x\x00\xff"), 1<<20)
	want := []store.Derived{{Position: 1, Head: []byte("one"), Data: large}, {Position: 3}, {Position: 5, Head: []byte("\x00"), Data: []byte("five")}}
	f.keep(k, "a", want[2], want[0])
	f.keep(k, "a", want[1])
	f.keep(k, "b", store.Derived{Position: 3, Head: []byte("b")})
	f.keep(other, "a", store.Derived{Position: 1, Head: []byte("other")})
	f.keep(k, "a")
	for _, test := range []struct{ from, to, first, last int64 }{{0, 9, 0, 3}, {1, 5, 0, 3}, {2, 5, 1, 3}, {2, 4, 1, 2}, {3, 3, 1, 2}, {4, 4, 2, 2}, {5, 1, 2, 2}} {
		for _, data := range []bool{true, false} {
			got := f.kept(k, "a", test.from, test.to, data)
			if len(got) != int(test.last-test.first) {
				f.Fatalf("%+v: %d are kept", test, len(got))
			}
			for i, d := range got {
				of := want[int(test.first)+i]
				if d.Position != of.Position || !bytes.Equal(d.Head, of.Head) || data && !bytes.Equal(d.Data, of.Data) || !data && d.Data != nil {
					f.Errorf("%+v: the one at %d has the head %q", test, d.Position, d.Head)
				}
			}
		}
	}
	f.keep(k, "a", store.Derived{Position: 3, Head: []byte("three"), Data: []byte("3")})
	if got := f.kept(k, "a", 2, 4, true); len(got) != 1 || string(got[0].Head) != "three" || string(got[0].Data) != "3" {
		f.Errorf("it was not replaced: %+v", got)
	}
	equal(f, "the thread", f.thread(k), before)
	if err := f.log.Forget(f.ctx, k, "a"); err != nil {
		f.Fatal(err)
	}
	if a, b, c := len(f.kept(k, "a", 0, 9, true)), len(f.kept(k, "b", 0, 9, true)), len(f.kept(other, "a", 0, 9, true)); a != 0 || b != 1 || c != 1 {
		f.Errorf("after it was forgotten, %d, %d and %d are kept", a, b, c)
	}
	if err := f.log.Forget(f.ctx, key("none"), "a"); err != nil {
		f.Errorf("Forget of no thread: %v", err)
	}
	if got := f.kept(key("none"), "a", 0, 9, true); len(got) > 0 {
		f.Errorf("of no thread: %+v", got)
	}
}

func derivedRefused(f *fixture) {
	k := key("t")
	f.append(k, 0, custom("s"), custom("s"))
	valid := store.Derived{Position: 1, Head: []byte("valid")}
	for name, test := range map[string]struct {
		key  store.Key
		kind string
		list []store.Derived
		want error
	}{
		"no kind":        {k, "", []store.Derived{valid}, store.ErrDerived},
		"a long kind":    {k, strings.Repeat("k", store.MaxKindBytes+1), []store.Derived{valid}, store.ErrDerived},
		"no position":    {k, "a", []store.Derived{valid, {}}, store.ErrDerived},
		"after the last": {k, "a", []store.Derived{valid, {Position: 3}}, store.ErrDerived},
		"a long head":    {k, "a", []store.Derived{valid, {Position: 1, Head: make([]byte, store.MaxHeadBytes+1)}}, store.ErrDerived},
		"no thread":      {key("none"), "a", []store.Derived{valid}, store.ErrNoThread},
		"no id":          {key(""), "a", []store.Derived{valid}, store.ErrKey},
	} {
		if err := f.log.Keep(f.ctx, test.key, test.kind, test.list); !errors.Is(err, test.want) {
			f.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if got := f.kept(k, "a", 0, 9, true); len(got) > 0 {
		f.Errorf("%+v is kept", got)
	}
	f.keep(k, strings.Repeat("k", store.MaxKindBytes), store.Derived{Position: 2, Head: make([]byte, store.MaxHeadBytes)})
}

func derivedDeleted(f *fixture) {
	k := key("t")
	f.append(k, 0, custom("s"))
	f.keep(k, "a", store.Derived{Position: 1, Data: []byte("secret")})
	if _, err := f.log.Delete(f.ctx, k); err != nil {
		f.Fatal(err)
	}
	if got := f.kept(k, "a", 0, 9, true); len(got) > 0 {
		f.Errorf("a deleted thread has %+v", got)
	}
	if err := f.log.Keep(f.ctx, k, "a", []store.Derived{{Position: 1}}); !errors.Is(err, store.ErrDeleted) {
		f.Errorf("Keep: %v", err)
	}
}

func derivedPacked(f *fixture) {
	k := key("t")
	f.append(k, 0, started("s", "r", ""), finished("s"), end("s"))
	f.keep(k, "a", store.Derived{Position: 2, Data: []byte("two")})
	if _, err := f.log.Pack(f.ctx, k); err != nil {
		f.Fatal(err)
	}
	if got := f.kept(k, "a", 0, 9, true); len(got) != 1 || string(got[0].Data) != "two" {
		f.Errorf("after Pack: %+v", got)
	}
}
