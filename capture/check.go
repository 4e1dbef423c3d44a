package capture

import (
	"context"
	"io/fs"
	slashpath "path"

	"github.com/p20export/p20export/finding"
)

// Check compares every file of a capture directory with the manifest, and arrivals.tsv
// with the response and the manifest. It reads the response as bytes: it neither decodes
// it nor looks for events, so it can check any framing and content coding.
//
// The findings are arrivals_malformed, capture_cut_short and http_status. The error may be
// a finding of Open, or capture_digest_mismatch.
func Check(ctx context.Context, path string) ([]finding.Finding, error) {
	return check(ctx, onDisk(path))
}

// CheckFS is Check for a capture directory in a file system, as for OpenFS.
func CheckFS(ctx context.Context, fsys fs.FS, path string) ([]finding.Finding, error) {
	return check(ctx, inFS(fsys, slashpath.Clean(path)))
}

func check(ctx context.Context, from *files) ([]finding.Finding, error) {
	c, response, err := openFiles(from)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.response = newResponse(&contextReader{ctx, response})
	if err := c.response.drain(); err != nil {
		return nil, err
	}
	c.addEndFindings()
	if err := c.verify(); err != nil {
		return nil, err
	}
	finding.Sort(c.findings)
	return c.findings, nil
}
