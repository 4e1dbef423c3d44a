package logs

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// Machine describes the machine, and the versions of what is measured with it. The load is that
// before the measurement.
func (p Place) Machine(ctx context.Context, load string, measured []string) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("what", "which") + "|---|---|\n")
	t.WriteString(page.Row("processor", fmt.Sprintf("%s, %d cores", page.Find("/proc/cpuinfo", `(?m)^model name\s*: (.*)`), runtime.NumCPU())))
	t.WriteString(page.Row("memory", page.Memory()))
	t.WriteString(page.Row("load before the measurement", load))
	lines := [][]string{
		{"kernel", "uname", "-sr"},
		{"file system of SQLite", "findmnt", "-n", "-o", "FSTYPE,OPTIONS", "-T", p.Dir},
		{"Go", "go", "version"},
		{"Node", "node", "--version"},
	}
	if slices.Contains(measured, Postgres) {
		version, dir, err := p.server(ctx)
		if err != nil {
			return "", err
		}
		t.WriteString(page.Row("PostgreSQL", version))
		lines = append(lines, []string{"file system of PostgreSQL", "findmnt", "-n", "-o", "FSTYPE,OPTIONS", "-T", filepath.Dir(dir)})
	}
	for _, line := range lines {
		out, err := exec.Command(line[1], line[2:]...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(line[1:], " "), err)
		}
		first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		t.WriteString(page.Row(line[0], strings.Join(strings.Fields(string(first)), " ")))
	}
	return t.String(), nil
}

// server returns the version of the PostgreSQL server and the directory of its data.
func (p Place) server(ctx context.Context) (version, dir string, err error) {
	c, err := pgx.Connect(ctx, p.Server)
	if err != nil {
		return "", "", err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('data_directory')").Scan(&version, &dir)
	return version, dir, err
}
