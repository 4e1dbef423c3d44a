package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// A table collects the rows of one table of the page, in Markdown.
type table struct {
	strings.Builder
	syncs bool
}

// newTable starts a table of measurements. The first column is about the captures. The last
// columns have the ratios of wall and processor time to those of the reference, with the
// smallest and the largest ratio.
func newTable(first, reference string, syncs bool) *table {
	t := &table{syncs: syncs}
	columns := []string{first, "program", "wall (s)", "CPU (s)", "peak RSS (MiB)"}
	if syncs {
		columns = append(columns, "syncs")
	}
	t.row(append(columns, "wall, "+reference+" = 1", "CPU, "+reference+" = 1")...)
	t.WriteString("|---|---|" + strings.Repeat("--:|", len(columns)) + "\n")
	return t
}

func (t *table) row(cells ...string) { t.WriteString(page.Row(cells...)) }

// group adds a row for each contender. The reference is the first.
func (t *table) group(label string, contenders []*contender) {
	for _, c := range contenders {
		cells := []string{label, c.name, page.Number(c.median(wall)), page.Number(c.median(cpu)), page.Number(c.median(rss))}
		if t.syncs {
			syncs := "–"
			if c.countSyncs {
				syncs = fmt.Sprint(c.synced)
			}
			cells = append(cells, syncs)
		}
		for _, of := range []func(measurement) float64{wall, cpu} {
			if c == contenders[0] {
				cells = append(cells, "1")
				continue
			}
			all := c.ratios(contenders[0], of)
			cell := "**" + page.Number(page.Median(all)) + "**"
			if len(all) > 1 {
				cell += fmt.Sprintf(" (%s–%s)", page.Number(all[0]), page.Number(all[len(all)-1]))
			}
			cells = append(cells, cell)
		}
		t.row(cells...)
		label = ""
	}
}

// results are the finished tables of earlier runs.
type results struct {
	path   string
	Tables map[string]result `json:"tables"`
}

// A result is a finished table, and the key of the program and the settings that it is of.
type result struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

func loadResults(path string) (*results, error) {
	r := &results{path: path, Tables: map[string]result{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to measure everything again", path, err)
	}
	return r, nil
}

func (r *results) save() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return page.WriteFile(r.path, text)
}

// key returns a digest of the program and of the settings that figures depend on.
func (s *settings) key() (string, error) {
	h := sha256.New()
	f, err := os.Open(s.program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	fmt.Fprintln(h, s.large, s.slow, s.count, s.rounds, s.jobs)
	return hex.EncodeToString(h.Sum(nil)), nil
}
