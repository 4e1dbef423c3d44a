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
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// roles are the other processes of a measurement.
var roles = map[string]processes.Role{
	"agent":  traffic.Agent,
	"client": client,
	"bare":   bare,
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
	return traffic.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise the server closes the body of the request when the response begins. The
		// transport, which has sent all of it but not yet read its end, then fails.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			panic(err)
		}
		proxy.ServeHTTP(w, r)
	}))
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
	var p traffic.Plan
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
func (r *received) stream(ctx context.Context, transport http.RoundTripper, url string, p traffic.Plan, number, skip int) error {
	body, err := p.Request("bench", fmt.Sprintf("run-%d", number))
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
	if want := int64(len(traffic.Opening) + p.Events*traffic.EventSize + len(traffic.Closing)); err == nil && r.Bytes != want {
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
			if !bytes.HasPrefix(event, []byte(traffic.Before)) {
				continue
			}
			if seen++; seen <= skip {
				continue
			}
			sent, err := traffic.StampOf(event)
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
