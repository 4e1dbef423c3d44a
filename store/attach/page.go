package attach

import (
	"time"
	"unsafe"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// A page ends with the entry that reaches one of these sizes. Readers that are slow keep a page
// each, so it is small.
const (
	maxPageBytes   = 128 << 10
	maxPageEntries = 1000
	// smallBytes is the memory of the largest page with several entries. The text can have
	// grown to twice its length.
	smallBytes = 2*maxPageBytes + maxPageEntries*2*int(unsafe.Sizeof(entry{})) + 1<<10
)

// page has consecutive entries of a thread. Bytes of text and entries never change once
// they are there, so a copy of a page is valid while the original grows.
type page struct {
	after   int64 // the position before that of the first entry
	start   int   // where the text of the first entry begins
	text    []byte
	entries []entry
	part    *part // the memory; whoever gets a page from a feed holds it
}

// entry is an entry of a thread. Its text ends at end, and begins where that of the entry
// before it ends. Only events and closings have a text.
type entry struct {
	end    int
	run    int64
	stream string
	kind   kind
	json   bool      // it is an object in strict JSON
	check  uint32    // see Cursor.Check; 0 if it is a request that was loaded
	came   time.Time // when the follower got it; zero if it was loaded
}

// kind says what an entry means for readers.
type kind uint8

const (
	kindOther    kind = iota
	kindEnd           // the end of a stream
	kindTerminal      // a RUN_FINISHED or RUN_ERROR
)

// last returns the position of the last entry.
func (p *page) last() int64 { return p.after + int64(len(p.entries)) }

// size returns the memory of the page.
func (p *page) size() int {
	return cap(p.text) + cap(p.entries)*int(unsafe.Sizeof(entry{})) + int(unsafe.Sizeof(*p))
}

// full reports whether the page must not grow by an entry.
func (p *page) full(e *store.Entry, limit int) bool {
	n := 0
	if hasText(e) {
		n = len(e.Data)
	}
	return len(p.entries) > 0 && (len(p.text)+n > limit || len(p.entries) >= maxPageEntries)
}

// hasText reports whether readers get an entry. They do not get requests, which can be long.
func hasText(e *store.Entry) bool { return e.Kind == store.Event || e.Kind == store.Closing }

// add adds the next entry.
func (p *page) add(e *store.Entry, came time.Time) {
	id := Cursor{Position: e.Position}
	if e.Size == 0 { // its data was not left out
		id.Check = checkOf(e)
	}
	next := entry{run: e.Run, stream: e.Stream, json: e.Type != "", check: id.Check, came: came}
	switch e.Kind {
	case store.Event, store.Closing:
		p.text = capture.AppendSSE(p.text, id.String(), e.Data)
		if isTerminal(e.Type) {
			next.kind = kindTerminal
		}
	case store.End:
		next.kind = kindEnd
	}
	next.end = len(p.text)
	p.entries = append(p.entries, next)
}

// from returns the entries after a position of the page.
func (p page) from(position int64) page {
	if i := position - p.after; i > 0 {
		p.after, p.start, p.entries = position, p.entries[i-1].end, p.entries[i:]
	}
	return p
}

// to returns the entries up to a position, which is not before the first.
func (p page) to(position int64) page {
	if position < p.last() {
		p.entries = p.entries[:position-p.after]
	}
	return p
}
