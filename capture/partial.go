package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
)

// setAsideCopy sets the directory name aside if it is an incomplete copy of r, and nobody
// is writing it. It leaves anything else.
func (r *remainder) setAsideCopy(ctx context.Context, root *os.Root, name string) error {
	c, err := openRemainder(root, name)
	if err != nil {
		return nil
	}
	defer c.close()
	if is, err := c.isCopyOf(ctx, r); !is || err != nil {
		return err
	}
	return c.setAside()
}

// copyOf returns the name of the unfinished capture in root that r is an incomplete copy
// of, or "".
func (r *remainder) copyOf(ctx context.Context, root *os.Root) (string, error) {
	if r.head == nil {
		return "", nil
	}
	name := r.head.Labels[RecoveredFrom]
	if name == "" || name == r.name {
		return "", nil
	}
	of, err := openRemainder(root, name)
	if err != nil {
		return "", nil // the label is only a text
	}
	defer of.close()
	if err := of.measure(ctx); err != nil {
		return "", err
	}
	if is, err := r.isCopyOf(ctx, of); !is || err != nil {
		return "", err
	}
	return name, nil
}

// isCopyOf reports whether r is an incomplete copy of the unfinished capture of, which has
// every byte that r has.
func (r *remainder) isCopyOf(ctx context.Context, of *remainder) (bool, error) {
	if r.head == nil || of.head == nil {
		return false, nil
	}
	want := *of.head
	want.Labels = of.labels()
	want.End, want.EndedAt, want.FirstByteAt, want.Files = r.head.End, r.head.EndedAt, r.head.FirstByteAt, r.head.Files
	if !sameCapture(&want, r.head) {
		return false, nil
	}
	var response, arrivals int64
	var err1, err2 error
	if r.response != nil {
		response, err1 = r.responseSize(ctx)
	}
	if r.arrivals != nil {
		arrivals, err2 = textSize(ctx, r.arrivals)
	}
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	for _, part := range []struct {
		file  *os.File
		size  int64
		whole io.Reader
	}{
		{r.response, response, of.readResponse(ctx)},
		{r.arrivals, arrivals, of.readArrivals(ctx)},
		{r.request, math.MaxInt64, of.readRequest(ctx)},
	} {
		if part.file == nil {
			continue
		}
		if part.whole == nil {
			return false, nil
		}
		if is, err := isPrefix(section(ctx, part.file, part.size), part.whole); !is || err != nil {
			return false, err
		}
	}
	return true, nil
}

// isPrefix reports whether b begins with all bytes of a.
func isPrefix(a, b io.Reader) (bool, error) {
	x, y := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, err := io.ReadFull(a, x)
		ended := err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return false, err
		}
		m, err := io.ReadFull(b, y[:n])
		if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		if !bytes.Equal(x[:n], y[:m]) || ended {
			return bytes.Equal(x[:n], y[:m]), nil
		}
	}
}
