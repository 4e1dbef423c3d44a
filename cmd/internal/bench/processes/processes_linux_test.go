package processes

import (
	"os/exec"
	"testing"
)

// TestFamilyCPU reads the times of a shell, whose children end all the time. They never decrease.
func TestFamilyCPU(t *testing.T) {
	t.Parallel()
	// Each child takes some clock ticks.
	const script = `while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The context of the test ends before this waits.
	t.Cleanup(func() { _ = cmd.Wait() })
	var last float64
	for grown := 0; grown < 100; {
		now, err := FamilyCPU(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if now < last {
			t.Fatalf("%v seconds after %v", now, last)
		}
		if now > last {
			grown++
		}
		last = now
	}
}
