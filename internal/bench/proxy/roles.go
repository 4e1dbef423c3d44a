package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/internal/bench/page"
)

// roles are the other processes of a measurement.
var roles = map[string]func(context.Context, []string) error{
	"agent":  agent,
	"client": client,
	"bare":   bare,
}

// agent serves the streams that are asked for. It prints its address.
func agent(ctx context.Context, _ []string) error {
	return serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
func send(ctx context.Context, w http.ResponseWriter, p plan) error {
	control := http.NewResponseController(w)
	write := func(b []byte) error {
		if _, err := w.Write(b); err != nil {
			return err
		}
		return control.Flush()
	}
	if err := write([]byte(opening)); err != nil {
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
			if err := write(appendEvent(b[:0], page.Now())); err != nil {
				return err
			}
			next = next.Add(pause)
		}
	} else {
		for i := range p.Events {
			if b = appendEvent(b, int64(i)); len(b) >= p.Block || i == p.Events-1 {
				if err := write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
	}
	return write([]byte(closing))
}

// bare is the proxy that a few lines of Go make.
func bare(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("bare: the URL of the agent is needed")
	}
	target, err := url.Parse(args[0])
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
	}
	return serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise the server closes the body of the request when the response begins. The
		// transport, which has sent all of it but not yet read its end, then fails.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			panic(err)
		}
		proxy.ServeHTTP(w, r)
	}))
}

// serve listens on a free port of the loopback interface, prints its address, and serves until
// the context ends.
func serve(ctx context.Context, h http.Handler) error {
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

// received is what the client reports.
type received struct {
	Seconds   float64  // from the first request to the end of the last stream
	Bytes     int64    // of all streams
	Latencies []int64  // sorted, of the events after the start, in nanoseconds, if the rate is fixed
	Checksums []uint32 // of the streams
}

// client reads streams at the same time and prints what it received.
func client(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("client", flag.ContinueOnError)
	url := flags.String("url", "", "the URL of the agent or of a proxy")
	streams := flags.Int("streams", 1, "the number of streams at the same time")
	skip := flags.Int("skip", 0, "the number of events at the start of each stream whose latency is not reported")
	var p plan
	flags.IntVar(&p.Events, "events", 1, "the number of events of each stream")
	flags.IntVar(&p.Rate, "rate", 0, "the number of events in a second; 0: as many as possible")
	flags.IntVar(&p.Block, "block", 0, "the number of bytes that the agent writes at once; 0: one event")
	if err := flags.Parse(args); err != nil {
		return err
	}
	transport := &http.Transport{DisableCompression: true, ReadBufferSize: 64 << 10}
	all := make([]received, *streams)
	errs := make([]error, *streams)
	var group sync.WaitGroup
	started := time.Now()
	for i := range all {
		group.Go(func() { errs[i] = all[i].stream(ctx, transport, *url, p, i, *skip) })
	}
	group.Wait()
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) > 0 {
		return fmt.Errorf("%d of %d streams failed, the first one: %w", len(errs), *streams, errs[0])
	}
	total := received{Seconds: time.Since(started).Seconds()}
	for _, r := range all {
		total.Bytes += r.Bytes
		total.Latencies = append(total.Latencies, r.Latencies...)
		total.Checksums = append(total.Checksums, r.Checksums...)
	}
	slices.Sort(total.Latencies)
	return json.NewEncoder(os.Stdout).Encode(total)
}

// stream reads one stream.
func (r *received) stream(ctx context.Context, transport http.RoundTripper, url string, p plan, number, skip int) error {
	body, err := p.request(number)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %s", url, response.Status)
	}
	if p.Rate > 0 {
		err = r.measure(response.Body, p.Events, skip)
	} else {
		sum := crc32.NewIEEE()
		r.Bytes, err = io.CopyBuffer(sum, response.Body, make([]byte, 64<<10))
		r.Checksums = []uint32{sum.Sum32()}
	}
	if want := int64(len(opening) + p.Events*eventSize + len(closing)); err == nil && r.Bytes != want {
		return fmt.Errorf("%s: %d bytes arrived, want %d", url, r.Bytes, want)
	}
	return err
}

// measure reads a stream and notes how long each event took to arrive, but the first ones.
func (r *received) measure(body io.Reader, events, skip int) error {
	r.Latencies = make([]int64, 0, events)
	buffer := make([]byte, 0, 64<<10)
	for seen := 0; ; {
		n, err := body.Read(buffer[len(buffer):cap(buffer)])
		arrived := page.Now()
		r.Bytes += int64(n)
		buffer = buffer[:len(buffer)+n]
		rest := buffer
		for {
			event, later, ok := bytes.Cut(rest, []byte("\n\n"))
			if !ok {
				break
			}
			rest = later
			if !bytes.HasPrefix(event, []byte(before)) {
				continue
			}
			if seen++; seen <= skip {
				continue
			}
			sent, err := stampOf(event)
			if err != nil {
				return err
			}
			r.Latencies = append(r.Latencies, arrived-sent)
		}
		buffer = buffer[:copy(buffer[:cap(buffer)], rest)]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
