//go:build !unix

package scenario

import "os/exec"

// setGroup leaves a process in this one's group; it is killed when its context
// ends.
func setGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
