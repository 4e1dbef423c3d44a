package assay

import (
	"bufio"
	"fmt"
	"io"
)

// Limits bound what Verify reads. Each is inclusive.
type Limits struct {
	Bundle   int64 // bytes of the file
	Decoded  int64 // decompressed bytes
	Manifest int64 // bytes of manifest.json
	Events   int64 // bytes of events.ndjson
	Lines    int   // lines of events.ndjson
	Line     int   // bytes of a line, without its line feed
	Depth    int   // nesting of arrays and objects, including the outermost; at most 64
}

// DefaultLimits returns the limits of the reference verifier
// (bundle/writer_next/limits.rs).
func DefaultLimits() Limits {
	return Limits{
		Bundle: 100 << 20, Decoded: 1 << 30, Manifest: 10 << 20, Events: 500 << 20,
		Lines: 100_000, Line: 1 << 20, Depth: 64,
	}
}

// Options configure the verification. The zero value selects the behavior of the
// reference verifier.
type Options struct {
	Limits Limits // the zero value means DefaultLimits
	Strict bool   // collect deviations
	// Entry, if not nil, is called for each event in order. At that time, the rest of
	// the bundle has not been verified. If Entry returns an error, verification stops.
	Entry func(Entry) error
}

// Verified describes a verified bundle.
type Verified struct {
	Manifest    Manifest
	Events      int
	RunRoot     string // computed
	EventsBytes int64
	BundleBytes int64
	// Deviations are the first 100 deviations if Options.Strict is set.
	Deviations         []Deviation
	UnlistedDeviations int // number of deviations that are not listed
}

// Verify reads one bundle to its end and verifies its integrity, with the limits and
// the verdicts of the reference verifier (crate assay-evidence 6.21.0, verify_bundle).
// It does not verify that the data of the events is true. If the bundle is refused,
// the error is a *Refusal. Any other error is from the reader or from Options.Entry.
// Memory is bounded by the size of a line and of the manifest.
func Verify(r io.Reader, o Options) (*Verified, error) {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	src := &source{r: r, limit: o.Limits.Bundle}
	v := &verifier{Options: o}
	refusal, err := v.bundle(bufio.NewReaderSize(src, 64<<10))
	if err != nil {
		return nil, err
	}
	// The reference reads the whole file first, so the size of the file takes
	// precedence over other faults.
	if _, err := io.Copy(io.Discard, src); src.err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if src.over() {
		refusal = refuse(limitBundle, "Bundle source: exceeded source bytes limit of %d", src.limit)
	}
	if refusal != nil {
		return nil, refusal
	}
	v.verified.BundleBytes = src.n
	return &v.verified, nil
}
