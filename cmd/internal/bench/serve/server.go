package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/trace"
	"sync"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// A timedLog notes when appends return: then the entries are durable.
type timedLog struct {
	store.Log
	store.Leaser

	mu      sync.Mutex
	durable map[string][][2]int64 // by thread: the last position of each append and the time
	took    []int64               // each append, in nanoseconds
}

func (l *timedLog) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	begun := page.Now()
	last, err := l.Log.Append(ctx, key, after, entries)
	ended := page.Now()
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.durable[key.Thread] = append(l.durable[key.Thread], [2]int64{last, ended})
		l.took = append(l.took, ended-begun)
	}
	return last, err
}

// times is what the server of the benchmark reports.
type times struct {
	Durable map[string][][2]int64
	Took    []int64
}

// timesPath is the path of the times.
const timesPath = "/times"

// servedBy is the header with the address of the server, for readers that do not choose it.
const servedBy = "Served-By"

// server is package serve with a log that notes when events are durable. The arguments are
// the name of the log, its address, the URL of the agent, whether runs of other threads end and
// are sealed, and a file for an execution trace, which may be empty. It prints its address.
func server(ctx context.Context, args []string) (err error) {
	if len(args) != 6 {
		return errors.New("give a log, its address, the URL of an agent, twice true or false, and a file or nothing")
	}
	stop, err := startTrace(args[5])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	agent, err := url.Parse(args[2])
	if err != nil {
		return err
	}
	l, err := logs.OpenAddress(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	timed := &timedLog{Log: l, Leaser: l.(store.Leaser), durable: make(map[string][][2]int64)}
	s, err := serve.New(serve.Settings{Log: timed, Agents: map[string]*url.URL{agentName: agent}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Start(ctx); err != nil {
		return err
	}
	if args[3] == "true" {
		var by *seal.Settings
		if args[4] == "true" {
			if by, err = newOperator(); err != nil {
				return err
			}
		}
		working, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- endRuns(working, l, by) }()
		defer func() { stop(); err = errors.Join(err, <-ended) }()
	}
	return traffic.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != timesPath {
			w.Header().Set(servedBy, r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
			s.ServeHTTP(w, r)
			return
		}
		timed.mu.Lock()
		defer timed.mu.Unlock()
		if err := json.NewEncoder(w).Encode(times{timed.durable, timed.took}); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
}

// startTrace begins an execution trace unless the path of its file is empty, and returns the function
// that ends it.
func startTrace(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := trace.Start(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		trace.Stop()
		return f.Close()
	}, nil
}

// fetchTimes returns the times of the server.
func fetchTimes(ctx context.Context, address string) (t times, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+timesPath, nil)
	if err != nil {
		return t, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return t, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return t, fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	return t, json.NewDecoder(response.Body).Decode(&t)
}
