package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
)

// joinThread is the thread that is joined.
const joinThread = "joined"

// joinBody is the request of a client that knows nothing of it.
const joinBody = `{"threadId":"` + joinThread + `","runId":"join","messages":[],"tools":[],"context":[],"state":{},"forwardedProps":{}}`

// A way is a way to join a thread.
type way struct{ name, path, body string }

func ways(last int64) []way {
	return []way{
		{"the last events", fmt.Sprintf("/events?follow=false&after=%d", last-5), ""},
		{"all events", "/events?follow=false", ""},
		{"all events, compact", "/events?follow=false&view=compact", ""},
		{"connect", "/connect", joinBody},
	}
}

// A join is how long joining took, in milliseconds.
type join struct{ first, whole []float64 }

// joins measures the time until the first byte of a join to a thread of many runs.
func joins(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("requests", "runs", "log", "way", "first byte, first join (ms)", "first byte, again (ms)", "whole response (ms)"))
	t.WriteString("|---|--:|---|---|--:|--:|--:|\n")
	for _, c := range logs.Conversations()[:2] {
		requests, runs := c.Name, fmt.Sprint(s.runs)
		for _, name := range s.logs {
			results, err := s.joinsOf(ctx, name, c)
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			for i, w := range ways(0) {
				cold, warm := results[2*i], results[2*i+1]
				t.WriteString(page.Row(requests, runs, name, w.name, page.Range(cold.first), page.Range(warm.first), page.Number(page.Median(cold.whole))))
				requests, runs, name = "", "", ""
			}
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// joinsOf joins a thread in each way: as the first request of a server, and once more.
func (s *settings) joinsOf(ctx context.Context, name string, c logs.Conversation) (results []join, err error) {
	l, err := s.place.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	last, err := c.Write(ctx, l, store.Key{Thread: joinThread}, s.runs)
	if err != nil {
		return nil, err
	}
	all := ways(last)
	results = make([]join, 2*len(all))
	for round := range s.rounds {
		for i, w := range all {
			if err := s.joinTwice(ctx, l, w, results[2*i:2*i+2]); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			s.progress(round, name, "%s: %.1f ms", w.name, results[2*i].first[round])
		}
	}
	return results, nil
}

// joinTwice starts a server and joins twice.
func (s *settings) joinTwice(ctx context.Context, l *logs.Log, w way, results []join) (err error) {
	p, url, err := s.startServe(ctx, l, "http://127.0.0.1:1")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	for i := range results {
		r, err := read(ctx, "-url", url+"/threads/"+joinThread+w.path, "-body", w.body)
		if err != nil {
			return err
		}
		if r.Events == 0 {
			return errors.New("the response has no events")
		}
		results[i].first = append(results[i].first, float64(r.First[0])/1e6)
		results[i].whole = append(results[i].whole, r.Seconds*1000)
	}
	return nil
}
