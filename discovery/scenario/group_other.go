//go:build !unix

package scenario

import "os/exec"

// group is nothing where the system has no process groups: the server alone is
// killed, and only when its context ends.
type group struct{}

func newGroup() (*group, error) { return new(group), nil }

func (*group) add(*exec.Cmd) {}

func (*group) kill() {}

func (*group) end() {}
