package transfer

import (
	"context"
	"io"
	"os"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/internal/atomicfile"
)

// source is an input that can be read more than once. Standard input and pipes are copied
// to a file without a name.
type source struct {
	in   *inputs.Input
	file *os.File // nil for a capture directory and in an archive
	size int64
}

func openSource(ctx context.Context, in *inputs.Input) (*source, error) {
	s := &source{in: in}
	if !in.IsPath() {
		return s, nil
	}
	info, err := os.Stat(in.Path)
	switch {
	case in.Path == "-" || err == nil && !info.IsDir() && !info.Mode().IsRegular():
		s.file, err = spool(ctx, in.Path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return s, nil
	default:
		s.file, err = os.Open(in.Path)
	}
	if err != nil {
		return nil, err
	}
	if info, err = s.file.Stat(); err != nil {
		s.close()
		return nil, err
	}
	s.size = info.Size()
	return s, nil
}

// spool copies standard input or a pipe to a file without a name.
func spool(ctx context.Context, path string) (*os.File, error) {
	r, done, err := capture.OpenInput(ctx, path)
	if err != nil {
		return nil, err
	}
	defer done()
	f, err := atomicfile.CreateUnnamed("")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, atomicfile.WrapUnnamed("", err)
	}
	return f, nil
}

// open opens the input as a capture. It can be called more than once.
func (s *source) open(ctx context.Context) (*capture.Capture, error) {
	if s.file == nil {
		return s.in.Open(ctx)
	}
	return capture.OpenReader(s.reader(ctx), s.in.Name, "")
}

// reader reads the file from its beginning, until ctx is done.
func (s *source) reader(ctx context.Context) *contextReader {
	return &contextReader{ctx: ctx, r: io.NewSectionReader(s.file, 0, s.size)}
}

func (s *source) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// contextReader is a reader that fails when ctx is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
	err error // the last error, unless it was io.EOF
}

func (r *contextReader) Read(p []byte) (int, error) {
	n, err := 0, r.ctx.Err()
	if err == nil {
		n, err = r.r.Read(p)
	}
	if err != io.EOF {
		r.err = err
	}
	return n, err
}
