package attach

import (
	"bytes"
	"time"
	"unsafe"

	"github.com/p20export/p20export/capture"
)

// frames are server-sent events that do not come from the log one by one.
type frames struct {
	text []byte
	ends []int // of the events
	part *part // the memory; whoever gets frames from a feed holds it
}

// size returns the memory of the frames.
func (f *frames) size() int {
	return cap(f.text) + cap(f.ends)*int(unsafe.Sizeof(0)) + int(unsafe.Sizeof(*f))
}

// add adds an event. An empty id adds none.
func (f *frames) add(id string, data []byte) {
	f.text = capture.AppendSSE(f.text, id, data)
	f.ends = append(f.ends, len(f.text))
}

// frames sends events after the first skip ones. A text is not longer than those of other
// events, so that a slow reader has time for it.
func (r *reader) frames(f *frames, skip int) error {
	from, to := 0, 0
	for i, end := range f.ends {
		switch {
		case i < skip:
			from = end
		case to > from && end-from > maxPageBytes:
			if err := r.text(f.text[from:to:to]); err != nil {
				return err
			}
			from = to
		}
		to = end
	}
	return r.some(f.text[from:to:to], time.Time{})
}

// dataOf returns the data of an event that has an id. It may share memory with the event.
func dataOf(event []byte) []byte {
	_, data, _ := bytes.Cut(event, []byte("\n"))
	data = data[len("data: ") : len(data)-len("\n\n")]
	if bytes.IndexByte(data, '\n') >= 0 {
		data = bytes.ReplaceAll(data, []byte("\ndata: "), []byte("\n"))
	}
	return data
}
