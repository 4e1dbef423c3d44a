package timetoken_test

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit/authority"
	"github.com/p20export/p20export/project/sign/timetoken"
)

// reply answers a request in its media type.
func reply(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", authority.ReplyType)
	_, _ = w.Write(body)
}

// TestRequest asks an authority that answers as it should.
func TestRequest(t *testing.T) {
	t.Parallel()
	a, data := authority.New(t), []byte("data")
	before := time.Now().Truncate(time.Second)
	response, token, err := timetoken.Request(t.Context(), a.Serve(), data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := timetoken.Parse(response, nil)
	if err != nil || !again.Covers(data) || again.Covers(append(data, 0)) || !again.NotAfter.Equal(token.NotAfter) || again.NotAfter.Before(before) {
		t.Errorf("%+v, %v", again, err)
	}
	if err := again.IssuedUnder(a.Root.Certificate); err != nil {
		t.Error(err)
	}
	if err := again.IssuedUnder(authority.New(t).Root.Certificate); err == nil || timetoken.IsExpired(err) {
		t.Errorf("another authority: %v", err)
	}
}

// TestRequestRefused asks authorities that fail or lie. Each answer has its own error, and none
// is returned.
func TestRequestRefused(t *testing.T) {
	t.Parallel()
	a := authority.New(t)
	honest := a.Over([]byte("data"))
	with := func(change func(*authority.Answer)) func(http.ResponseWriter, authority.Query) {
		return func(w http.ResponseWriter, q authority.Query) { reply(w, a.Reply(q, change)) }
	}
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, authority.Query)
		want   string
	}{
		{"another imprint", with(func(answer *authority.Answer) { answer.Imprint = make([]byte, 32) }), "a token over other data"},
		{"another nonce", with(func(answer *authority.Answer) { answer.Nonce = new(big.Int).Add(answer.Nonce, big.NewInt(1)) }), "the nonce differs"},
		{"no nonce", with(func(answer *authority.Answer) { answer.Nonce = nil }), "the nonce differs"},
		{"an earlier answer", func(w http.ResponseWriter, _ authority.Query) { reply(w, honest) }, "the nonce differs"},
		{"SHA-1", with(func(answer *authority.Answer) { answer.Hash, answer.Imprint = crypto.SHA1, make([]byte, 20) }), "is not SHA-256"},
		{"a rejection", with(func(answer *authority.Answer) { answer.Status, answer.Text = 2, "come back later" }), `the request is rejected ("come back later")`},
		{"a rejection in silence", with(func(answer *authority.Answer) { answer.Status = 2 }), "the request is rejected"},
		{"waiting", with(func(answer *authority.Answer) { answer.Status = 3 }), "the request is waiting"},
		{"no certificate", with(func(answer *authority.Answer) { answer.Certificates = nil }), "neither in the response nor trusted"},
		{"the status 500", func(w http.ResponseWriter, _ authority.Query) {
			http.Error(w, "out of order", http.StatusInternalServerError)
		}, "the status 500 Internal Server Error"},
		{"the status 204", func(w http.ResponseWriter, _ authority.Query) { w.WriteHeader(http.StatusNoContent) }, "the status 204"},
		{"the status 201", func(w http.ResponseWriter, q authority.Query) {
			w.Header().Set("Content-Type", authority.ReplyType)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(a.Reply(q))
		}, "the status 201"},
		{"another content type", func(w http.ResponseWriter, q authority.Query) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write(a.Reply(q))
		}, `the content type "text/html"`},
		{"no content type", func(w http.ResponseWriter, q authority.Query) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write(a.Reply(q))
		}, `the content type ""`},
		{"no body", func(w http.ResponseWriter, _ authority.Query) { reply(w, nil) }, "not a time-stamp response"},
		{"text", func(w http.ResponseWriter, _ authority.Query) { reply(w, []byte("<html>")) }, "not a time-stamp response"},
		{"an endless body", func(w http.ResponseWriter, q authority.Query) {
			w.Header().Set("Content-Type", authority.ReplyType)
			for q.Request.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte{0x30}, 1<<16)); err != nil {
					return
				}
			}
		}, "it has more than 262144 bytes"},
		{"half an answer", func(w http.ResponseWriter, q authority.Query) {
			body := a.Reply(q)
			w.Header().Set("Content-Type", authority.ReplyType)
			_, _ = w.Write(body[:len(body)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "EOF"},
		{"half an answer, and it ends well", func(w http.ResponseWriter, q authority.Query) {
			body := a.Reply(q)
			reply(w, body[:len(body)/2])
		}, "not a time-stamp response"},
		{"a connection that is closed", func(http.ResponseWriter, authority.Query) { panic(http.ErrAbortHandler) }, "EOF"},
		{"a circle of redirections", func(w http.ResponseWriter, q authority.Query) {
			http.Redirect(w, q.Request, q.Request.URL.Path, http.StatusTemporaryRedirect)
		}, "stopped after 10 redirects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			response, token, err := timetoken.Request(t.Context(), a.ServeAs(c.answer), []byte("data"))
			if response != nil || token != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d bytes, error %v\nwant %s", len(response), err, c.want)
			}
		})
	}
}

// TestRequestSecrets checks that no error has a secret of the URL.
func TestRequestSecrets(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, url := range []string{"http://hunter2:hunter2@" + host + "/hunter2?hunter2", "http://ann:hunter2@" + host + "/%zz", "http://hunter2@ "} {
		_, _, err := timetoken.Request(t.Context(), url, []byte("data"))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestRequestCancelled cancels a request that an authority does not answer. The error is the
// cause of the cancellation.
func TestRequestCancelled(t *testing.T) {
	t.Parallel()
	interrupted := errors.New("interrupted")
	for _, c := range []struct {
		name  string
		begin func(http.ResponseWriter)
	}{
		{"no answer", func(http.ResponseWriter) {}},
		{"the beginning of an answer", func(w http.ResponseWriter) {
			reply(w, []byte{0x30})
			_ = http.NewResponseController(w).Flush()
		}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the server does not see before that the client has gone
			c.begin(w)
			cancel(interrupted)
			<-r.Context().Done()
		}))
		t.Cleanup(server.Close)
		if _, _, err := timetoken.Request(ctx, server.URL, []byte("data")); err != interrupted {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
