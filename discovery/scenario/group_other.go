//go:build !unix

package scenario

import "os/exec"

// group does nothing on systems without process groups. Only the server process is
// killed, when its context is done.
type group struct{}

func newGroup() (*group, error) { return new(group), nil }

func (*group) add(*exec.Cmd) {}

func (*group) kill() {}

func (*group) end() {}
