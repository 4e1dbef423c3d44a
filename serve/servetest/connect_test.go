package servetest

import "testing"

func TestRepeatsIDs(t *testing.T) {
	for messages, want := range map[string]bool{
		`[]`: false,
		`[{"id":"a","role":"user","content":"x"},{"id":"b","role":"user","content":"x"}]`: false,
		`[{"id":"a","role":"user","content":"x"},{"id":"a","role":"user","content":"y"}]`: true,
	} {
		if got, err := repeatsIDs([]byte(messages)); got != want || err != nil {
			t.Errorf("%s: %t, %v", messages, got, err)
		}
	}
}
