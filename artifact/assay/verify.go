package assay

import (
	"bufio"
	"fmt"
	"io"
)

// Limits bound what Verify reads. Each is inclusive.
type Limits struct {
	Bundle   int64 // bytes of the file
	Decoded  int64 // bytes inside its gzip member
	Manifest int64 // bytes of manifest.json
	Events   int64 // bytes of events.ndjson
	Lines    int   // of events.ndjson
	Line     int   // bytes of a line, its line feed not counted
	Depth    int   // arrays and objects open at once, a line's own among them; at most 64
}

// DefaultLimits are the reference verifier's (bundle/writer_next/limits.rs).
func DefaultLimits() Limits {
	return Limits{
		Bundle: 100 << 20, Decoded: 1 << 30, Manifest: 10 << 20, Events: 500 << 20,
		Lines: 100_000, Line: 1 << 20, Depth: 64,
	}
}

// Options says how to verify. The zero value is the reference's way.
type Options struct {
	Limits Limits // the zero value stands for DefaultLimits
	Strict bool   // collect deviations
	// Entry, if not nil, gets each event in order before the bundle as a whole
	// is known to hold. Its error ends the verification.
	Entry func(Entry) error
}

// Verified is what a bundle that holds says.
type Verified struct {
	Manifest    Manifest
	Events      int
	RunRoot     string // computed
	EventsBytes int64
	BundleBytes int64
	// Deviations are what Options.Strict asks for, the first 100 of them.
	Deviations         []Deviation
	UnlistedDeviations int // how many there are besides
}

// Verify reads one bundle to its end and checks that it holds, with the limits
// and the verdicts of the reference verifier: crate assay-evidence 6.21.0,
// verify_bundle. That its integrity holds says nothing of what the events
// claim. The error is a *Refusal when the bundle is refused; any other is of
// the reader or of Options.Entry. Memory is bounded by a line and the manifest.
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
	// The reference reads the whole file first, so its size decides first.
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
