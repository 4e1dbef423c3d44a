package timetoken

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/digitorus/timestamp"
)

// Timeout bounds a request to an authority.
const Timeout = 30 * time.Second

// Media types of RFC 3161 §3.4.
const (
	queryType = "application/timestamp-query"
	replyType = "application/timestamp-reply"
)

// Request asks an authority at an http or https URL for a token over data, and returns
// its response and the token. It checks that the token is over data, is the answer to this
// request and has a valid signature; whether the authority can be trusted is for those to
// say who verify the token.
func Request(ctx context.Context, authority string, data []byte) (response []byte, _ *Token, _ error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("the authority did not answer within %v", Timeout))
	defer cancel()
	response, token, err := request(ctx, authority, data)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the URL, which can contain a secret
	}
	return response, token, err
}

func request(ctx context.Context, authority string, data []byte) ([]byte, *Token, error) {
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(data)
	query, err := (&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Certificates: true, Nonce: nonce}).Marshal()
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, authority, bytes.NewReader(query))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", queryType)
	r.Header.Set("Accept", replyType)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, MaxBytes+1))
	if err != nil {
		return nil, nil, err
	}
	if reply.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("the authority answered with the status %s", reply.Status)
	}
	if kind, _, err := mime.ParseMediaType(reply.Header.Get("Content-Type")); err != nil || kind != replyType {
		return nil, nil, fmt.Errorf("the authority answered with the content type %q; want %s", reply.Header.Get("Content-Type"), replyType)
	}
	token, err := Parse(body, nil)
	switch {
	case err != nil:
		return nil, nil, err
	case !token.Covers(data):
		return nil, nil, errors.New("the authority answered with a token over other data")
	case token.nonce == nil || token.nonce.Cmp(nonce) != 0:
		return nil, nil, errors.New("the authority answered with the token of another request: the nonce differs")
	}
	return body, token, nil
}
