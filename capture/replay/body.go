package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
)

// body reads a recorded response as it arrived: each Read returns bytes of one recorded
// read, and not before its time. At the end, it compares the bytes with those that were
// verified.
type body struct {
	ctx      context.Context
	of       *recorded
	response io.Reader
	lines    *bufio.Scanner // of the arrivals; nil if there are no more
	timed    bool           // the response has arrivals, and a speed
	start    time.Time
	speed    float64

	n     int64 // bytes read
	until int64 // the bytes up to here have arrived
	hash  hash.Hash
	err   error
}

// open opens the response of a capture for a request that arrived at start. If ids are to
// be replaced, it decodes the response, replaces them with those of in, and reports that the
// response is altered.
func (c *recorded) open(ctx context.Context, start time.Time, speed float64, in *input) (r io.ReadCloser, altered bool, err error) {
	response, err := c.openFile(c.response)
	if err != nil {
		return nil, false, err
	}
	close := response.Close
	b := &body{ctx: ctx, of: c, response: response, start: start, speed: speed, until: math.MaxInt64, hash: digest.Hash()}
	if c.arrivals != "" {
		arrivals, err := c.openFile(c.arrivals)
		if err != nil {
			close()
			return nil, false, err
		}
		close = func() error { arrivals.Close(); return response.Close() }
		b.lines, b.until, b.timed = bufio.NewScanner(arrivals), 0, speed > 0
	}
	if len(c.ids) == 0 {
		return &reader{b, close}, false, nil
	}
	decoded := io.Reader(b)
	if c.coding != "" {
		d, err := c.decode(b)
		if err != nil {
			close()
			return nil, false, err
		}
		files := close
		close = func() error { d.Close(); return files() }
		decoded = d
	}
	return &reader{newEditor(decoded, c.ids, in), close}, true, nil
}

// decode returns a reader that undoes the content coding of a response. A response that
// broke off ends where it cannot be decoded any further.
func (c *recorded) decode(response io.Reader) (io.ReadCloser, error) {
	d, err := capture.Decode(response, c.coding)
	if err != nil || c.end == capture.EndEOF {
		return d, err
	}
	return &reader{brokenOff{d}, d.Close}, nil
}

// brokenOff ends where the reader ends too early.
type brokenOff struct{ io.Reader }

func (b brokenOff) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = io.EOF
	}
	return n, err
}

// reader combines a reader with the function that closes its files.
type reader struct {
	io.Reader
	close func() error
}

func (r *reader) Close() error { return r.close() }

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	for b.n == b.until && b.lines != nil {
		if b.err = b.nextLine(); b.err != nil {
			return 0, b.err
		}
	}
	n, err := b.response.Read(p[:min(int64(len(p)), b.until-b.n)])
	b.n += int64(n)
	b.hash.Write(p[:n])
	switch {
	case err == io.EOF:
		b.err = b.finish()
	case b.n > b.of.bytes:
		b.err = errChanged
	default:
		b.err = err
	}
	return n, b.err
}

// nextLine reads a line of the arrivals and waits for its time. A line that is not one,
// which the manifest can list too, ends the pauses.
func (b *body) nextLine() error {
	if b.lines.Scan() {
		first, second, _ := bytes.Cut(b.lines.Bytes(), []byte{'\t'})
		until, err1 := strconv.ParseInt(string(first), 10, 64)
		micros, err2 := strconv.ParseInt(string(second), 10, 64)
		if err1 == nil && err2 == nil && until > b.until && micros >= 0 && micros <= math.MaxInt64/int64(time.Microsecond) {
			b.until = until
			return b.wait(time.Duration(micros) * time.Microsecond)
		}
	}
	b.lines, b.until = nil, math.MaxInt64
	return nil
}

// wait waits until the duration has passed in the replay since the start.
func (b *body) wait(d time.Duration) error {
	if !b.timed {
		return context.Cause(b.ctx)
	}
	at := b.start.Add(time.Duration(min(float64(d)/b.speed, math.MaxInt64/2)))
	select {
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	case <-time.After(time.Until(at)):
		return nil
	}
}

var errChanged = fmt.Errorf("the capture was changed after it was loaded")

// finish compares the response with the one that was verified, and waits for its end.
func (b *body) finish() error {
	if b.n != b.of.bytes || digest.Sum(b.hash) != b.of.digest {
		return errChanged
	}
	if b.timed {
		if err := b.wait(b.of.ended); err != nil {
			return err
		}
	}
	return io.EOF
}
