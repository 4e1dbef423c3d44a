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

// Capture is an open capture: a directory, a plain file or a stream. It can be read
// once. It is not safe for concurrent use.
type Capture struct {
	name, path     string
	framing        Framing
	manifest       *Manifest // nil for a plain file
	manifestDigest digest.Digest

	response     *response // the stored bytes
	decoder      *decoder  // nil if the response has no content coding
	head         *head     // nil unless KeepHead was called
	splitter     *Splitter
	request      file        // nil if there is none
	arrivalsFile *hashReader // nil if there is none
	arrivals     *arrivals
	// codedArrivals has the reads of a response with a content coding.
	codedArrivals *arrivals

	requestLimit   int64 // maxRequestBytes, except in tests
	requestChecked bool
	findings       []finding.Finding
	begun          bool  // Next was called
	done           error // the error that Next returns from now on
	codingCut      bool
	closers        []io.Closer
}

// Name returns the name for output files: the base name of the path without its
// last extension, or "stdin" for standard input.
func (c *Capture) Name() string { return c.name }

// Path returns the path that was passed to Open.
func (c *Capture) Path() string { return c.path }

// Manifest returns the manifest, or nil for a plain file.
func (c *Capture) Manifest() *Manifest { return c.manifest }

// Labels returns the labels of the manifest, which the caller must not change. It is nil
// for a plain file, and not nil but empty for a manifest without labels.
func (c *Capture) Labels() map[string]string { return c.manifest.allLabels() }

// ManifestDigest returns the digest of the bytes of capture.json, or "" for a
// plain file.
func (c *Capture) ManifestDigest() digest.Digest { return c.manifestDigest }

// Framing returns the framing of the response.
func (c *Capture) Framing() Framing { return c.framing }

// Next returns the next frame, or io.EOF after the last. The frame is valid until the
// next call. Next returns io.EOF only after it has read every file that the manifest
// lists and has checked the sizes and digests.
//
// Instead of io.EOF, Next may return a finding: capture_digest_mismatch for a file
// whose size or digest does not match, or content_coding_damaged for a response
// that cannot be decoded. Other errors are from the file system. All later calls
// return the same error.
func (c *Capture) Next() (*Frame, error) {
	c.begun = true
	if c.done != nil {
		return nil, c.done
	}
	f, err := c.splitter.Next()
	if err == nil && c.arrivals != nil {
		f.Arrived, err = c.arrivals.at(f.End)
	}
	if err != nil {
		c.done = c.finish(err)
		return nil, c.done
	}
	return f, nil
}

// CodingCut reports whether Next returned content_coding_damaged only because the response
// ends within its content coding, and the manifest says that the response was cut off. Then
// all files match the manifest, and the frames are those that could be decoded completely.
func (c *Capture) CodingCut() bool { return c.codingCut }

// Begun reports whether Next was called.
func (c *Capture) Begun() bool { return c.begun }

// Digest returns the digest of the stored response. It is valid after io.EOF.
func (c *Capture) Digest() digest.Digest { return c.response.digest() }

// Bytes returns the size of the stored response. It is valid after io.EOF.
func (c *Capture) Bytes() int64 { return c.response.n }

// Compression returns gzip or zstd if the response begins like a compressed file
// but has no content coding, and "" otherwise. It is valid after the first Next.
func (c *Capture) Compression() string {
	if c.decoder != nil {
		return ""
	}
	return strictjson.DetectCompression(c.response.head)
}

// Findings returns the findings that do not cause the capture to be refused:
// event_incomplete, array_malformed, arrivals_malformed, capture_cut_short if the
// capture was closed before the end of the response, and http_status if the status
// was not 200. The list is complete after io.EOF.
func (c *Capture) Findings() []finding.Finding { return slices.Clone(c.findings) }

// Close closes the files. It does not close standard input or the reader of
// OpenReader.
func (c *Capture) Close() error {
	var errs []error
	if c.decoder != nil {
		c.decoder.Close()
	}
	if c.response != nil {
		c.response.close()
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

// read sets up c to read the response without decoding it.
func (c *Capture) read(r io.Reader) {
	c.response = newResponse(r)
	c.splitter = newSplitter(c.response, c.response, c.framing)
}

// readCoded sets up c to decode the response. Arrivals count encoded bytes, so the
// frames have no arrival times.
func (c *Capture) readCoded(r io.Reader, coding string) error {
	c.response = newResponse(r)
	d, err := decode(c.response.reader(), coding)
	if err != nil {
		return err
	}
	c.decoder = d
	c.splitter = newSplitter(d, d, c.framing)
	if c.arrivals != nil {
		c.arrivals, c.codedArrivals = nil, c.arrivals
		c.findings = append(c.findings, finding.New(finding.ArrivalsMalformed,
			"%s counts encoded bytes, so the events have no arrival times", ArrivalsName).
			WithSeverity(finding.Warning).WithHint(hint.GiveTimes))
	}
	return nil
}

// finish checks the capture after the last frame, or after an error of the content
// coding. If a file was changed, finish returns the finding about the change, not a
// finding that the change may have caused.
func (c *Capture) finish(err error) error {
	var damage *codingError
	if err != io.EOF && !errors.As(err, &damage) {
		c.response.join()
		return err
	}
	defer func() { finding.Sort(c.findings) }()
	c.findings = append(c.findings, c.splitter.Findings()...)
	if err := c.response.drain(); err != nil {
		return err
	}
	if c.manifest != nil {
		if c.addEndFindings() && c.splitter.index == 0 { // the body of an error response need not be an array of events
			c.findings = slices.DeleteFunc(c.findings, func(f finding.Finding) bool { return f.Code == finding.ArrayMalformed })
		}
		if err := c.verify(); err != nil {
			return err
		}
	}
	if damage != nil {
		c.codingCut = c.manifest != nil && c.manifest.End != EndEOF && errors.Is(damage, io.ErrUnexpectedEOF)
		return finding.New(finding.CodingDamaged, "the response can be decoded only up to byte %d: %s",
			c.splitter.here(), finding.Escape(reason(damage.err))).WithOffset(c.splitter.here())
	}
	return io.EOF
}

// addEndFindings adds the findings about the end of the response and its status. It
// reports whether the status was one of an error.
func (c *Capture) addEndFindings() (failed bool) {
	m := c.manifest
	if status := m.Source.Status; status != nil && *status != 200 {
		failed = true
		c.findings = append(c.findings, finding.New(finding.HTTPStatus, "the response has status %03d", *status).WithSeverity(finding.Warning).
			WithHint("see %s in the capture directory", m.Framing.FileName()))
	}
	if m.End == EndEOF {
		return failed
	}
	what := "the capture was closed before its response ended"
	switch m.End {
	case EndError:
		what = "the response broke off before its end"
	case EndStorage:
		what = "the rest of the response could not be stored"
	}
	c.findings = append(c.findings, finding.New(finding.CaptureCutShort, "%s (end: %s)", what, m.End))
	return failed
}

// verify compares every file with the manifest.
func (c *Capture) verify() error {
	files := &c.manifest.Files
	if err := compare(c.manifest.Framing.FileName(), c.manifest.Response(), c.response.n, c.response.digest()); err != nil {
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
	if c.codedArrivals != nil {
		if err := c.codedArrivals.finish(c.response.n); err != nil {
			return err
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

// hashReader counts and hashes the bytes that are read through it.
type hashReader struct {
	r    io.Reader
	n    int64
	hash hash.Hash
	eof  bool // r returned io.EOF
}

func newHashReader(r io.Reader) *hashReader { return &hashReader{r: r, hash: digest.Hash()} }

func (m *hashReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	m.hash.Write(p[:n])
	m.eof = m.eof || err == io.EOF
	return n, err
}

// drain reads to the end and discards the data.
func (m *hashReader) drain() error {
	if m.eof {
		return nil
	}
	_, err := io.Copy(io.Discard, m)
	return err
}

// compare compares the bytes read with the manifest's entry.
func (m *hashReader) compare(name string, want *File) error {
	return compare(name, want, m.n, digest.Sum(m.hash))
}

// compare compares the size and the digest of a file with the manifest's entry.
func compare(name string, want *File, n int64, sum digest.Digest) error {
	switch {
	case n != want.Bytes:
		return finding.New(finding.DigestMismatch, "%s has %d bytes, but the manifest says %d", name, n, want.Bytes)
	case sum != want.Digest:
		return finding.New(finding.DigestMismatch, "%s has the digest %s, but the manifest says %s", name, sum, want.Digest)
	}
	return nil
}
