package guard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"time"
)

// A ticket lets whoever has it read one thread for some minutes. It is for clients that cannot
// send headers, such as EventSource in browsers, and is a parameter of the query. A ticket is
//
//	base64url(expires, 8 bytes, then mac, 32 bytes, then tenant)
//
// where mac is HMAC-SHA-256 of expires, the tenant, the thread and the hash of the token with
// which the ticket was issued, if there was one. When that token is removed, its tickets end.

// TicketParameter is the parameter of the query with a ticket.
const TicketParameter = "ticket"

// DefaultTicketTTL is the time for which a ticket can be used, and MinTicketKey the least
// number of bytes of a key.
const (
	DefaultTicketTTL = 5 * time.Minute
	MinTicketKey     = 32
)

// newTicketKey returns a key that only this process has.
func newTicketKey() []byte {
	key := make([]byte, MinTicketKey)
	_, _ = rand.Read(key) // it never fails
	return key
}

// Ticket returns a ticket for a thread of the tenant of a request that Wrap accepted, whose
// context is ctx, and the time until which it can be used.
func (g *Guard) Ticket(ctx context.Context, thread string) (ticket string, expires time.Time) {
	a := admitted(ctx)
	expires = time.Now().Add(g.settings.TicketTTL).Truncate(time.Second)
	var hash []byte
	if a.used != nil {
		hash = a.used.hash[:]
	}
	text := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix()))
	text = append(text, g.ticketMAC(text, a.tenant, thread, hash)...)
	return base64.RawURLEncoding.EncodeToString(append(text, a.tenant...)), expires
}

// ticketMAC authenticates what a ticket stands for. Each part has its length before it.
func (g *Guard) ticketMAC(expires []byte, tenant, thread string, hash []byte) []byte {
	mac := hmac.New(sha256.New, g.settings.TicketKey)
	for _, part := range [][]byte{[]byte("p20export.ticket.1"), expires, []byte(tenant), []byte(thread), hash} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// checkTicket returns the tenant of the ticket of a request, and the token with which it was
// issued, if there was one. It reports false if the request has no ticket that it can use.
func (g *Guard) checkTicket(r *http.Request) (tenant string, used *token, ok bool) {
	if g.settings.TicketThread == nil {
		return "", nil, false
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(query[TicketParameter]) != 1 {
		return "", nil, false
	}
	thread, ok := g.settings.TicketThread(r)
	text, err := base64.RawURLEncoding.Strict().DecodeString(query.Get(TicketParameter))
	const head = 8 + sha256.Size
	if !ok || err != nil || len(text) < head || len(text) > head+MaxTenantBytes {
		return "", nil, false
	}
	expires, mac, tenant := text[:8], text[8:head], string(text[head:])
	valid := hmac.Equal(mac, g.ticketMAC(expires, tenant, thread, nil))
	if g.tokens != nil {
		g.tokens.refresh()
		tokens := *g.tokens.tokens.Load()
		for i := range tokens {
			if tokens[i].tenant == tenant && hmac.Equal(mac, g.ticketMAC(expires, tenant, thread, tokens[i].hash[:])) {
				valid, used = true, &tokens[i]
			}
		}
	}
	if !valid || time.Now().Unix() >= int64(binary.BigEndian.Uint64(expires)) {
		return "", nil, false
	}
	return tenant, used, true
}
