package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// Agent serves the streams that are asked for. It prints its address.
func Agent(ctx context.Context, _ []string) error {
	return Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in input
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
		if err := send(r.Context(), w, in.ForwardedProps); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
}

// send writes a stream.
func send(ctx context.Context, w http.ResponseWriter, p Plan) error {
	control := http.NewResponseController(w)
	write := func(b []byte) error {
		if _, err := w.Write(b); err != nil {
			return err
		}
		return control.Flush()
	}
	if err := write([]byte(Opening)); err != nil {
		return err
	}
	var b []byte
	if p.Rate > 0 {
		pause := time.Second / time.Duration(p.Rate)
		next := time.Now().Add(rand.N(pause))
		timer := time.NewTimer(0)
		defer timer.Stop()
		for range p.Events {
			timer.Reset(time.Until(next))
			select {
			case <-timer.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := write(AppendEvent(b[:0], page.Now())); err != nil {
				return err
			}
			next = next.Add(pause)
		}
	} else {
		for i := range p.Events {
			if b = AppendEvent(b, int64(i)); len(b) >= p.Block || i == p.Events-1 {
				if err := write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
	}
	return write([]byte(Closing))
}

// Serve listens on a free port of the loopback interface, prints its address, and serves until
// the context ends.
func Serve(ctx context.Context, h http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: h}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
