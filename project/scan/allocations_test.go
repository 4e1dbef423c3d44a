package scan_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// TestAllocations checks that a pass allocates no memory for an event: the number of
// allocations does not depend on the number of events, but for the blocks of the texts.
func TestAllocations(t *testing.T) {
	var all []project.Settings
	for _, name := range project.Names() {
		s := project.Settings{Projection: name}
		if err := s.Normalize(); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	const times = `"timestamp":1790000000%03d,`
	for name, event := range map[string]func(i int) string{
		"text": func(i int) string {
			return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":" word %d"}`, i)
		},
		"text with times": func(i int) string {
			return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT",`+times+`"messageId":"m1","delta":" \"word\" %d"}`, i%1000, i)
		},
		"text of two messages": func(i int) string {
			return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":" word %d"}`, 1+i%2, i)
		},
		"text of a subagent": func(i int) string {
			return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m3","subagentRunId":"s1","delta":" word %d"}`, i)
		},
		"chunks": func(i int) string {
			return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m4","role":"user","delta":" word %d"}`, i)
		},
		"chunks without id": func(i int) string {
			if i == 0 {
				return `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m5"}`
			}
			return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","delta":" word %d"}`, i)
		},
		"tools and state": func(i int) string {
			return []string{
				fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"%d"}`, i),
				fmt.Sprintf(`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":%d}]}`, i),
				fmt.Sprintf(`{"type":"RAW","event":{"number":%d,"text":"a longer text","list":[1,2,3]}}`, i),
				fmt.Sprintf(`{"type":"CUSTOM","name":"progress","value":{"n":%d}}`, i),
			}[i%4]
		},
	} {
		t.Run(name, func(t *testing.T) {
			response := func(events int) string {
				var b strings.Builder
				put := func(event string) { b.WriteString("data: " + event + "\n\n") }
				put(`{"type":"RUN_STARTED","timestamp":1790000000000,"threadId":"t","runId":"r"}`)
				put(`{"type":"TEXT_MESSAGE_START","messageId":"m1"}`)
				put(`{"type":"TEXT_MESSAGE_START","messageId":"m2"}`)
				put(`{"type":"TEXT_MESSAGE_START","messageId":"m3","subagentRunId":"s1"}`)
				for i := range events {
					put(event(i))
				}
				put(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"x"}]}`)
				put(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
				return b.String()
			}
			pass := func(response string) {
				c, err := capture.OpenReader(strings.NewReader(response), "r", "")
				if err != nil {
					t.Fatal(err)
				}
				frozen := 0
				p := &scan.Projector{
					Settings: func(*envelope.Run) []project.Settings { return all },
					Handle: func(_ *envelope.Run, made iter.Seq[*scan.Projection]) error {
						for p := range made {
							if p.Output != nil {
								frozen++
							}
						}
						return nil
					},
				}
				if _, err := scan.Run(context.Background(), c, nil, scan.NewInspector("r"), p); err != nil || frozen == 0 {
					t.Fatal(frozen, err)
				}
			}
			const few, many = 2_000, 22_000
			short, long := response(few), response(many)
			n, m := testing.AllocsPerRun(3, func() { pass(short) }), testing.AllocsPerRun(3, func() { pass(long) })
			if m > n+(many-few)/1_000 {
				t.Errorf("%v allocations for %d events, %v for %d", n, few, m, many)
			}

		})
	}
}
