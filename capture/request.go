package capture

import (
	"io"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// CheckRequest returns a finding request_malformed if body is not one JSON object
// (RFC 8259), as an AG-UI run input must be. It accepts duplicate keys.
func CheckRequest(body []byte) error {
	d := strictjson.NewDecoder(body)
	d.AllowDuplicates()
	value, err := d.Next()
	if err == nil {
		_, err = d.Skip(value)
	}
	if err == nil {
		_, err = d.Next()
	}
	var f finding.Finding
	switch fault, ok := finding.FromSyntax(err); {
	case ok:
		f = finding.New(finding.RequestMalformed, "the request is not JSON: %s", fault.Message).WithPointer(fault.Pointer)
		f.Offset = fault.Offset
	case value.Kind != strictjson.ObjectStart:
		f = finding.New(finding.RequestMalformed, "the request is %s, not an object", value.Kind)
	default:
		return nil
	}
	return f.WithHint("give an AG-UI run input, one JSON object")
}

// Request returns the content of request.json, or nil if the capture has none. It
// may return a finding: capture_digest_mismatch, or file_too_large if the file is
// larger than 64 MiB. Request may be called at any time before Close.
func (c *Capture) Request() ([]byte, error) {
	if c.request == nil {
		return nil, nil
	}
	m := newHashReader(io.NewSectionReader(c.request, 0, c.requestLimit+1))
	b, err := readSized(m, min(c.manifest.Files.Request.Bytes, bufferBytes))
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
