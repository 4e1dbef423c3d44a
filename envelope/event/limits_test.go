package event_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/event"
)

// TestMaxFaults tests the limit of faults at n and n+1.
func TestMaxFaults(t *testing.T) {
	for _, c := range []struct{ before, each, after string }{
		{`{"type":"MESSAGES_SNAPSHOT","messages":[`, `0`, `]}`},
		{`{"type":"STATE_DELTA","delta":[`, `{"op":"add","path":"x","value":1}`, `]}`},
	} {
		for _, n := range []int{event.MaxFaults, event.MaxFaults + 1} {
			text := []byte(c.before + strings.TrimSuffix(strings.Repeat(c.each+",", n), ",") + c.after)
			var faults []event.Fault
			_, err := event.Decode(text, event.Tolerant(&faults))
			if (err == nil) != (n == event.MaxFaults) || err == nil && len(faults) != n {
				t.Errorf("%d × %s: %d faults, %v", n, c.each, len(faults), err)
			}
			if all, ok := errors.AsType[*event.Error](err); err != nil && (!ok || len(all.Faults) != event.MaxFaults) {
				t.Errorf("%d × %s: %v", n, c.each, err)
			}
			if _, err := event.Decode(text); err == nil {
				t.Errorf("a strict decode accepts %d × %s", n, c.each)
			}
			if faults, err := event.Check(text, event.Auto); err != nil || len(faults) != event.MaxFaults {
				t.Errorf("Check lists %d faults of %d × %s, %v", len(faults), n, c.each, err)
			}
		}
	}
	text := []byte(`{"type":"RUN_ERROR","message":""` + manyKeys(event.MaxFaults+1) + `}`)
	var faults []event.Fault
	if _, err := event.Decode(text, event.Tolerant(&faults)); err != nil || len(faults) != event.MaxFaults {
		t.Errorf("%d unknown keys are listed, %v", len(faults), err)
	}
	laws(t, text)
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + strings.Repeat("x", i) + `":0`)
	}
	return b.String()
}

// TestMaxUsage tests the limit of usage at n and n+1.
func TestMaxUsage(t *testing.T) {
	for _, n := range []int{event.MaxUsage, event.MaxUsage + 1} {
		text := []byte(`{"type":"RUN_ERROR","message":"","usage":[` + strings.TrimSuffix(strings.Repeat(`{},`, n), ",") + `]}`)
		laws(t, text)
		if _, err := event.Decode(text); (err == nil) != (n == event.MaxUsage) {
			t.Errorf("%d: %v", n, err)
		}
		var faults []event.Fault
		if _, err := event.Decode(text, event.Tolerant(&faults)); err != nil || len(faults) != n-event.MaxUsage {
			t.Errorf("%d: %v, %v", n, faults, err)
		}
	}
}

// TestIntegers tests the limits of timestamps and counts, and the spellings of numbers.
func TestIntegers(t *testing.T) {
	for number, want := range map[string]string{
		"0": "0", "-0": "0", "-0.0e-7": "0", "0e99999999999999999999": "0", "7": "7", "-7": "-7",
		"9007199254740991": "9007199254740991", "-9007199254740991": "-9007199254740991",
		"9007199254740992": "", "-9007199254740992": "", "9007199254740991.0": "9007199254740991",
		"1e3": "1000", "1E+3": "1000", "1.5e1": "15", "1500e-2": "15", "0.001e3": "1", "12.50e1": "125",
		"9.007199254740991e15": "9007199254740991", "9.007199254740992e15": "", "1e16": "", "1e400": "", "1e99999999999999999999": "",
		"1.5": "1?", "-1.5": "-2?", "0.5": "0?", "-0.5": "-1?", "1e-400": "0?", "-1e-99999999999999999999": "-1?", "9007199254740991.5": "9007199254740991?", "-9007199254740991.5": "",
		"100000000000000000000000e-20": "1000", "1" + strings.Repeat("0", 2000) + "e-1999": "10", "0." + strings.Repeat("0", 2000) + "7e2001": "7", "0.00000000000000000000000000000000000000010": "0?",
	} {
		text := []byte(`{"type":"RUN_ERROR","message":"","timestamp":` + number + `,"usage":[{"inputTokens":` + number + `}]}`)
		laws(t, text)
		whole := strings.TrimSuffix(want, "?")
		e, err := event.Decode(text, event.Tolerant(nil))
		if err != nil {
			t.Errorf("%s: %v", number, err)
			continue
		}
		out := string(event.Append(nil, e))
		if got := strings.Contains(out, `"timestamp":`+whole+`,`); got != (want != "") {
			t.Errorf("the timestamp %s is written in %s", number, out)
		}
		count := want != "" && whole == want && !strings.HasPrefix(want, "-")
		if got := strings.Contains(out, `"inputTokens":`+whole+`}`); got != count {
			t.Errorf("the count %s is written in %s", number, out)
		}
		if _, err := event.Decode(text); (err == nil) != count {
			t.Errorf("%s (strict): %v", number, err)
		}
	}
}
