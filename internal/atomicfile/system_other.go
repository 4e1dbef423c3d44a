//go:build !linux

package atomicfile

import (
	"errors"
	"os"
)

// openUnnamed and openLinkable fail: files without names are Linux's.
func openUnnamed(string) (*os.File, error)  { return nil, errors.ErrUnsupported }
func openLinkable(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// link is never called: there is no file without a name.
func link(*os.File, string) error { return errors.ErrUnsupported }

// renameNew fails: there are hard links.
func renameNew(string, string) error { return errors.ErrUnsupported }
