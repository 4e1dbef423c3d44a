package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// authenticate returns the tenant of a request, and its token if it needs one.
func (g *Guard) authenticate(w http.ResponseWriter, r *http.Request) (tenant string, used *token, no *refusal) {
	if !g.authenticates() {
		return g.settings.Tenant, nil, nil
	}
	if _, given := r.Header[TenantHeader]; given && g.trusts(r) {
		tenant = r.Header.Get(TenantHeader)
		err := checkTenant(tenant)
		if tenant == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			return "", nil, &refusal{http.StatusBadRequest, Malformed, "the header " + TenantHeader + " names no tenant: " + err.Error()}
		}
		return tenant, nil, nil
	}
	if tenant, used, ok := g.checkTicket(r); ok {
		return tenant, used, nil
	}
	no = &refusal{http.StatusUnauthorized, Unauthorized, "the request has no token that is known"}
	if g.tokens == nil {
		no.detail = "the request has no header " + TenantHeader + ", or is not from a trusted proxy"
	}
	challenge := `Bearer realm="p20export"`
	if g.tokens != nil {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken {
			if used := g.tokens.find(token); used != nil {
				return used.tenant, used, nil
			}
			challenge += `, error="invalid_token"`
		}
	}
	w.Header().Set("WWW-Authenticate", challenge)
	return "", nil, no
}

// checkTenant returns an error if a log cannot have the tenant.
func checkTenant(tenant string) error {
	switch {
	case len(tenant) > MaxTenantBytes:
		return fmt.Errorf("the tenant has more than %d bytes", MaxTenantBytes)
	case !utf8.ValidString(tenant) || strings.ContainsFunc(tenant, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("the tenant has control characters or is not UTF-8")
	}
	return nil
}

const (
	// maxToken limits the bytes of a token.
	maxToken = 4096
	// maxTokenFile limits the bytes of a token file, which is kept in memory.
	maxTokenFile = 1 << 20
	// rereadAfter is the time after which the token file is read again.
	rereadAfter = time.Second
)

// token is a line of a token file.
type token struct {
	tenant string
	hash   [sha256.Size]byte
	append bool // it has the scope to append events
}

// scopeAppend is the scope of a token that may append events, and ScopeHeader the header in which
// a trusted proxy gives it to a request.
const (
	scopeAppend = "append"
	ScopeHeader = "P20export-Scope"
)

// MayAppend reports whether a request that Wrap accepted may append events: it has a token with
// that scope, it has that scope from a trusted proxy, or nobody has to prove anything.
func MayAppend(ctx context.Context) bool { return admitted(ctx).append }

// mayAppend reports whether a request that was authenticated with a token, or otherwise, may
// append events.
func (g *Guard) mayAppend(r *http.Request, used *token) bool {
	switch {
	case !g.authenticates():
		return true
	case used != nil:
		return used.append
	}
	return g.trusts(r) && r.Header.Get(ScopeHeader) == scopeAppend
}

// tokenFile has the tokens of a file, which it reads again when they are used.
type tokenFile struct {
	path   string
	log    *slog.Logger
	tokens atomic.Pointer[[]token]

	mu   sync.Mutex // held while the file is read
	read time.Time
	text []byte // of the tokens
	err  string // of the last read, or ""
}

// openTokens reads a token file.
func openTokens(path string, log *slog.Logger) (*tokenFile, error) {
	f := &tokenFile{path: path, log: log, read: time.Now()}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// find returns the line of a token, or nil. The time that it takes does not depend on the
// token.
func (f *tokenFile) find(text string) *token {
	f.refresh()
	hash := sha256.Sum256([]byte(text))
	tokens, found := *f.tokens.Load(), -1
	for i := range tokens {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], tokens[i].hash[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return &tokens[found]
}

// refresh reads the file again, unless it was read a moment ago or is being read. If it
// cannot be used, the tokens stay as they are.
func (f *tokenFile) refresh() {
	if !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	if time.Since(f.read) < rereadAfter {
		return
	}
	f.read = time.Now()
	text := ""
	if err := f.load(); err != nil {
		text = err.Error()
		if text != f.err {
			f.log.Error("the token file cannot be used; the tokens that were read before are still valid", "error", err)
		}
	}
	f.err = text
}

// load reads the file. If its content has changed, it replaces the tokens.
func (f *tokenFile) load() error {
	text, mode, err := readTokens(f.path)
	if err != nil {
		return err
	}
	if f.tokens.Load() != nil && bytes.Equal(text, f.text) {
		return nil
	}
	tokens, err := parseTokens(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if mode&0o004 != 0 && runtime.GOOS != "windows" {
		f.log.Warn("everybody on this machine can read the token file: run chmod o-r on it, because short tokens can be guessed from their hashes", "path", f.path)
	}
	f.tokens.Store(&tokens)
	f.text = text
	f.log.Info("the tokens were read", "path", f.path, "tokens", len(tokens))
	return nil
}

// readTokens reads a regular file that only its owner can change.
func readTokens(path string) ([]byte, os.FileMode, error) {
	info, err := os.Stat(path) // opening a pipe could wait for ever
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, 0, err
	}
	if info.Mode()&0o022 != 0 && runtime.GOOS != "windows" {
		return nil, 0, fmt.Errorf("users other than its owner can change %s: run chmod go-w on it", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxTokenFile+1))
	if err == nil && len(text) > maxTokenFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxTokenFile)
	}
	return text, info.Mode(), err
}

// parseTokens parses the content of a token file, which may begin with a byte order mark.
// Errors name the line, and never have its text.
func parseTokens(text []byte) ([]token, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var tokens []token
	seen := map[[sha256.Size]byte]int{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if first, known := seen[t.hash]; known {
			return nil, fmt.Errorf("line %d: the hash is that of line %d", number, first)
		}
		seen[t.hash] = number
		tokens = append(tokens, t)
	}
	if len(tokens) == 0 {
		return nil, errors.New("it has no token; a line is TENANT sha256:HEX")
	}
	return tokens, nil
}

// parseToken parses a line: a tenant, which may be in quotation marks, a hash, and perhaps a
// scope.
func parseToken(line string) (t token, err error) {
	at := strings.LastIndexAny(line, " \t")
	if at >= 0 && line[at+1:] == scopeAppend {
		t.append, line = true, strings.TrimRight(line[:at], " \t")
		at = strings.LastIndexAny(line, " \t")
	}
	if at < 0 {
		return t, errors.New("it is not TENANT sha256:HEX")
	}
	t.tenant = strings.TrimRight(line[:at], " \t")
	if strings.HasPrefix(t.tenant, `"`) {
		if t.tenant, err = strconv.Unquote(t.tenant); err != nil {
			return t, errors.New("the tenant in quotation marks is not a string")
		}
	} else if strings.ContainsAny(t.tenant, " \t") {
		return t, errors.New("a tenant with spaces must be in quotation marks")
	}
	if err := checkTenant(t.tenant); err != nil {
		return t, err
	}
	digits, ok := strings.CutPrefix(line[at+1:], "sha256:")
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != sha256.Size {
		return t, errors.New("the hash is not sha256: and 64 hexadecimal digits")
	}
	copy(t.hash[:], hash)
	return t, nil
}
