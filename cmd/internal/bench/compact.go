package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// benchCompact compares compact with inspect, which reads the same events without keeping
// them. The goal is at most 2.5 times the time of inspect and 32 MiB, except that mode snapshot
// also keeps the conversation, here of 60 MB.
func benchCompact(program string, size int64) error {
	dir, err := os.MkdirTemp("", "p20export-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "deltas.sse")
	if size, err = generateDeltas(source, size); err != nil {
		return err
	}
	fmt.Printf("\ncompact of %d bytes of deltas, compared with inspect\n%-8s %8s %8s %14s %8s\n", size, "mode", "seconds", "MB/s", "peak RSS (MiB)", "ratio")
	for _, mode := range []string{"stream", "client", "snapshot"} {
		var times, ratios []float64
		var peak float64
		for range 5 {
			before, _, err := measure(0, program, "inspect", source)
			if err != nil {
				return err
			}
			out := filepath.Join(dir, mode+".sse")
			seconds, mib, err := measure(0, program, "compact", source, "-o", out, "--mode", mode)
			if err != nil {
				return err
			}
			if err := os.Remove(out); err != nil {
				return err
			}
			times, ratios, peak = append(times, seconds), append(ratios, seconds/before), max(peak, mib)
		}
		fmt.Printf("%-8s %8.2f %8.0f %14.1f %8.2f\n", mode, median(times), float64(size)/1e6/median(times), peak, median(ratios))
	}
	return nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// generateDeltas writes ten runs of about size bytes in all: answers in a thousand deltas,
// tool calls, and state. The deltas are short, so that the whole conversation is below the
// limit of mode snapshot. It returns the exact size.
func generateDeltas(path string, size int64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	total := size
	put := func(event string, values ...any) {
		n, _ := fmt.Fprintf(w, "data: "+event+"\n\n", values...)
		size -= int64(n)
	}
	for run := range 10 {
		end := size - total/10
		put(`{"type":"RUN_STARTED","threadId":"thread","runId":"run-%d"}`, run)
		put(`{"type":"STATE_SNAPSHOT","snapshot":{"step":0,"log":[]}}`)
		for turn := 0; size > end; turn++ {
			id := fmt.Sprintf("m-%d-%d", run, turn)
			put(`{"type":"TEXT_MESSAGE_START","messageId":"%s","role":"assistant"}`, id)
			delta := fmt.Sprintf("data: "+`{"type":"TEXT_MESSAGE_CONTENT","messageId":"%s","delta":"word"}`+"\n\n", id)
			for range 1000 {
				n, _ := io.WriteString(w, delta)
				size -= int64(n)
			}
			put(`{"type":"TEXT_MESSAGE_END","messageId":"%s"}`, id)
			put(`{"type":"TOOL_CALL_START","toolCallId":"t-%s","toolCallName":"search","parentMessageId":"%[1]s"}`, id)
			for i := range 20 {
				put(`{"type":"TOOL_CALL_ARGS","toolCallId":"t-%s","delta":"\"key %d\": %[2]d, "}`, id, i)
			}
			put(`{"type":"TOOL_CALL_END","toolCallId":"t-%s"}`, id)
			put(`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/step","value":%d},{"op":"add","path":"/log/-","value":"turn %[1]d"}]}`, turn)
		}
		put(`{"type":"RUN_FINISHED","threadId":"thread","runId":"run-%d"}`, run)
	}
	return total - size, w.Flush()
}
