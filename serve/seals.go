package serve

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// checkpoint serves GET /threads/{thread}/checkpoint: the last seal of a thread, as the log has
// it. A deleted thread keeps its last one.
func (s *Server) checkpoint(q *request) {
	t, err := s.settings.Log.Thread(q.Context(), q.key())
	if err == nil && t.Sealed == 0 && !t.DeletedAt.IsZero() {
		err = store.ErrDeleted
	}
	if err != nil {
		s.fail(q, err)
		return
	}
	for sealed, err := range s.settings.Log.Seals(q.Context(), q.key(), max(t.Sealed, 1)-1) {
		if err != nil {
			s.fail(q, err)
			return
		}
		s.sendText(q, "text/plain; charset=utf-8", sealed.Checkpoint)
		return
	}
	s.refuse(q, NotSealed, "the thread has no seal")
}

// sendText answers with a text that a client can keep with its ETag.
func (s *Server) sendText(q *request, mediaType string, text []byte) {
	tag := `"` + string(digest.Of(text)) + `"`
	h := q.w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache") // a cache asks each time, with the tag
	if matches(q.Header, tag) {
		q.w.WriteHeader(http.StatusNotModified)
		return
	}
	s.writeText(q, http.StatusOK, mediaType, text)
}

const (
	// maxProved limits the entries from the first to the last of a run that is proved, and
	// maxProvedBytes the size of its events. It bounds memory.
	maxProved      = 100_000
	maxProvedBytes = 32 << 20
)

// proof serves GET /threads/{thread}/proof: the proof of the entry at a position, or of the
// last run with an id.
func (s *Server) proof(q *request) {
	at, run := q.query.Get("at"), q.query.Get("run")
	position, err := strconv.ParseInt(at, 10, 64)
	if (at == "") == (run == "") || at != "" && (err != nil || position < 1) {
		s.refuse(q, InvalidQuery, "give either at, which is a position from 1, or run, which is a run id")
		return
	}
	s.build(q, s.proofs, func() (string, []byte, bool) {
		prove, mediaType := func() (*seal.Proof, error) { return s.proveEntry(q, position) }, "text/plain; charset=utf-8"
		if run != "" {
			prove, mediaType = func() (*seal.Proof, error) { return s.proveRun(q, run) }, "application/json"
		}
		p, err := prove()
		if err == nil {
			var text []byte
			if text, err = p.Encode(); err == nil {
				return mediaType, text, true
			}
		}
		s.fail(q, err)
		return "", nil, false
	})
}

// The errors of proofs that are no findings.
var (
	errPosition = errors.New("the thread has no such position")
	errRunSize  = errors.New("the run is too large for one answer")
	errNoRun    = errors.New("the thread has no run with this id")
)

// proveEntry returns the proof of an entry.
func (s *Server) proveEntry(q *request, position int64) (*seal.Proof, error) {
	t, err := s.settings.Log.Thread(q.Context(), q.key())
	if err == nil && t.DeletedAt.IsZero() && position > t.Last {
		err = fmt.Errorf("%w: it ends at position %d", errPosition, t.Last)
	}
	if err != nil {
		return nil, err
	}
	return seal.Prove(q.Context(), s.settings.Log, q.key(), position, nil)
}

// proveRun returns the proof of the last run with an id.
func (s *Server) proveRun(q *request, id string) (*seal.Proof, error) {
	key := q.key()
	t, err := s.settings.Log.Thread(q.Context(), key)
	if err == nil && !t.DeletedAt.IsZero() {
		err = store.ErrDeleted
	}
	if err != nil {
		return nil, err
	}
	var run *store.Run
	for r, err := range s.settings.Log.Runs(q.Context(), store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread, ID: &id}) {
		if err != nil {
			return nil, err
		}
		run = &r
	}
	if run == nil {
		return nil, errNoRun
	}
	first := run.Start
	if run.Input > 0 {
		first = min(first, run.Input)
	}
	if run.Bytes > maxProvedBytes || run.Last-first >= maxProved {
		return nil, errRunSize
	}
	return seal.ProveRun(q.Context(), s.settings.Log, key, run, nil)
}

// refusalOfSeal returns the refusal for a finding about seals, and whether it is one.
func refusalOfSeal(err error) (Refusal, bool) {
	found, ok := errors.AsType[finding.Finding](err)
	switch {
	case !ok:
	case found.Code == finding.SealMissing:
		return NotSealed, true
	case found.Code == finding.ThreadRewritten, found.Code == finding.ThreadCutOff, found.Code == finding.SealMalformed:
		return ThreadRewritten, true
	}
	return "", false
}
