package capture

import (
	"errors"
	"hash"
	"io"
	"os"
	"slices"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// Capture is an open capture: a directory, a plain file or a stream. It is read
// once, from its first frame to io.EOF, by one goroutine.
type Capture struct {
	name, path     string
	framing        Framing
	manifest       *Manifest // nil for a plain file
	manifestDigest digest.Digest

	response     *hashReader // the stored bytes
	decoder      *decoder    // nil when the response has no content coding
	splitter     *Splitter
	request      *os.File    // nil when there is none
	arrivalsFile *hashReader // nil when there is none
	arrivals     *arrivals

	requestLimit   int64 // of Request; maxRequestBytes outside tests
	requestChecked bool
	findings       []finding.Finding
	begun          bool  // Next was called
	done           error // what Next returns from now on
	closers        []io.Closer
}

// Name returns what outputs are called after: the base name less its last
// extension, and "stdin" for standard input.
func (c *Capture) Name() string { return c.name }

// Path returns the path as it was given to Open.
func (c *Capture) Path() string { return c.path }

// Manifest returns the manifest, or nil for a plain file.
func (c *Capture) Manifest() *Manifest { return c.manifest }

// ManifestDigest returns the digest of the bytes of capture.json, or "" for a
// plain file.
func (c *Capture) ManifestDigest() digest.Digest { return c.manifestDigest }

// Framing returns how the events lie in the response.
func (c *Capture) Framing() Framing { return c.framing }

// Next returns the next frame and io.EOF after the last, when every file the
// manifest lists has been read to its end and found to be the one listed.
//
// Instead of io.EOF it returns a finding: capture_digest_mismatch for a file of
// another size or digest, content_coding_damaged for a response that cannot be
// decoded. Any other error is of the file system. Errors are final.
func (c *Capture) Next() (Frame, error) {
	c.begun = true
	if c.done != nil {
		return Frame{}, c.done
	}
	f, err := c.splitter.Next()
	if err == nil && c.arrivals != nil {
		f.Arrived, err = c.arrivals.at(f.End)
	}
	if err != nil {
		c.done = c.finish(err)
		return Frame{}, c.done
	}
	return f, nil
}

// Begun reports whether Next was called: a capture is read once.
func (c *Capture) Begun() bool { return c.begun }

// Digest returns the digest of the stored response bytes; valid after io.EOF.
func (c *Capture) Digest() digest.Digest { return digest.Sum(c.response.hash) }

// Bytes returns the number of stored response bytes; valid after io.EOF.
func (c *Capture) Bytes() int64 { return c.response.n }

// Compression names the compression that the response begins as without a content
// coding that says so: gzip, zstd, or "" for none of them. It is valid once a frame
// was read.
func (c *Capture) Compression() string {
	if c.decoder != nil {
		return ""
	}
	return strictjson.DetectCompression(c.response.head)
}

// Findings returns what is known after io.EOF and is no reason to refuse the
// capture as a whole: event_incomplete and array_malformed of the framing,
// capture_cut_short when the capture was closed before the response ended,
// http_status when it was no answer with status 200, and arrivals_malformed.
func (c *Capture) Findings() []finding.Finding { return slices.Clone(c.findings) }

// Close closes the files. Standard input and a reader given to OpenReader stay open.
func (c *Capture) Close() error {
	var errs []error
	if c.decoder != nil {
		c.decoder.close()
	}
	for _, f := range c.closers {
		errs = append(errs, f.Close())
	}
	c.decoder, c.closers = nil, nil
	if c.done == nil {
		c.done = os.ErrClosed
	}
	return errors.Join(errs...)
}

// read makes the response be read as it is stored.
func (c *Capture) read(r io.Reader) {
	c.response = newHashReader(r)
	c.splitter = NewSplitter(c.response, c.framing)
}

// readCoded makes the response be decoded. Arrivals count coded bytes then, so
// they say nothing about frames.
func (c *Capture) readCoded(r io.Reader, coding string) error {
	c.response = newHashReader(r)
	d, err := decode(c.response, coding)
	if err != nil {
		return err
	}
	c.decoder = d
	c.splitter = NewSplitter(d, c.framing)
	if c.arrivals != nil {
		c.arrivals = nil
		c.findings = append(c.findings, finding.New(finding.ArrivalsMalformed,
			"%s counts bytes of the content coding, so no event has a time of arrival", ArrivalsName).
			WithSeverity(finding.Warning).WithHint(hint.GiveTimes))
	}
	return nil
}

// finish judges the capture after its last frame, or after the error that came
// instead. A changed file goes before what the change led to.
func (c *Capture) finish(err error) error {
	var damage *codingError
	if err != io.EOF && !errors.As(err, &damage) {
		return err
	}
	defer func() { finding.Sort(c.findings) }()
	c.findings = append(c.findings, c.splitter.Findings()...)
	if err := c.response.drain(); err != nil {
		return err
	}
	if m := c.manifest; m != nil {
		if status := m.Source.Status; status != nil && *status != 200 {
			answer := finding.New(finding.HTTPStatus, "the response is an answer with status %03d", *status).WithSeverity(finding.Warning).
				WithHint("see %s in the capture directory", m.Framing.FileName())
			if c.splitter.index == 0 { // an error's body is not expected to be an array of events
				c.findings = slices.DeleteFunc(c.findings, func(f finding.Finding) bool { return f.Code == finding.ArrayMalformed })
			}
			c.findings = append(c.findings, answer)
		}
		if m.End != EndEOF {
			what := "the capture was closed before its response ended"
			if m.End == EndError {
				what = "the response broke off before its end"
			}
			c.findings = append(c.findings, finding.New(finding.CaptureCutShort, "%s (end: %s)", what, m.End))
		}
		if err := c.verify(); err != nil {
			return err
		}
	}
	if damage != nil {
		return finding.New(finding.CodingDamaged, "the response can be decoded only up to byte %d: %s",
			c.splitter.here(), finding.Escape(reason(damage.err))).WithOffset(c.splitter.here())
	}
	return io.EOF
}

// verify holds every file against the manifest.
func (c *Capture) verify() error {
	files := &c.manifest.Files
	if err := c.response.compare(c.manifest.Framing.FileName(), c.manifest.Response()); err != nil {
		return err
	}
	if c.request != nil && !c.requestChecked {
		m := newHashReader(c.request)
		if err := m.drain(); err != nil {
			return err
		}
		if err := m.compare(RequestName, files.Request); err != nil {
			return err
		}
	}
	if c.arrivals != nil {
		if err := c.arrivals.finish(c.response.n); err != nil {
			return err
		}
		if c.arrivals.problem != nil {
			c.findings = append(c.findings, *c.arrivals.problem)
		}
	}
	if c.arrivalsFile != nil {
		if err := c.arrivalsFile.drain(); err != nil {
			return err
		}
		return c.arrivalsFile.compare(ArrivalsName, files.Arrivals)
	}
	return nil
}

// hashReader counts and hashes what is read through it.
type hashReader struct {
	r    io.Reader
	n    int64
	hash hash.Hash
	head []byte // the first bytes, up to maxHead
}

// maxHead is how many of the first bytes are kept: as many as tell a compression.
const maxHead = 4

func newHashReader(r io.Reader) *hashReader { return &hashReader{r: r, hash: digest.Hash()} }

func (m *hashReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	m.hash.Write(p[:n])
	if missing := maxHead - len(m.head); missing > 0 {
		m.head = append(m.head, p[:min(n, missing)]...)
	}
	return n, err
}

// drain reads to the end.
func (m *hashReader) drain() error {
	_, err := io.Copy(io.Discard, m)
	return err
}

// compare holds what was read against what the manifest lists.
func (m *hashReader) compare(name string, want *File) error {
	switch sum := digest.Sum(m.hash); {
	case m.n != want.Bytes:
		return finding.New(finding.DigestMismatch, "%s has %d bytes, its manifest says %d", name, m.n, want.Bytes)
	case sum != want.Digest:
		return finding.New(finding.DigestMismatch, "%s has the digest %s, its manifest says %s", name, sum, want.Digest)
	}
	return nil
}
