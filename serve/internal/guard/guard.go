// Package guard decides which requests a server accepts: from which hosts and pages, for
// which tenant, with which bodies, and how many at a time.
//
// A page in a browser can send requests to an address that only its user can reach, such as
// that of loopback. The checks of Host, Origin and Content-Type stop pages of other origins.
// The package knows HTTP. It must not know threads or runs.
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/internal/hostcheck"
)

// Settings are the settings of a Guard. Zero values of limits mean the defaults.
type Settings struct {
	// TokenFile is a file with a tenant and the hash of a token on each line. If it is
	// empty, there are no tokens.
	TokenFile string
	// TrustedProxies are the addresses whose TenantHeader counts.
	TrustedProxies []netip.Prefix
	// Tenant is the tenant of everybody if there are neither tokens nor trusted proxies.
	Tenant string
	// AllowedHosts are names that the Host header may have in addition to those of
	// loopback.
	AllowedHosts []string
	// AllowRemote accepts more hosts if AllowedHosts has no names: all of them if
	// requests need a token or come through a trusted proxy, and otherwise IP addresses.
	AllowRemote bool
	// AllowedOrigins are the origins of pages that may send requests and read responses,
	// in the form that browsers send.
	AllowedOrigins []string
	// MaxRequestBytes limits a body.
	MaxRequestBytes int64
	// BodyBytes limits the memory of all bodies of requests that are being served. If there
	// are several tenants, one may have half of it, or one body of MaxRequestBytes.
	BodyBytes int64
	// MaxReaders limits the number of open readers, and MaxTenantReaders those of one
	// tenant. If MaxTenantReaders is zero, a tenant may have all of them, or half if there
	// are several tenants.
	MaxReaders, MaxTenantReaders int
	// TicketKey authenticates tickets. Servers with the same key accept each other's. If it
	// is empty, the Guard makes one.
	TicketKey []byte
	// TicketTTL is the time for which a ticket can be used.
	TicketTTL time.Duration
	// TicketThread returns the thread that a request reads, if a ticket is enough for it.
	TicketThread func(*http.Request) (thread string, ok bool)
	// Logger receives messages about the token file. Nil means none.
	Logger *slog.Logger
	// Refuse answers a request that is refused. It must keep the headers that are set.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, code Code, detail string)
}

// The default limits.
const (
	DefaultMaxRequestBytes = 64 << 20
	DefaultBodyBytes       = 256 << 20
	DefaultMaxReaders      = 10_000
)

// ErrTokens reports that the token file cannot be used.
var ErrTokens = errors.New("the token file cannot be used")

// TenantHeader is the header in which a trusted proxy names the tenant.
const TenantHeader = "P20export-Tenant"

// MaxTenantBytes limits the size of a tenant.
const MaxTenantBytes = 1024

// Code is the reason why a request is refused.
type Code string

// The codes.
const (
	Malformed    Code = "malformed_request"
	Unauthorized Code = "unauthorized"
	Origin       Code = "origin_not_allowed"
	Host         Code = "host_not_allowed"
	MediaType    Code = "unsupported_media_type"
	BodyTooLarge Code = "body_too_large"
	BodyTimeout  Code = "body_timeout"
	Overloaded   Code = "overloaded"
)

// Guard checks requests. It is safe for concurrent use.
type Guard struct {
	settings Settings
	tokens   *tokenFile // nil if there are no tokens
	bearers  *bearers   // of the tokens

	mu        sync.Mutex
	readers   map[string]int // by tenant
	reading   int
	bodies    map[string]int64 // bytes by tenant
	bodyBytes int64            // of all tenants
}

// New returns a Guard. It reads the token file, and returns an error that matches ErrTokens
// if that fails.
func New(s Settings) (*Guard, error) {
	if s.MaxRequestBytes < 0 || s.BodyBytes < 0 || s.MaxReaders < 0 || s.MaxTenantReaders < 0 {
		return nil, errors.New("a limit is negative")
	}
	if s.TicketTTL < 0 || len(s.TicketKey) > 0 && len(s.TicketKey) < MinTicketKey {
		return nil, fmt.Errorf("tickets have a negative time, or their key has less than %d bytes", MinTicketKey)
	}
	for _, origin := range s.AllowedOrigins {
		if origin == "*" || origin == "null" {
			return nil, fmt.Errorf("the origin %q is that of many pages; name each origin", origin)
		}
	}
	s.normalize()
	g := &Guard{settings: s, readers: map[string]int{}, bodies: map[string]int64{}}
	if s.TokenFile != "" {
		var err error
		if g.tokens, err = openTokens(s.TokenFile, s.Logger); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTokens, err)
		}
		g.bearers = &bearers{file: g.tokens, open: map[*bearer]struct{}{}}
	}
	if s.AllowRemote && !g.authenticates() {
		s.Logger.Warn("other machines may connect, and requests need no token: everybody can read all threads and start runs")
	}
	return g, nil
}

// normalize replaces zero values with the defaults.
func (s *Settings) normalize() {
	if s.MaxRequestBytes == 0 {
		s.MaxRequestBytes = DefaultMaxRequestBytes
	}
	if s.BodyBytes == 0 {
		s.BodyBytes = DefaultBodyBytes
	}
	s.BodyBytes = max(s.BodyBytes, s.MaxRequestBytes)
	if s.MaxReaders == 0 {
		s.MaxReaders = DefaultMaxReaders
	}
	if s.MaxTenantReaders == 0 {
		s.MaxTenantReaders = s.MaxReaders
		if s.TokenFile != "" || len(s.TrustedProxies) > 0 {
			s.MaxTenantReaders = max(s.MaxReaders/2, 1)
		}
	}
	if s.TicketTTL == 0 {
		s.TicketTTL = DefaultTicketTTL
	}
	if len(s.TicketKey) == 0 {
		s.TicketKey = newTicketKey()
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Refuse == nil {
		s.Refuse = func(w http.ResponseWriter, r *http.Request, status int, code Code, detail string) {
			http.Error(w, string(code)+": "+detail, status)
		}
	}
}

// authenticates reports whether a request must prove its tenant.
func (g *Guard) authenticates() bool {
	return g.tokens != nil || len(g.settings.TrustedProxies) > 0
}

// Wrap returns a handler that passes the requests that are accepted to h. Their context has
// the tenant. It answers preflight requests of browsers itself. If the token of a request is
// removed from the token file, its context ends, and its response breaks off.
func (g *Guard) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.ContentLength != 0 { // the server reads the rest of a body before it answers
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		if len(r.TransferEncoding) > 0 { // net/http hides that there may be a Content-Length too (RFC 9112 §6.1)
			w.Header().Set("Connection", "close")
		}
		done, no := g.checkPage(w, r)
		if done {
			return
		}
		var tenant string
		var used *token
		if no == nil {
			tenant, used, no = g.authenticate(w, r)
		}
		if no == nil {
			no = g.checkBody(r)
		}
		if no != nil {
			g.refuse(w, r, no)
			return
		}
		a := &admission{guard: g, tenant: tenant, used: used, append: g.mayAppend(r, used)}
		defer a.release()
		ctx := context.WithValue(r.Context(), admissionKey{}, a)
		if used != nil {
			var leave func()
			ctx, leave = g.bearers.add(ctx, used.hash)
			defer leave()
		}
		r = r.WithContext(ctx)
		r.Header = r.Header.Clone()
		r.Header.Del(TenantHeader)
		r.Header.Del(ScopeHeader)
		if g.tokens != nil {
			r.Header.Del("Authorization")
		}
		h.ServeHTTP(w, r)
		if errors.Is(context.Cause(ctx), errRevoked) {
			panic(http.ErrAbortHandler) // the client must not take the end for that of a stream
		}
	})
}

// CheckHost returns a handler for another address of the program, such as that of metrics.
// It refuses the hosts that g refuses. If other machines may connect, it also accepts
// addresses, which monitoring often uses.
func (g *Guard) CheckHost(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.serves(r.Host) && !(g.settings.AllowRemote && hostcheck.IsAddress(r.Host)) {
			g.refuse(w, r, g.hostRefused())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// admission is a request that was accepted.
type admission struct {
	guard  *Guard
	tenant string
	used   *token // nil if the request needed none
	append bool   // see MayAppend
	bytes  int64  // of the body, which count
}

type admissionKey struct{}

func admitted(ctx context.Context) *admission { return ctx.Value(admissionKey{}).(*admission) }

// release gives back the memory of the body.
func (a *admission) release() { a.give(a.bytes) }

// Tenant returns the tenant of a request that Wrap accepted. Its context is ctx.
func Tenant(ctx context.Context) string {
	return admitted(ctx).tenant
}

// Reader counts a reader of a tenant, unless there are too many. The context is that of the
// request. The caller must call leave at the end.
func (g *Guard) Reader(ctx context.Context) (leave func(), ok bool) {
	tenant := Tenant(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reading >= g.settings.MaxReaders || g.readers[tenant] >= g.settings.MaxTenantReaders {
		return nil, false
	}
	g.reading++
	g.readers[tenant]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.reading--
		if g.readers[tenant]--; g.readers[tenant] == 0 {
			delete(g.readers, tenant)
		}
	}), true
}

// refusal says why a request is refused.
type refusal struct {
	status int
	code   Code
	detail string
}

// linger is the time for which a client may send the rest of its request before the response.
// If the server closed the connection at once, a client that is still sending could lose the
// response.
const linger = 500 * time.Millisecond

// refuse answers a request that is refused. The connection ends, because the body is not
// read.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
	}
	if no.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	g.settings.Refuse(w, r, no.status, no.code, no.detail)
}

// repeated returns the name of a header that occurs more than once although programs on the
// way could take different ones of its values, or "".
func repeated(h http.Header) string {
	names := []string{"Authorization", "Content-Type", "Content-Encoding", "Last-Event-Id", "Origin", "Sec-Fetch-Site", TenantHeader, ScopeHeader}
	i := slices.IndexFunc(names, func(name string) bool { return len(h[http.CanonicalHeaderKey(name)]) > 1 })
	if i < 0 {
		return ""
	}
	return names[i]
}
