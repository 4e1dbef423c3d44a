package restore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
	"github.com/p20export/p20export/store/sqlite"
)

// conversation returns a thread of runs that continue each other. Each has a question, an
// activity and an answer in 20 deltas; its request has the new message or, as clients send
// it, all messages without the activities.
func conversation(runs int, input restore.Input) (entries []store.Entry) {
	all := ""
	for i := range runs {
		stream := fmt.Sprintf("s%d", i)
		add := func(kind store.Kind, format string, args ...any) {
			entries = append(entries, store.Entry{Stream: stream, Kind: kind, Data: fmt.Appendf(nil, format, args...)})
		}
		question := fmt.Sprintf(`{"id":"u%d","role":"user","content":"What is the answer to question %d?"}`, i, i)
		list := question
		if all != "" {
			all += ","
		}
		if all += question; input != restore.Normalized {
			list = all
		}
		add(store.Input, `{"threadId":"t","runId":"r%d","messages":[%s],"state":{"n":%d}}`, i, list, i)
		add(store.Event, `{"type":"RUN_STARTED","threadId":"t","runId":"r%d"}`, i)
		add(store.Event, `{"type":"ACTIVITY_SNAPSHOT","messageId":"a%d","activityType":"PLAN","content":{"steps":1}}`, i)
		add(store.Event, `{"type":"TEXT_MESSAGE_START","messageId":"m%d","role":"assistant"}`, i)
		answer := ""
		for j := range 20 {
			add(store.Event, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"some words, part %d; "}`, i, j)
			answer += fmt.Sprintf("some words, part %d; ", j)
		}
		add(store.Event, `{"type":"TEXT_MESSAGE_END","messageId":"m%d"}`, i)
		add(store.Event, `{"type":"RUN_FINISHED","threadId":"t","runId":"r%d"}`, i)
		add(store.End, "eof")
		all += fmt.Sprintf(`,{"id":"m%d","role":"assistant","content":%q}`, i, answer)
	}
	return entries
}

// BenchmarkRestore restores the end of a thread of 1,000 runs. With full requests only the
// last two runs are read, and in mode auto some events of the others.
func BenchmarkRestore(b *testing.B) {
	for _, input := range []restore.Input{restore.Normalized, restore.Full, restore.Auto} {
		database, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), true)
		if err != nil {
			b.Fatal(err)
		}
		defer database.Close()
		for name, log := range map[string]store.Log{"memory": memory.New(), "sqlite": database} {
			if _, err := log.Append(b.Context(), key, 0, conversation(1000, input)); err != nil {
				b.Fatal(err)
			}
			b.Run(name+"/"+string(input), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					th, err := restore.Open(context.Background(), log, key, restore.Options{Input: input})
					if err != nil {
						b.Fatal(err)
					}
					r, err := th.Run(context.Background(), th.Graph.Nodes[999])
					if err != nil || len(r.Findings) > 0 {
						b.Fatal(err, r.Findings)
					}
				}
			})
		}
	}
}

// BenchmarkLive lets a client join the last run of a thread of 1,000 runs.
func BenchmarkLive(b *testing.B) {
	for _, input := range []restore.Input{restore.Normalized, restore.Auto} {
		database, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), true)
		if err != nil {
			b.Fatal(err)
		}
		defer database.Close()
		for name, log := range map[string]store.Log{"memory": memory.New(), "sqlite": database} {
			if _, err := log.Append(b.Context(), key, 0, conversation(1000, input)); err != nil {
				b.Fatal(err)
			}
			b.Run(name+"/"+string(input), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					th, err := restore.Open(context.Background(), log, key, restore.Options{Input: input})
					if err != nil {
						b.Fatal(err)
					}
					l, err := th.Live(context.Background(), th.Graph.Nodes[999])
					if err != nil {
						b.Fatal(err)
					}
					if _, err := l.Prelude(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGraph makes the graph of 100,000 runs. Every tenth run begins a branch.
func BenchmarkGraph(b *testing.B) {
	list := make([]lineage.Run, 100_000)
	for i := range list {
		list[i] = lineage.Run{Thread: "t", ID: fmt.Sprint(i)}
		if i%10 == 9 {
			list[i].ParentID = fmt.Sprint(i / 2)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		lineage.New(list)
	}
}
