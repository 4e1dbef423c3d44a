package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Stress runs the lanes that have to pass on a machine that is busy.
const (
	stressProcesses = 4
	stressTests     = 5
	stressRaces     = 2
)

// stress runs the lane of make test and the lane race several times, one after another,
// while other processes keep the processors busy.
func stress(ctx context.Context) error {
	race := lanes[0]
	if err := require(ctx, []lane{testLane, race}); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for range stressProcesses {
		cmd := exec.Command(self, "busy")
		// The process ends when this one does, however that ends.
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		defer cmd.Wait()
		defer func(in io.Closer) { in.Close() }(in)
	}
	fmt.Printf("%d processes keep the machine busy\n", stressProcesses)
	r := newRunner(os.Stdout)
	for i := range stressTests + stressRaces {
		if ctx.Err() != nil {
			break
		}
		if i < stressTests {
			r.run(ctx, testLane)
		} else {
			r.run(ctx, race)
		}
	}
	return r.close(false)
}
