package capture

import (
	"io"

	"github.com/p20export/p20export/finding"
)

// Request returns the bytes of request.json, held against the manifest, or nil
// when the capture has none. Errors that are findings: capture_digest_mismatch,
// and file_too_large past 64 MiB. It must be called before Close, and does not
// depend on how far Next has come.
func (c *Capture) Request() ([]byte, error) {
	if c.request == nil {
		return nil, nil
	}
	m := newHashReader(io.NewSectionReader(c.request, 0, c.requestLimit+1))
	b, err := io.ReadAll(m)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > c.requestLimit {
		return nil, finding.New(finding.TooLarge, "%s has more than %d bytes", RequestName, c.requestLimit)
	}
	if err := m.compare(RequestName, c.manifest.Files.Request); err != nil {
		return nil, err
	}
	c.requestChecked = true
	return b, nil
}
