package schema_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/schema"
)

// TestFrozen checks that the schemas accept the files that freeze writes for captures at the
// limits of the rules.
func TestFrozen(t *testing.T) {
	t.Parallel()
	const (
		started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r","parentRunId":null,"":1,"a/b~c\n🙂":2,"\ud83d":3,"timestamp":1769860800000}` + "\n"
		bare     = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n"
		snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"hi","x":1}],"name":" ","k":{}},{"id":"n","role":"activity"},{"id":"o","role":"tool","content":" "},{"id":"p","role":"tool","content":7}]}` + "\n"
		finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1769860801500}` + "\n"
		failure  = `{"type":"RUN_ERROR","message":"boom\nat line 1","code":" ","x":{}}` + "\n"
		spoken   = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}` + "\n" +
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"hi"}` + "\n" +
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"s","delta":"no","subagentRunId":"s"}` + "\n"
	)
	var families, keys strings.Builder
	for i := range 600 {
		fmt.Fprintf(&families, `{"type":"X%d"}`+"\n", i)
	}
	for i := range 10_100 {
		fmt.Fprintf(&keys, `,"k%d":0`, i)
	}
	long := fmt.Sprintf(`{"type":%q}`, strings.Repeat("é", 65)) + "\n"
	operator := project.OperatorTimes{StartedAt: "2026-01-31T12:00:00Z", FinishedAt: "2026-01-31T12:00:00.500000Z"}
	for i, c := range []struct {
		name, events string
		projection   project.Name
		snapshot     project.Selection
		operator     project.OperatorTimes
		files        int
	}{
		{"rich", started + snapshot + finished, project.EmittedSnapshotText, project.Only, project.OperatorTimes{}, 3},
		{"two snapshots", started + snapshot + snapshot + finished, project.EmittedSnapshotText, "2", project.OperatorTimes{}, 3},
		{"families", started + families.String() + long + snapshot + finished, project.EmittedSnapshotText, project.First, project.OperatorTimes{}, 3},
		{"ten thousand keys", strings.Replace(started, "}", keys.String()+"}", 1) + snapshot + finished, project.EmittedSnapshotText, project.Last, project.OperatorTimes{}, 3},
		{"operator é🙂", bare + snapshot + failure, project.EmittedSnapshotText, project.Only, operator, 3},
		{"two runs", started + snapshot + finished + started + spoken + failure, project.EmittedSnapshotText, project.Only, project.OperatorTimes{}, 3},
		{"folded", started + spoken + failure, project.FoldedStream, project.Only, project.OperatorTimes{}, 3},
		{"folded by operator", bare + spoken + finished, project.FoldedStream, project.Only, project.OperatorTimes{StartedAt: operator.StartedAt}, 3},
	} {
		dir, count := t.TempDir(), make(map[string]int)
		path := filepath.Join(dir, c.name+".ndjson")
		if err := os.WriteFile(path, []byte(c.events), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "out")
		rows, err := freeze.Freeze(context.Background(), path, freeze.Settings{
			Settings: project.Settings{Projection: c.projection, Snapshot: c.snapshot, Operator: c.operator},
			Dir:      out, Tool: record.Tool{Name: record.ToolName, Version: "0.1.0"},
		})
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(out, "*"))
		if err != nil || len(files) != c.files {
			t.Errorf("%d: %s: %v (%v)\n%+v", i, c.name, files, err, rows)
		}
		for _, file := range files {
			acceptFile(t, count, file)
		}
		if count[schema.Record] != 1 {
			t.Errorf("%s: %v", c.name, count)
		}
	}
}
