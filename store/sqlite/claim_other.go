//go:build !linux

package sqlite

// claim does nothing: this system has no locks that belong to an open file.
type claim struct{}

func claimFile(string, bool) (*claim, error) { return &claim{}, nil }
func (*claim) lead() error                   { return nil }
func (*claim) follow() error                 { return nil }
func (*claim) release() error                { return nil }
