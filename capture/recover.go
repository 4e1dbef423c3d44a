package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
)

// RecoveredFrom is a label of every capture that Recover wrote. Its value is the name of
// the unfinished capture.
const RecoveredFrom = "recovered-from"

// StreamLabel, ThreadLabel and TenantLabel are labels of captures whose events a program also
// appended to an event log. Their values are the id of the stream there, of the thread that has
// all of it, also if the events name another thread, and the tenant of that thread. A capture of
// the tenant without a name has no TenantLabel.
const (
	StreamLabel = "stream"
	ThreadLabel = "thread"
	TenantLabel = "tenant"
)

// Recovered describes what Recover did.
type Recovered struct {
	// Capture is the name of the new capture. It is "" if nothing had arrived that could
	// be kept, not even a complete description of the capture, or if CopyOf is set.
	Capture  string
	Manifest *Manifest     // of the new capture, or nil
	Digest   digest.Digest // of the new capture.json, or ""
	// Remainder is the name of the directory with the files that were set aside.
	Remainder string
	// Response is the number of bytes of the response in the new capture. Lost is the
	// number of bytes after them, whose times of arrival are not known, and of responses
	// in other framings than the claim names. Only the remainder has these.
	Response, Lost int64
	// CopyOf is the name of an unfinished capture in the same directory, if the
	// remainder is what an interrupted call copied of it, or "".
	CopyOf string
}

// ErrFinished is matched by errors of Recover and Hold for a capture that has a manifest.
var ErrFinished = errors.New("the capture is finished")

// Recover closes what arrived of the unfinished capture in the directory name of root. It
// writes a new capture beside it, named name-recovered, with the end EndError, the label
// RecoveredFrom, and the source, framing, start, request and other labels of the
// unfinished one. A long name is shortened. It keeps every byte of the response that has a time of arrival. The end
// is the time of the last byte. If times were not recorded, it keeps all bytes, and the
// end is the start.
//
// When the new capture is durable and was read back, Recover appends RemainderSuffix to
// the names of the unfinished files, so that the directory no longer looks like a capture.
// It deletes nothing. If Recover is interrupted, it can be called again: it then uses a
// new capture that is complete, and sets an incomplete one aside.
//
// An error matches ErrInUse if the capture is still being written, ErrFinished if it has
// a manifest, and errors.ErrUnsupported if the file system has no locks. It is a finding
// capture_unfinished if bytes arrived, but the claim does not say what was captured. No
// symbolic link is followed.
func Recover(ctx context.Context, root *os.Root, name string, tool Tool) (*Recovered, error) {
	r, err := openRemainder(root, name)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.measure(ctx); err != nil {
		return nil, err
	}
	of, err := r.copyOf(ctx, root)
	if err != nil {
		return nil, err
	}
	if of != "" {
		return &Recovered{Remainder: name, CopyOf: of}, r.setAside()
	}
	result := &Recovered{Remainder: name, Lost: r.lost}
	switch {
	case r.head == nil && r.kept.bytes+r.lost > 0:
		return nil, finding.New(finding.CaptureUnfinished, "%s cannot be recovered, because %s does not say what was captured: %s", finding.Quote(name), ClaimName, finding.Escape(r.headErr.Error())).
			WithHint("read the response file %s as it is, without times of arrival", r.response.Name())
	case r.head != nil:
		if err := r.recover(ctx, root, tool, result); err != nil {
			return nil, fmt.Errorf("%s: %w", r.dir.Name(), err)
		}
	}
	return result, r.setAside()
}

// recover makes the new capture, or finds the one that an earlier call made.
func (r *remainder) recover(ctx context.Context, root *os.Root, tool Tool, result *Recovered) error {
	want, err := r.manifest(ctx)
	if err != nil {
		return err
	}
	name, exists, err := r.target(ctx, root, want)
	if err != nil {
		return err
	}
	if !exists {
		if err := r.copy(ctx, root, name, tool); err != nil {
			return err
		}
	}
	if result.Manifest, result.Digest, err = checkCopy(ctx, root, name, want); err != nil {
		return err
	}
	result.Capture, result.Response = name, r.kept.bytes
	return nil
}

// checkCopy reads the new capture back, makes it durable, and returns its manifest and
// the digest of it.
func checkCopy(ctx context.Context, root *os.Root, name string, want *Manifest) (*Manifest, digest.Digest, error) {
	dir, err := openChild(root, name)
	if err != nil {
		return nil, "", err
	}
	defer dir.Close()
	got, sum, err := inRoot(dir).readManifest()
	if err == nil && !sameCapture(want, got) {
		err = fmt.Errorf("%s is not a copy of it", dir.Name())
	}
	if err == nil {
		_, err = check(ctx, inRoot(dir))
	}
	if err == nil {
		err = errors.Join(atomicfile.SyncRoot(dir), atomicfile.SyncRoot(root))
	}
	if err != nil {
		return nil, "", err
	}
	return got, sum, nil
}

// target returns a name for the new capture that is free. If an earlier call made the new
// capture, target returns its name and that it exists. It sets incomplete copies aside.
func (r *remainder) target(ctx context.Context, root *os.Root, want *Manifest) (name string, exists bool, err error) {
	for n := 1; ; n++ {
		suffix := recoveredSuffix
		if n > 1 {
			suffix += "-" + strconv.Itoa(n)
		}
		name = shorten(r.name, maxName-len(suffix)) + suffix
		info, err := lstat(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, false, nil
		case err != nil:
			return "", false, err
		case !info.IsDir():
			continue
		}
		if _, _, err := checkCopy(ctx, root, name, want); err == nil {
			return name, true, nil
		}
		if err := ctx.Err(); err != nil {
			return "", false, context.Cause(ctx)
		}
		if err := r.setAsideCopy(ctx, root, name); err != nil {
			return "", false, err
		}
	}
}

// recoveredSuffix follows the name of the unfinished capture in the name of the new one.
const recoveredSuffix = "-recovered"

// maxName is the maximum size of a file name in bytes, on most file systems.
const maxName = 255

// shorten returns the first limit bytes of a name, or fewer so as not to cut a character.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	for limit > 0 && !utf8.RuneStart(name[limit]) {
		limit--
	}
	return name[:limit]
}

// labels returns the labels of the new capture.
func (r *remainder) labels() map[string]string {
	labels := maps.Clone(r.head.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	labels[RecoveredFrom] = strings.ToValidUTF8(r.name, "\uFFFD")
	return labels
}

// manifest returns the manifest that the new capture must have, except for the tool.
func (r *remainder) manifest(ctx context.Context) (*Manifest, error) {
	m := *r.head
	m.End = EndError
	m.EndedAt = m.StartedAt.Add(r.kept.elapsed())
	m.FirstByteAt = time.Time{} // unknown, unless a byte with its time is kept
	if r.arrivals != nil && r.kept.bytes > 0 {
		m.FirstByteAt = m.StartedAt.Add(r.first.elapsed())
	}
	m.Labels = r.labels()
	m.Files = Files{}
	for _, part := range []struct {
		entry  **File
		reader io.Reader
	}{
		{m.Files.response(m.Framing), r.readResponse(ctx)},
		{&m.Files.Arrivals, r.readArrivals(ctx)},
		{&m.Files.Request, r.readRequest(ctx)},
	} {
		if part.reader == nil {
			continue
		}
		h := newHashReader(part.reader)
		if err := h.drain(); err != nil {
			return nil, err
		}
		*part.entry = &File{h.n, digest.Sum(h.hash)}
	}
	return &m, nil
}

// sameCapture reports whether two manifests are the same except for the tool.
func sameCapture(want, got *Manifest) bool {
	w := *want
	w.Tool = got.Tool
	a, err1 := w.Encode()
	b, err2 := got.Encode()
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}

// copy writes the new capture. If that fails, nothing of it is left.
func (r *remainder) copy(ctx context.Context, root *os.Root, name string, tool Tool) (err error) {
	w, err := CreateIn(root, name, Settings{
		Source: r.head.Source, Framing: r.head.Framing, StartedAt: r.head.StartedAt,
		Labels: r.labels(), Tool: tool, Arrivals: r.head.Files.Arrivals != nil,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort())
		}
	}()
	w.now = func() time.Time { return w.started.Add(r.kept.elapsed()) }
	if request := r.readRequest(ctx); request != nil {
		if w.manifest.Files.Request, err = w.dir.publish(RequestName, request); err != nil {
			return err
		}
	}
	if arrivals := r.readArrivals(ctx); arrivals != nil {
		if err := w.arrivals.copy(arrivals); err != nil {
			return err
		}
		if r.kept.bytes > 0 {
			w.manifest.FirstByteAt = w.time(r.first.micros)
		}
	}
	if err := w.response.copy(r.readResponse(ctx)); err != nil {
		return err
	}
	w.last = r.kept
	m, err := w.Close(EndError)
	if m == nil {
		err = errors.Join(err, root.RemoveAll(name))
	}
	return err
}
