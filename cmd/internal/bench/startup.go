package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// starts is the number of times each program is started.
const starts = 300

// benchStartup compares the user and system time of the version command with that of a
// program that contains only cobra. The two programs run in turn, so that both are exposed
// to the same noise. They are run from copies, like installed programs, because a file
// just written by the linker takes longer to map. The goal is a ratio of at most 2.9;
// about 0.5 of it is the work that client_golang and protobuf do before main, and about as
// much that of the database packages.
func benchStartup(release, hello string) error {
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
	ratio := func(statistic func([]float64) float64) float64 { return statistic(costs[0]) / statistic(costs[1]) }
	minimum := func(all []float64) float64 { return all[0] }
	median := func(all []float64) float64 { return all[starts/2] }
	fmt.Printf("start-up: version, %d times in turn with a cobra hello-world\n%-12s %12s %14s %14s\n", starts, "program", "bytes", "minimum (ms)", "median (ms)")
	for i, name := range []string{"p20export", "hello-world"} {
		fmt.Printf("%-12s %12d %14.2f %14.2f\n", name, sizes[i], minimum(costs[i]), median(costs[i]))
	}
	fmt.Printf("%-12s %12.2f %14.2f %14.2f\n", "ratio", float64(sizes[0])/float64(sizes[1]), ratio(minimum), ratio(median))
	return nil
}
