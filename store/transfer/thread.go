package transfer

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// threadOfEvent returns the thread that a RUN_STARTED names. It returns "" for all other
// events.
func threadOfEvent(data []byte) string {
	// Nearly all events are other ones, and need not be read.
	if !bytes.Contains(data, []byte(envelope.RunStarted)) && !bytes.Contains(data, []byte(`\u`)) {
		return ""
	}
	e, err := envelope.ReadEvent(data)
	if err != nil || e.Type != envelope.RunStarted {
		return ""
	}
	return threadID(&e.Object)
}

// threadOfInput returns the thread that a request names, or "".
func threadOfInput(data []byte) string {
	var o strictjson.Object
	if v, err := strictjson.ReadText(&o, new(strictjson.Decoder), data); err != nil || v.Kind != strictjson.ObjectStart {
		return ""
	}
	return threadID(&o)
}

// pinnedTo returns the thread that has all entries of a capture, if its labels name it.
func pinnedTo(c *capture.Capture) (thread string, pinned bool) {
	m := c.Manifest()
	if m == nil || m.Source.Kind != capture.KindProxy || store.CheckID(m.Labels[capture.StreamLabel]) != nil {
		return "", false
	}
	thread = m.Labels[capture.ThreadLabel]
	return thread, store.CheckID(thread) == nil
}

// threadOf returns the thread of the first entries of a capture, or "". It reads the
// request, which can be large, only if no event names the thread.
func threadOf(ctx context.Context, c *capture.Capture, fallback string) (string, error) {
	for ctx.Err() == nil {
		f, err := c.Next()
		if err == io.EOF || c.CodingCut() {
			request, err := c.Request()
			return cmp.Or(threadOfInput(request), fallback), err
		}
		if err != nil {
			return "", err
		}
		if id := threadOfEvent(f.Data); id != "" {
			return id, nil
		}
	}
	return "", ctx.Err()
}

// isHead reports whether data is the head of the portable form, in any form of the JSON text.
func isHead(data []byte) bool {
	var o strictjson.Object
	if v, err := strictjson.ReadText(&o, new(strictjson.Decoder), data); err != nil || v.Kind != strictjson.ObjectStart {
		return false
	}
	v, _ := o.Get("schema")
	schema, valid := v.Text()
	return valid && strings.HasPrefix(schema, schemaPrefix)
}

// threadID returns the threadId of an event or a request, or "" if it cannot be the id of a
// thread of a log.
func threadID(o *envelope.Object) string {
	v, _ := o.Get("threadId")
	id, valid := v.Text()
	if !valid || store.CheckID(id) != nil {
		return ""
	}
	return id
}
