package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// A capture whose arrivals.tsv is damaged is refused. Its picture shows all events in order.
func TestDamagedArrivals(t *testing.T) {
	t.Parallel()
	const from = captures + "/adk/one-turn"
	whole, err := os.ReadFile(filepath.Join(from, capture.ArrivalsName))
	if err != nil {
		t.Fatal(err)
	}
	all := t.TempDir()
	malformed, pictures := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		lines := bytes.SplitAfter(bytes.Clone(whole), []byte("\n"))
		lines = lines[:len(lines)-1]
		at := rapid.IntRange(0, len(lines)-1).Draw(rt, "line")
		damage := rapid.SampledFrom([]string{"cut", "shift", "swap", "overlong", "late", "byte"}).Draw(rt, "damage")
		switch damage {
		case "cut":
			lines = lines[:at]
		case "shift":
			lines[at] = append([]byte("x"), lines[at]...)
			lines[len(lines)-1] = lines[len(lines)-1][1:]
		case "swap":
			other := (at + 1) % len(lines)
			lines[at], lines[other] = lines[other], lines[at]
		case "overlong":
			lines[at] = append(bytes.TrimSuffix(lines[at], []byte("\n")), strings.Repeat("9", 30)+"\n"...)
		case "late":
			lines[at] = append(bytes.TrimSuffix(lines[at], []byte("\n")), "99999\n"...)
		case "byte":
			lines[at][rapid.IntRange(0, len(lines[at])-1).Draw(rt, "at")] = rapid.SampledFrom([]byte("019-x\t\n")).Draw(rt, "byte")
		}
		damaged := bytes.Join(lines, nil)
		dir, err := os.MkdirTemp(all, "")
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			rt.Fatal(err)
		}
		write := func(name string, data []byte) {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		write(capture.ArrivalsName, damaged)
		matches := rapid.Bool().Draw(rt, "the digest matches")
		if matches {
			manifest, err := os.ReadFile(filepath.Join(from, capture.ManifestName))
			if err != nil {
				rt.Fatal(err)
			}
			manifest = bytes.Replace(manifest, []byte(digest.Of(whole)), []byte(digest.Of(damaged)), 1)
			manifest = bytes.Replace(manifest, fmt.Appendf(nil, `"bytes": %d`, len(whole)), fmt.Appendf(nil, `"bytes": %d`, len(damaged)), 1)
			write(capture.ManifestName, manifest)
		}
		rows, page := made(t, Settings{}, bounds, dir)
		if bytes.Equal(damaged, whole) {
			return
		}
		failed := finding.Has(rows[0].Findings, finding.ArrivalsMalformed)
		if failed {
			malformed++
		}
		if (failed || !matches) && rows[0].Verdict != project.Refused {
			rt.Errorf("%s: %s", damage, rows[0].Verdict)
		}
		if rows[0].Projection == nil { // the size differs from capture.json
			return
		}
		pictures++
		var data struct{ Events [][]any }
		if err := json.Unmarshal([]byte(element(t, page, `<script type="application/json" id="data-1">`, "</script>")), &data); err != nil || len(data.Events) == 0 {
			rt.Fatal(len(data.Events), err)
		}
		unknown := false
		for _, e := range data.Events {
			unknown = unknown || e[4].(float64) < 0
		}
		if ordered := bytes.Contains(page, []byte("In the order of the events")); ordered != unknown {
			rt.Errorf("%s: the picture is by order: %t", damage, ordered)
		}
	})
	if malformed == 0 || pictures == 0 {
		t.Errorf("arrivals were malformed %d times, and %d pages have a picture", malformed, pictures)
	}
}
