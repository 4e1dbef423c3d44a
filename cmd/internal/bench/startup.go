package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// starts is how often each program is started.
const starts = 300

// startUp compares what the version command costs with that of a program that is
// cobra and nothing else, both as processes: processor time, user's and system's. The
// two take turns, so that both meet the same noise, and are copies, as what is
// installed is: a file that the linker wrote takes longer to map. The goal is 1.7
// times.
func startUp(release, hello string) error {
	dir, err := os.MkdirTemp("", "p20export-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	programs := []string{filepath.Join(dir, "p20export"), filepath.Join(dir, "hello")}
	for i, from := range []string{release, hello} {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(programs[i], data, 0o700); err != nil {
			return err
		}
	}
	var costs [2][]float64 // in milliseconds
	for range starts {
		for i, program := range programs {
			cmd := exec.Command(program, "version")
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s version: %w", program, err)
			}
			costs[i] = append(costs[i], (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()*1000)
		}
	}
	var sizes [2]int64
	for i, program := range programs {
		info, err := os.Stat(program)
		if err != nil {
			return err
		}
		sizes[i] = info.Size()
		slices.Sort(costs[i])
	}
	if costs[1][0] == 0 {
		return errors.New("the processor time of a start is too small to be measured here")
	}
	ratio := func(of func([]float64) float64) float64 { return of(costs[0]) / of(costs[1]) }
	least := func(all []float64) float64 { return all[0] }
	median := func(all []float64) float64 { return all[starts/2] }
	fmt.Printf("start-up: version, %d times in turn with a cobra hello-world\n%-12s %12s %14s %14s\n", starts, "program", "bytes", "least (ms)", "median (ms)")
	for i, name := range []string{"p20export", "hello-world"} {
		fmt.Printf("%-12s %12d %14.2f %14.2f\n", name, sizes[i], least(costs[i]), median(costs[i]))
	}
	fmt.Printf("%-12s %12.2f %14.2f %14.2f\n", "ratio", float64(sizes[0])/float64(sizes[1]), ratio(least), ratio(median))
	return nil
}
