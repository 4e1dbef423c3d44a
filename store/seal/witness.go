package seal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/transparency-dev/merkle/proof"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// WitnessTimeout bounds a request to a witness.
const WitnessTimeout = 30 * time.Second

// maxAnswerBytes bounds the answer of a witness, and maxRequests how often it is asked for one
// cosignature: it answers with the size that it knows if that is another one.
const (
	maxAnswerBytes = 64 << 10
	maxRequests    = 3
)

// sizeType is the media type of the answer with the size that a witness knows.
const sizeType = "text/x.tlog.size"

// cosign asks a witness to cosign a seal, and adds its cosignatures (C2SP tlog-witness). known
// is the size that it probably knows.
func (w *work) cosign(ctx context.Context, witness string, made *Sealed, known int64) error {
	refused := func(format string, args ...any) finding.Finding {
		return finding.New(finding.WitnessRefused, "%s: %s", finding.QuoteURL(witness), fmt.Sprintf(format, args...))
	}
	for range maxRequests {
		body, err := w.request(ctx, known, made)
		if err != nil {
			return err
		}
		status, answer, isSize, err := post(ctx, witness, body)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return refused("%s", finding.Printable(finding.ErrorText(err)))
		case status == http.StatusOK:
			signed, names, err := appendSignatures(made.Seal.Checkpoint, answer, w.settings.WitnessKeys)
			if err != nil {
				return refused("%v", err)
			}
			made.Seal.Checkpoint, made.Cosigners = signed, append(made.Cosigners, names...)
			return nil
		case status == http.StatusConflict && isSize:
			size, err := strconv.ParseInt(strings.TrimSuffix(string(answer), "\n"), 10, 64)
			if err != nil || size < 0 || size == known {
				return refused("it answers with a size that cannot be: %s", finding.Quote(string(answer)))
			}
			if size > made.Checkpoint.Size {
				return refused("it has cosigned %d entries of the thread, but there are only %d: entries were lost, or another process has sealed more", size, made.Checkpoint.Size)
			}
			known = size
		case status == http.StatusConflict, status == http.StatusUnprocessableEntity:
			return refused("the first %d entries are not those that it has cosigned (status %d)", known, status).
				WithHint("%s", hint.OtherHistory)
		case status == http.StatusNotFound:
			return refused("it does not know the origin of the verifier key %s (status %d)", w.keys(made.Origin), status)
		case status == http.StatusForbidden:
			return refused("it does not know the verifier key %s, or its origin (status %d)", w.keys(made.Origin), status)
		default:
			return refused("status %d, %s", status, finding.Quote(string(answer)))
		}
	}
	return refused("it answered %d times with another size", maxRequests)
}

// keys returns the public keys that sign the seals of an origin, as a witness needs them.
func (w *work) keys(origin string) string {
	var keys []string
	for _, by := range w.settings.Signers {
		if key, err := VerifierKey(origin, by.Public()); err == nil {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, " and ")
}

// request returns the body of a request to add a checkpoint.
func (w *work) request(ctx context.Context, known int64, made *Sealed) ([]byte, error) {
	hashes, err := w.consistency(ctx, known, made.Checkpoint.Size)
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, "old %d\n", known)
	for _, h := range hashes {
		body = append(base64.StdEncoding.AppendEncode(body, h), '\n')
	}
	return append(append(body, '\n'), made.Seal.Checkpoint...), nil
}

// consistency returns the proof that a tree is the beginning of another (RFC 6962 §2.1.2).
func (w *work) consistency(ctx context.Context, from, to int64) ([][]byte, error) {
	if from == 0 {
		return nil, nil
	}
	nodes, err := proof.Consistency(uint64(from), uint64(to))
	if err != nil {
		return nil, err
	}
	hashes, err := w.tree.nodes(ctx, nodes.IDs)
	if err != nil {
		return nil, err
	}
	return nodes.Rehash(hashes, hashNode)
}

// post sends a request to a witness. isSize reports whether the answer is a size.
func post(ctx context.Context, witness string, body []byte) (status int, answer []byte, isSize bool, _ error) {
	ctx, cancel := context.WithTimeoutCause(ctx, WitnessTimeout, fmt.Errorf("the witness did not answer within %v", WitnessTimeout))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(witness, "/")+"/add-checkpoint", bytes.NewReader(body))
	if err != nil {
		return 0, nil, false, err
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	r.Header["Idempotency-Key"] = nil // not sent: the client may try again if the witness has ended a connection
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, false, context.Cause(ctx)
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, which can contain a secret
		}
		return 0, nil, false, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err == nil && len(answer) > maxAnswerBytes {
		err = fmt.Errorf("its answer has more than %d bytes", maxAnswerBytes)
	}
	return response.StatusCode, answer, strings.HasPrefix(response.Header.Get("Content-Type"), sizeType), err
}
