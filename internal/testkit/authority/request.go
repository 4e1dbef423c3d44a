package authority

import (
	"crypto"
	"crypto/x509/pkix"
	"encoding/asn1"
	"io"
	"math/big"
	"net/http"
)

// Media types of RFC 3161 §3.4.
const (
	QueryType = "application/timestamp-query"
	ReplyType = "application/timestamp-reply"
)

// Query is a request for a token.
type Query struct {
	hash    crypto.Hash
	imprint []byte
	nonce   *big.Int
	// Context ends when the client does.
	Request *http.Request
}

// maxQuery bounds a request.
const maxQuery = 4 << 10

// Handler returns a handler that calls answer for each request that is one of RFC 3161 with a
// SHA-256 digest, a nonce and a demand for the certificate. Other requests get the status 400.
func (a *Authority) Handler(answer func(http.ResponseWriter, Query)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var query struct {
			Version int
			Imprint struct {
				Hash   pkix.AlgorithmIdentifier
				Digest []byte
			}
			Nonce        *big.Int
			Certificates bool
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxQuery))
		if err == nil {
			_, err = asn1.Unmarshal(body, &query)
		}
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != QueryType || query.Version != 1 || !query.Certificates ||
			!query.Imprint.Hash.Algorithm.Equal(hashOID(crypto.SHA256)) || len(query.Imprint.Digest) != crypto.SHA256.Size() {
			http.Error(w, "not a request of RFC 3161", http.StatusBadRequest)
			return
		}
		answer(w, Query{crypto.SHA256, query.Imprint.Digest, query.Nonce, r})
	})
}
