package strictjson_test

import (
	"testing"

	"github.com/p20export/p20export/internal/strictjson"
)

// deltas are short and long events as streaming integrations send them.
var deltas = []string{
	`{"type":"TEXT_MESSAGE_CONTENT","timestamp":1732170531541,"messageId":"3b0c1f0e-5c1e-4f6e-9d5e-2f9f3b1c0a77","delta":" the"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","timestamp":1732170531587,"messageId":"3b0c1f0e-5c1e-4f6e-9d5e-2f9f3b1c0a77","delta":" \"quoted\" words,\nand a second line"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","timestamp":1732170531602,"messageId":"3b0c1f0e-5c1e-4f6e-9d5e-2f9f3b1c0a77","delta":" größer als je zuvor — 東京 🙂"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"call_Zb1qN0yC7dG4","delta":"{\"city\": \"Utrecht\", \"unit\": \"celsius\"}"}`,
	`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/steps/0/status","value":"completed"},{"op":"add","path":"/steps/1","value":{"status":"pending","tries":0}}]}`,
}

func BenchmarkReadText(b *testing.B) {
	total := int64(0)
	events := make([][]byte, len(deltas))
	for i, s := range deltas {
		events[i] = []byte(s)
		total += int64(len(s))
	}
	var d strictjson.Decoder
	var o strictjson.Object
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			if _, err := strictjson.ReadText(&o, &d, e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkReader(b *testing.B) {
	total := int64(0)
	events := make([][]byte, len(deltas))
	for i, s := range deltas {
		events[i] = []byte(s)
		total += int64(len(s))
	}
	var r strictjson.Reader
	var o strictjson.Object
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			if _, err := r.Read(&o, e); err != nil {
				b.Fatal(err)
			}
		}
	}
}
