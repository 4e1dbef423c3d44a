package service

import (
	"log/slog"
	"slices"
	"testing"
	"time"
)

// A backlog that is full loses nothing, and finds only captures that had no room.
func TestBacklog(t *testing.T) {
	t.Parallel()
	s := newStore(t, "a", "b", "c", "d")
	b := newBacklog(s, slog.New(slog.DiscardHandler))
	taken := func() (names []string) {
		for {
			p, later := b.next()
			if p == nil {
				if !later.IsZero() {
					t.Errorf("there is more at %v", later)
				}
				return names
			}
			names = append(names, p.name)
			b.done()
		}
	}
	all := taken()
	slices.Sort(all)
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(all, want) {
		t.Errorf("found %v, want %v", all, want)
	}
	if n, since := b.size(); n != 0 || !since.IsZero() {
		t.Errorf("%d wait since %v", n, since)
	}
	for range maxWaiting {
		b.add("a")
	}
	b.add("d")
	b.add("c")
	if n, since := b.size(); n != maxWaiting || since.IsZero() {
		t.Errorf("%d wait since %v", n, since)
	}
	all = taken()
	found := all[maxWaiting:]
	slices.Sort(found)
	if want := []string{"c", "d"}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	b.add("a")
	p, _ := b.next()
	b.again(p, time.Hour)
	if p, later := b.next(); p != nil || time.Until(later) < time.Minute {
		t.Errorf("%v is next, at %v", p, later)
	}
}
