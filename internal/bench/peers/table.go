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
	"path/filepath"
	"strings"
	"time"
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

func (t *table) row(cells ...string) { t.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

// group adds a row for each contender. The reference is the first.
func (t *table) group(label string, contenders []*contender) {
	for _, c := range contenders {
		cells := []string{label, c.name, number(c.median(wall)), number(c.median(cpu)), number(c.median(rss))}
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
			cell := "**" + number(median(all)) + "**"
			if len(all) > 1 {
				cell += fmt.Sprintf(" (%s–%s)", number(all[0]), number(all[len(all)-1]))
			}
			cells = append(cells, cell)
		}
		t.row(cells...)
		label = ""
	}
}

// number formats a number with about three digits.
func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 0.1:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.3f", f)
}

// measured is the line below a table.
func (s *settings) measured() string {
	rounds := fmt.Sprintf("%d rounds", s.rounds)
	if s.rounds == 1 {
		rounds = "1 round"
	}
	return fmt.Sprintf("\nMedians of %s, measured on %s. MB are 1,000,000 bytes, MiB 1,048,576.\n", rounds, time.Now().UTC().Format("2006-01-02"))
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
	return writeFile(r.path, text)
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

// replaceTable replaces the text between the markers of a table in a page.
func replaceTable(path, name, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	replaced, err := between(string(page), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeFile(path, []byte(replaced))
}

// between replaces the text between the markers of a table.
func between(page, name, text string) (string, error) {
	begin, end := "<!-- bench-peers: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, ok := strings.Cut(page, begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		return "", fmt.Errorf("there is no %q followed by %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + text + "\n" + end + after, nil
}

// writeFile replaces a file with a complete one.
func writeFile(path string, text []byte) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(temporary, text, 0o666); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
