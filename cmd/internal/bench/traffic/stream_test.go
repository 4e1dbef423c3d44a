package traffic

import "testing"

func TestEvent(t *testing.T) {
	t.Parallel()
	event := AppendEvent(nil, 1795287361000)
	stamp, err := StampOf(event)
	if len(event) != EventSize || stamp != 1795287361000 || err != nil {
		t.Errorf("the event has %d bytes, want %d, and the stamp %d, %v", len(event), EventSize, stamp, err)
	}
	if _, err := StampOf([]byte(Opening)); err == nil {
		t.Error("an event without a stamp is accepted")
	}
}
