package restore_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// A Walker that has left a large entry does not keep its text, which Bytes does not count.
func TestWalkForgets(t *testing.T) {
	log := memory.New()
	entries := []store.Entry{
		{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)},
		{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`)},
		{Stream: "s", Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":%q}`, strings.Repeat("x", 4<<20))},
	}
	if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	w := restore.NewWalker(log, key, restore.Options{}, 64<<20)
	visit := func(position int64) weak.Pointer[byte] {
		m, err := w.Moment(t.Context(), position)
		if err != nil {
			t.Fatal(err)
		}
		return weak.Make(&m.Entry.Data[0])
	}
	for range 5 {
		visit(1) // small entries that were read several times are read in another way
		visit(2)
	}
	large := visit(3)
	visit(2)
	runtime.GC()
	if large.Value() != nil {
		t.Error("the walker keeps the text of an entry that it has left")
	}
	runtime.KeepAlive(w)
}
