package discovery

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
)

// outline is what is known of a capture before it is frozen. It stays small,
// however long the capture is.
type outline struct {
	// seen is an expectation without what freezing shows.
	seen  Expectation
	types types
	// snapshots has how many messages each emitted snapshot has, up to maxKept.
	snapshots []int
}

func readOutline(ctx context.Context, path string) (*outline, error) {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	l := &outline{snapshots: []int{}}
	if m := c.Manifest(); m != nil {
		l.seen.HTTPStatus = m.Source.Status
		if m.End != capture.EndEOF {
			l.seen.End = m.End
		}
	}
	if _, err := envelope.Scan(c, l); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// Event implements envelope.Visitor.
func (l *outline) Event(_ *envelope.Run, e *envelope.Event) {
	l.types.set(e.Index, e.Type)
	if e.Type != envelope.MessagesSnapshot || len(l.snapshots) == maxKept {
		return
	}
	n := 0
	for range envelope.Messages(e) {
		n++
	}
	l.snapshots = append(l.snapshots, n)
}

// End implements envelope.Visitor.
func (l *outline) End(run *envelope.Run) error {
	if run.Terminal != nil {
		l.seen.Terminal = run.Terminal.Type
	}
	return nil
}
