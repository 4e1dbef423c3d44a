package exchange

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// client is a connection to a server.
type client struct {
	net.Conn
	*bufio.Reader
}

// Read reads what the server sends.
func (c client) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func (c client) get(t *testing.T, path string) *http.Response {
	t.Helper()
	fmt.Fprintf(c.Conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	response, err := http.ReadResponse(c.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// closed waits until the server has closed the connection.
func (c client) closed(t *testing.T) {
	t.Helper()
	if n, err := io.Copy(io.Discard, c.Reader); n != 0 || err != nil && !strings.Contains(err.Error(), "reset") && err != io.ErrUnexpectedEOF {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A server keeps a number of idle connections. Those of open responses are not idle, and those
// that have sent a part of a request are.
func TestIdleConnections(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("tls=", secure), func(t *testing.T) {
			var text bytes.Buffer
			release := make(chan struct{})
			s := httptest.NewUnstartedServer(nil)
			s.Config = NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, "begin ")
				if r.URL.Path == "/stream" {
					http.NewResponseController(w).Flush()
					<-release
				}
				fmt.Fprint(w, "end")
			}), slog.New(slog.DiscardHandler))
			if s.Config.IdleTimeout <= 0 || s.Config.ReadHeaderTimeout <= 0 {
				t.Error("the age of connections has no limit")
			}
			const most = 3
			idle := newIdleConns(most, slog.New(slog.NewTextHandler(&text, nil)))
			idle.limit(s.Config)
			scheme := "http"
			if secure {
				s.StartTLS()
				scheme = "https"
			} else {
				s.Start()
			}
			defer s.Close()
			dial := func() client {
				t.Helper()
				conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, scheme+"://"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				if secure {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
				}
				return client{conn, bufio.NewReader(conn)}
			}
			// await waits until a number of connections are idle.
			await := func(n int) {
				t.Helper()
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
					idle.mu.Lock()
					have := idle.order.Len()
					idle.mu.Unlock()
					if have == n {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("%d connections are idle, want %d", have, n)
					}
				}
			}
			// The oldest has an open response.
			stream := dial()
			response := stream.get(t, "/stream")
			var clients []client
			for range most {
				c := dial()
				got := c.get(t, "/")
				if body, err := io.ReadAll(got.Body); string(body) != "begin end" || err != nil {
					t.Fatalf("%q, %v", body, err)
				}
				clients = append(clients, c)
				await(len(clients))
			}
			if got := text.String(); got != "" {
				t.Errorf("the log is\n%s", got)
			}
			// A request makes the first one the last.
			got := clients[0].get(t, "/")
			if _, err := io.ReadAll(got.Body); err != nil {
				t.Fatal(err)
			}
			for idle.last() != nil && idle.last().RemoteAddr().String() != clients[0].LocalAddr().String() {
				time.Sleep(time.Millisecond)
			}
			part := dial()
			fmt.Fprint(part, "GET / HTTP/1.1\r\n")
			clients[1].closed(t)
			silent := dial()
			clients[2].closed(t)
			dial()
			clients[0].closed(t)
			dial()
			part.Conn.SetDeadline(time.Now().Add(time.Minute))
			part.closed(t)
			dial()
			silent.closed(t)
			close(release)
			if body, err := io.ReadAll(response.Body); string(body) != "begin end" || err != nil {
				t.Errorf("the open response: %q, %v", body, err)
			}
			s.Close()
			if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=WARN msg="too many idle connections; those that were idle for the longest time are closed" limit=3`) {
				t.Errorf("the log is\n%s", got)
			}
			idle.mu.Lock()
			defer idle.mu.Unlock()
			if idle.order.Len() > most || len(idle.of) > most {
				t.Errorf("%d connections are kept", idle.order.Len())
			}
		})
	}
}

// last returns the connection that became idle last, or nil if there is none.
func (i *idleConns) last() net.Conn {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.order.Back(); e != nil {
		return e.Value.(net.Conn)
	}
	return nil
}

// With HTTP/2, a connection is idle when it has no stream.
func TestIdleHTTP2(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{}, 2)
	s := httptest.NewUnstartedServer(nil)
	s.Config = NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the request has HTTP/%d", r.ProtoMajor)
		}
		begun <- struct{}{}
		if r.URL.Path == "/stream" {
			<-release
		}
	}), slog.New(slog.DiscardHandler))
	idle := newIdleConns(1, slog.New(slog.DiscardHandler))
	idle.limit(s.Config)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	done := make(chan error)
	go func() {
		response, err := s.Client().Get(s.URL + "/stream")
		if err == nil {
			response.Body.Close()
		}
		done <- err
	}()
	<-begun
	response, err := s.Client().Get(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	<-begun
	if c := idle.last(); c != nil {
		t.Error("a connection with a stream is idle")
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(time.Minute); idle.last() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the connection does not become idle")
		}
	}
}
