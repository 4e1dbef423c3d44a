package strictjson_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// hostile are texts made to fit no template, or to fit it late.
var hostile = []struct {
	name string
	text func(i int) string
}{
	{"names differ", func(i int) string {
		return fmt.Sprintf(`{"type":"A","messageId":"3b0c1f0e-5c1e-4f6e-9d5e-2f9f3b1c0a77","delta":"%d","k%d":1}`, i, i)
	}},
	{"shapes alternate", func(i int) string {
		return fmt.Sprintf(`{"type":"A","messageId":"3b0c1f0e-5c1e-4f6e-9d5e-2f9f3b1c0a77","delta":"%d","k%d":1}`, i, i%13)
	}},
	{"types differ", func(i int) string {
		return fmt.Sprintf(`{"type":"A%d","messageId":"3b0c1f0e-5c1e-4f6e-9d5e-2f9f3b1c0a77","delta":"%d"}`, i, i)
	}},
	{"a miss behind 100 numbers", func(i int) string {
		return fmt.Sprintf(`{"type":"A","a":[%s0],"k%d":0}`, strings.Repeat(fmt.Sprintf("%d,", i%97), 100), i)
	}},
	{"a miss behind 30,000 numbers", func(i int) string {
		return fmt.Sprintf(`{"type":"A","a":[%s0],"k%d":0}`, strings.Repeat(fmt.Sprintf("%d,", i%7), 30_000), i)
	}},
	{"one of 50,000 numbers differs", func(i int) string {
		return fmt.Sprintf(`{"type":"A","a":[%s2,%s3]}`, strings.Repeat("1,", 1000*(i%50)), strings.Repeat("1,", 50_000-1000*(i%50)))
	}},
	{"a million numbers", func(i int) string {
		return fmt.Sprintf(`{"type":"A","a":[%s%d]}`, strings.Repeat("1,", 1_000_000), i)
	}},
	{"a miss behind a long string", func(i int) string {
		return fmt.Sprintf(`{"type":"A","a":"%s","k%d":0}`, strings.Repeat("abcdefg ", 12_500), i)
	}},
}

// BenchmarkHostile compares a Reader with ReadText for hostile texts. Both read all texts
// in turn; the ratio is that of their times in the fastest tenth of the rounds.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		b.Run(h.name, func(b *testing.B) {
			var texts [][]byte
			for i, size := 0, 0; size < 4<<20 && i < 2000; i++ {
				texts = append(texts, []byte(h.text(i)))
				size += len(texts[i])
			}
			var d strictjson.Decoder
			var o, p strictjson.Object
			r := strictjson.Reader{Key: "type"}
			var full, templates []time.Duration
			for b.Loop() {
				start := time.Now()
				for _, text := range texts {
					if _, err := strictjson.ReadText(&o, &d, text); err != nil {
						b.Fatal(err)
					}
				}
				full = append(full, time.Since(start))
				start = time.Now()
				for _, text := range texts {
					if _, err := r.Read(&p, text); err != nil {
						b.Fatal(err)
					}
				}
				templates = append(templates, time.Since(start))
			}
			slices.Sort(full)
			slices.Sort(templates)
			fast := len(full) / 10
			b.ReportMetric(float64(full[fast].Nanoseconds())/float64(len(texts)), "ReadText-ns/text")
			b.ReportMetric(float64(templates[fast])/float64(full[fast]), "ratio")
		})
	}
}
