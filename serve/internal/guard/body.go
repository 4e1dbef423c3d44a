package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"sync"
	"time"
)

// checkBody checks the media type and the size of the body of a POST request. A form in a page can send requests
// to any origin, but none with this media type (WHATWG Fetch §2.2.2).
func (g *Guard) checkBody(r *http.Request) *refusal {
	if r.Method != http.MethodPost {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch coding := r.Header.Get("Content-Encoding"); {
	case err != nil || mediaType != "application/json":
		return &refusal{http.StatusUnsupportedMediaType, MediaType, "the Content-Type is not application/json"}
	case coding != "" && coding != "identity":
		return &refusal{http.StatusUnsupportedMediaType, MediaType, "the body has a Content-Encoding"}
	case r.ContentLength > g.settings.MaxRequestBytes:
		return g.tooLarge()
	}
	return nil
}

func (g *Guard) tooLarge() *refusal {
	return &refusal{http.StatusRequestEntityTooLarge, BodyTooLarge, fmt.Sprintf("the body is larger than %d bytes", g.settings.MaxRequestBytes)}
}

// A body must arrive at bodyRate bytes a second at least. A client may take bodyTimeout
// longer.
const (
	bodyTimeout = 30 * time.Second
	bodyRate    = 16 << 10
)

// readBytes is the size of a read of a body.
const readBytes = 32 << 10

var errFull = errors.New("too many bodies are in memory")

// ReadBody reads the body of a request that Wrap accepted. If ok is false, the request was
// answered. The memory of the body counts until the end of the request, or as KeepBody says.
func (g *Guard) ReadBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	a := admitted(r.Context())
	body, err := a.read(w, r)
	if err == nil {
		return body, true
	}
	no := &refusal{http.StatusBadRequest, Malformed, "the body cannot be read"}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		no = g.tooLarge()
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		no = &refusal{http.StatusRequestTimeout, BodyTimeout, "the body did not arrive in time"}
	} else if errors.Is(err, errFull) {
		no = &refusal{http.StatusServiceUnavailable, Overloaded, "too many bodies are being read"}
	}
	g.refuse(w, r, no)
	return nil, false
}

// KeepBody makes the memory of the body count until release is called, in place of the end of
// the request. The context is that of the request.
func KeepBody(ctx context.Context) (release func()) {
	a := admitted(ctx)
	kept := &admission{guard: a.guard, tenant: a.tenant, bytes: a.bytes}
	a.bytes = 0
	return sync.OnceFunc(kept.release)
}

// read reads a body with limits.
func (a *admission) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	g, c := a.guard, http.NewResponseController(w)
	from := http.MaxBytesReader(w, r.Body, g.settings.MaxRequestBytes)
	began := time.Now()
	var body bytes.Buffer
	for {
		if !a.reserve(readBytes) {
			return nil, errFull
		}
		if err := c.SetReadDeadline(began.Add(bodyTimeout + time.Duration(body.Len())*time.Second/bodyRate)); err != nil {
			return nil, err
		}
		n, err := io.CopyN(&body, from, readBytes)
		a.give(readBytes - n)
		if err == io.EOF { // the server then reads from the connection to see when the client leaves
			return body.Bytes(), c.SetReadDeadline(time.Time{})
		}
		if err != nil {
			return nil, err
		}
	}
}

// reserve reserves memory for n bytes of a body, if there is any, and if the tenant leaves
// half of it to others.
func (a *admission) reserve(n int64) bool {
	g := a.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	most := g.settings.BodyBytes
	if g.authenticates() {
		most = max(most/2, g.settings.MaxRequestBytes)
	}
	if g.bodyBytes+n > g.settings.BodyBytes || g.bodies[a.tenant]+n > most {
		return false
	}
	g.bodyBytes += n
	g.bodies[a.tenant] += n
	a.bytes += n
	return true
}

// give gives back n bytes.
func (a *admission) give(n int64) {
	if n == 0 {
		return
	}
	g := a.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	a.bytes -= n
	g.bodyBytes -= n
	if g.bodies[a.tenant] -= n; g.bodies[a.tenant] == 0 {
		delete(g.bodies, a.tenant)
	}
}
