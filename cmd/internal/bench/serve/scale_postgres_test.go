//go:build postgres

package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
)

// TestPostgresScale measures short runs with several servers on one database behind a real nginx.
func TestPostgresScale(t *testing.T) {
	t.Parallel()
	s := settings{
		place: logs.Place{Dir: t.TempDir(), Server: os.Getenv("P20EXPORT_POSTGRES")}, nginx: os.Getenv("P20EXPORT_NGINX"),
		logs: []string{logs.SQLite}, rounds: 1, events: 100, duration: time.Second,
	}
	if s.place.Server == "" || s.nginx == "" {
		t.Fatal("P20EXPORT_POSTGRES or P20EXPORT_NGINX is not set; run make postgres")
	}
	if text, err := tables["scale"](t.Context(), &s); err == nil {
		t.Errorf("several servers share SQLite:\n%s", text)
	}
	s.logs = logNames()
	text, err := tables["scale"](t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 11 {
		t.Fatalf("the table is\n%s", text)
	}
	elsewhere := make(map[int]bool) // by processes, whether readers were at another one than their run
	for i, line := range lines[2:11] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		processes := []int{1, 2, 4}[i%3]
		if len(cells) != 15 || cells[2] != strconv.Itoa(processes) {
			t.Errorf("the row of %d processes is %s", processes, line)
			continue
		}
		for n, cell := range cells {
			// A short run need not have readers in both places.
			switch present := cell != ""; n {
			case 4, 5:
			case 6, 7:
				elsewhere[processes] = elsewhere[processes] || present
			default:
				if !present {
					t.Errorf("%d processes, column %d is empty", processes, n)
				}
			}
			// What took less than a clock tick, such as nginx (column 11), is zero.
			if value, err := strconv.ParseFloat(cell, 64); err == nil && n != 11 && value <= 0 {
				t.Errorf("%d processes, column %d is %s", processes, n, cell)
			}
		}
	}
	if elsewhere[1] || !elsewhere[2] || !elsewhere[4] {
		t.Errorf("readers at another process than their run, by processes: %v", elsewhere)
	}
}
