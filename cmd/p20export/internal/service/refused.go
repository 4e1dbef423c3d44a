package service

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// RefusedSuffix is the suffix of the file, beside the directory for frozen files, in which a
// Freezer remembers the captures that it refused.
const RefusedSuffix = ".refused"

// maxRefusedBytes limits the file of refusals, which is read as a whole. It is enough for
// about 70,000 captures. A longer one is begun again.
const maxRefusedBytes = 16 << 20

// refusal is a line of the file of refusals.
type refusal struct {
	Capture string `json:"capture"`
	// State is the digest of the names, sizes and times of the files of the capture.
	State digest.Digest `json:"state"`
	// Settings is the digest of the settings and of the version of the program.
	Settings digest.Digest `json:"settings"`
	Code     finding.Code  `json:"code"`
}

// refusals are the captures that were refused with the same settings by the same program. It
// is no evidence: without the file, they are tried again. It is safe for concurrent use.
type refusals struct {
	store    *Store
	path     string
	settings digest.Digest
	log      *slog.Logger

	mu     sync.Mutex
	known  map[string]digest.Digest // the state by the name of the capture
	file   *os.File                 // nil until a refusal is added
	torn   bool                     // the last line of the file is incomplete
	failed bool                     // the log says that the file cannot be used
}

// newRefusals returns the refusals of a store and settings.
func newRefusals(store *Store, s freeze.Settings, log *slog.Logger) *refusals {
	r := &refusals{store: store, log: log, known: make(map[string]digest.Digest)}
	r.settings = digest.Of(fmt.Appendf(nil, "%+v %+v", s.Settings, s.Tool))
	dir, err := filepath.Abs(s.Dir)
	if err == nil {
		r.path = dir + RefusedSuffix
		err = r.read()
	}
	if err != nil {
		r.fail(err)
	}
	return r
}

// read reads the file, if there is one.
func (r *refusals) read() error {
	info, err := os.Lstat(r.path)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", r.path)
	case info.Size() > maxRefusedBytes:
		return os.Remove(r.path)
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		return err
	}
	r.torn = len(data) > 0 && data[len(data)-1] != '\n'
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var line refusal
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Settings == r.settings {
			r.known[line.Capture] = line.State
		}
	}
	return lines.Err()
}

// fail logs that the file cannot be used, and stops using it.
func (r *refusals) fail(err error) {
	r.failed = true
	r.log.Warn("refused captures cannot be remembered; the next start tries them again", "error", err)
}

// has reports whether a capture was refused and has not changed since.
func (r *refusals) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, ok := r.known[name]
	if !ok {
		return false
	}
	now, err := r.state(name)
	return err == nil && now == state
}

// state returns the digest of the names, sizes and times of the files of a capture.
func (r *refusals) state(name string) (digest.Digest, error) {
	dir, err := r.store.Root.Open(name)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return "", err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var text []byte
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return "", err
		}
		text = fmt.Appendf(text, "%q %v %d %d\n", e.Name(), info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	return digest.Of(text), nil
}

// add remembers a capture with the given rows if nothing of it could be frozen, for a reason
// that is in the capture.
func (r *refusals) add(rows []freeze.Row) {
	code, lasting := refusedFor(rows)
	if !lasting {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := filepath.Base(rows[0].Capture)
	state, err := r.state(name)
	if r.failed || err != nil {
		return
	}
	line, err := json.Marshal(refusal{name, state, r.settings, code})
	if err == nil && r.file == nil {
		r.file, err = os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err == nil {
		if r.torn {
			line = append([]byte{'\n'}, line...)
		}
		_, err = r.file.Write(append(line, '\n'))
		r.torn = err != nil
	}
	if err != nil {
		r.fail(err)
		return
	}
	r.known[name] = state
}

// close makes the file durable and closes it.
func (r *refusals) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return
	}
	_ = r.file.Sync() // without it, captures are tried again after a loss of power
	r.file.Close()
	r.file = nil
}

// passing are the reasons for which the same files can be frozen another time: a file of the
// capture may be replaced by the right one, and output may be moved away.
var passing = []finding.Code{
	finding.Interrupted, finding.IOFailed, finding.OutputExists,
	finding.CaptureUnfinished, finding.CaptureFileMissing, finding.CaptureFileLink, finding.DigestMismatch,
}

// refusedFor returns the first reason for which nothing of a capture was frozen, and whether
// the reasons last as long as the capture does not change.
func refusedFor(rows []freeze.Row) (code finding.Code, lasting bool) {
	for _, row := range rows {
		if row.Verdict != project.Refused {
			return "", false
		}
		for _, f := range row.Findings {
			if slices.Contains(passing, f.Code) {
				return "", false
			}
			if code == "" && f.Severity == finding.Error {
				code = f.Code
			}
		}
	}
	return code, code != ""
}
