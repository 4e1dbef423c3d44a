// Package page writes tables of measurements into a page, for the benchmarks that rewrite
// docs/benchmarks.md.
package page

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Row returns a row of a table in Markdown.
func Row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// Number formats a number with about three digits.
func Number(f float64) string {
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

// Median returns the median of values, and sorts them.
func Median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// Measured is the line below a table of medians.
func Measured(rounds int) string {
	text := fmt.Sprintf("%d rounds", rounds)
	if rounds == 1 {
		text = "1 round"
	}
	return fmt.Sprintf("\nMedians of %s, measured on %s.\n", text, Today())
}

// Today returns the date.
func Today() string { return time.Now().UTC().Format(time.DateOnly) }

// Write measures the tables of a program in turn, prints them, and replaces them in a page
// unless the path is empty.
func Write(path, program string, names []string, measure func(name string) (string, error)) error {
	for _, name := range names {
		fmt.Fprintf(os.Stderr, "%s\n", name)
		text, err := measure(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("\n%s\n\n%s", name, text)
		if path == "" {
			continue
		}
		if err := Replace(path, program, name, text); err != nil {
			return err
		}
	}
	return nil
}

// Replace replaces the table between the markers of a program's table in a page.
func Replace(path, program, name, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	replaced, err := Between(string(old), program, name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return WriteFile(path, []byte(replaced))
}

// Between replaces the text between the markers of a program's table.
func Between(page, program, name, text string) (string, error) {
	begin, end := "<!-- "+program+": "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, ok := strings.Cut(page, begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		return "", fmt.Errorf("there is no %q followed by %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + text + "\n" + end + after, nil
}

// CheckPlaces checks that a page has a place for each table of a program, and no other.
func CheckPlaces(path, program string, names []string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		_, err := Between(string(text), program, name, "text")
		errs = append(errs, err)
	}
	if n := strings.Count(string(text), "<!-- "+program+": "); n != len(names) {
		errs = append(errs, fmt.Errorf("there are places for %d tables of %s, want %d", n, program, len(names)))
	}
	return errors.Join(errs...)
}

// WriteFile replaces a file with a complete one.
func WriteFile(path string, text []byte) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(temporary, text, 0o666); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// Find returns the first match of a group in a file, or "".
func Find(path, pattern string) string {
	text, _ := os.ReadFile(path)
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		return ""
	}
	return strings.TrimSpace(string(found[1]))
}

// Load returns the load of the machine, and warns on standard error if other programs are
// running, since they share the cores.
func Load(program string) string {
	load := Find("/proc/loadavg", `^(\S+)`)
	if f, err := strconv.ParseFloat(load, 64); err == nil && f > 1 {
		fmt.Fprintf(os.Stderr, "%s: warning: the load average is %s; measure on an idle machine\n", program, load)
	}
	return load
}

// Memory returns the size of the machine's memory.
func Memory() string {
	kib, err := strconv.ParseFloat(Find("/proc/meminfo", `MemTotal:\s*(\d+) kB`), 64)
	if err != nil {
		return "unknown"
	}
	return Number(kib/(1<<20)) + " GiB"
}
