package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// bufferBytes is the size of reads, and so of writes to a client.
const bufferBytes = 64 << 10

// recorded is a capture that was verified.
type recorded struct {
	path     string
	response string // path of the response
	arrivals string // path of the arrivals, or ""
	linked   bool   // the path of the response may be a symbolic link
	framing  capture.Framing
	bytes    int64
	digest   digest.Digest
	coding   string // content coding, or ""
	started  time.Time
	ended    time.Duration // since started
	end      capture.End
	status   int
	header   http.Header
	request  *input // nil if the capture has none
	ids      []place
}

// add loads one capture. The error names it.
func (r *Replay) add(ctx context.Context, path string) error {
	c, err := load(ctx, path, r.settings)
	if f, ok := errors.AsType[finding.Finding](err); ok {
		f.Message = finding.Escape(path) + ": " + f.Message
		return f
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // has the path
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.all = append(r.all, c)
	return nil
}

// addAll loads the captures in a directory and sorts them.
func (r *Replay) addAll(ctx context.Context, dir string) error {
	var skipped error // the first
	for found, err := range capture.Search(ctx, dir) {
		if err != nil {
			return err
		}
		err := r.add(ctx, found.Path)
		reason := skipReason(err)
		if reason != "" {
			r.settings.Log.Warn("capture skipped", "capture", found.Path, "reason", reason)
			skipped = cmp.Or(skipped, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	if len(r.all) == 0 {
		return skipped
	}
	slices.SortStableFunc(r.all, func(a, b *recorded) int {
		return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.path, b.path))
	})
	return nil
}

// skipReason returns why a capture in a directory is skipped, or "" if it is not.
func skipReason(err error) string {
	if f, ok := errors.AsType[finding.Finding](err); ok && f.Code == finding.CaptureUnfinished {
		return "it is unfinished"
	}
	if ids, ok := errors.AsType[*idsError](err); ok {
		return ids.Error()
	}
	return ""
}

// load verifies a capture and returns what is needed to replay it.
func load(ctx context.Context, path string, s Settings) (*recorded, error) {
	if path == "-" {
		return nil, errors.New("standard input cannot be replayed, because it can be read only once; write it to a file")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := &recorded{path: path}
	if info.IsDir() {
		err = c.loadDir(ctx)
	} else {
		err = c.loadFile(ctx, info)
	}
	if err == nil && s.RequestIDs {
		c.ids, err = c.findIDs(ctx)
	}
	return c, err
}

// loadDir loads a capture directory.
func (c *recorded) loadDir(ctx context.Context) error {
	if _, err := capture.Check(ctx, c.path); err != nil {
		return err
	}
	b, err := capture.ReadFile(ctx, filepath.Join(c.path, capture.ManifestName), capture.MaxManifestBytes)
	if err != nil {
		return err
	}
	m, err := capture.DecodeManifest(b)
	if err != nil {
		return err
	}
	if m.Files.Request != nil {
		f, err := c.openFile(filepath.Join(c.path, capture.RequestName))
		if err != nil {
			return err
		}
		defer f.Close()
		body, err := io.ReadAll(io.LimitReader(f, MaxRequestBytes))
		if err != nil {
			return err
		}
		if c.request, err = readInput(body); err != nil {
			c.request = &input{} // the client of a proxy may have sent anything
		}
	}
	return c.describe(m)
}

// loadFile loads a response without a manifest.
func (c *recorded) loadFile(ctx context.Context, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file, so it can be read only once")
	}
	file, err := capture.Open(ctx, c.path, "")
	if err != nil {
		return err
	}
	defer file.Close()
	events := 0
	for ; err == nil; events++ {
		_, err = file.Next()
	}
	if err != io.EOF {
		return err
	}
	if events == 1 { // only the end
		return ErrNoEvents
	}
	c.response, c.linked, c.framing, c.end, c.status = c.path, true, file.Framing(), capture.EndEOF, http.StatusOK
	c.bytes, c.digest, c.started = file.Bytes(), file.Digest(), info.ModTime()
	c.header = http.Header{"Content-Type": {contentType(c.framing)}}
	return nil
}

// describe takes what a manifest says.
func (c *recorded) describe(m *capture.Manifest) error {
	c.response = filepath.Join(c.path, m.Framing.FileName())
	if m.Files.Arrivals != nil {
		c.arrivals = filepath.Join(c.path, capture.ArrivalsName)
	}
	response := m.Response()
	c.framing, c.bytes, c.digest = m.Framing, response.Bytes, response.Digest
	c.started, c.ended, c.end = m.StartedAt, m.EndedAt.Sub(m.StartedAt), m.End
	c.coding = m.Coding()
	c.status = http.StatusOK
	if m.Source.Status != nil {
		c.status = *m.Source.Status
	}
	if c.status < 200 {
		return fmt.Errorf("the status %03d cannot be replayed: a response ends with a status of 200 or more", c.status)
	}
	if (c.status == http.StatusNoContent || c.status == http.StatusNotModified) && c.bytes > 0 {
		return fmt.Errorf("the status %d cannot be replayed with a body", c.status)
	}
	c.header = make(http.Header)
	for _, name := range exchange.KeptHeaders {
		if value, ok := m.Source.Headers[name]; ok {
			c.header.Set(name, value)
		}
	}
	switch {
	case m.Source.ContentType != "":
		c.header.Set("Content-Type", m.Source.ContentType)
	case m.Source.Kind == capture.KindFile:
		c.header.Set("Content-Type", contentType(m.Framing))
	default:
		c.header["Content-Type"] = nil // as recorded; net/http would guess one
	}
	return nil
}

// contentType returns the content type of a response that was recorded without one.
func contentType(f capture.Framing) string {
	switch f {
	case capture.NDJSON:
		return "application/x-ndjson"
	case capture.JSON:
		return "application/json"
	}
	return exchange.EventStream
}

// openFile opens a file of a capture, which must be regular and not a symbolic link.
func (c *recorded) openFile(path string) (*os.File, error) {
	look := os.Lstat
	if c.linked {
		look = os.Stat
	}
	info, err := look(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Base(path))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", filepath.Base(path))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
