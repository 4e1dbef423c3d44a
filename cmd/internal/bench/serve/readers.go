package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// A reading is what readers report.
type reading struct {
	// Seconds is the time from the first request to the end of the last reader.
	Seconds float64
	// CPU is the user and system time of their process in seconds.
	CPU float64
	// Events is the number of events of all readers.
	Events int
	// First are the times in nanoseconds until the first byte of each response, sorted.
	First []int64
	// Sent are the times in nanoseconds from the agent to the readers, sorted, for events
	// that have the time.
	Sent []int64
	// Arrivals say when the readers had the events.
	Arrivals []arrival
	// By are the addresses of the servers of the benchmark that served the readers, in the
	// order of their numbers.
	By []string
}

// An arrival is an event that a reader has.
type arrival struct {
	Reader         int // its number, from 0
	Position, Time int64
}

// readers reads a response several times at once, up to a number of events with text, and
// prints a reading. Before, it prints a line when all responses have begun, or have some events.
func readers(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("readers", flag.ContinueOnError)
	url := flags.String("url", "", "the URL; "+each+" in it is the number of the reader")
	body := flags.String("body", "", "the body of a POST, with numbers as in the URL; if it is empty, the method is GET")
	count := flags.Int("count", 1, "the number of readers")
	until := flags.Int("until", 0, "the number of events with text after which a reader leaves; 0: at the end")
	ready := flags.Int("ready", 0, "the number of events after which a response has begun; 0: its head")
	stamped := flags.Bool("stamped", false, "whether the events have the time at which they were sent")
	positions := flags.Bool("positions", false, "whether arrivals are reported")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, ReadBufferSize: 16 << 10}}
	all := make([]reading, *count)
	errs := make([]error, *count)
	var beginning, running sync.WaitGroup
	beginning.Add(*count)
	begun := time.Now()
	for i := range all {
		running.Go(func() {
			var once sync.Once
			began := func() { once.Do(beginning.Done) }
			defer began()
			number := strings.NewReplacer(each, strconv.Itoa(i))
			errs[i] = all[i].read(ctx, client, number.Replace(*url), number.Replace(*body), *until, *ready, *stamped, *positions, began)
		})
	}
	beginning.Wait()
	fmt.Println("ready")
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	total := reading{Seconds: time.Since(begun).Seconds()}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	total.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	for i, r := range all {
		for n := range r.Arrivals {
			r.Arrivals[n].Reader = i
		}
		total.Events += r.Events
		total.First = append(total.First, r.First...)
		total.Sent = append(total.Sent, r.Sent...)
		total.Arrivals = append(total.Arrivals, r.Arrivals...)
		total.By = append(total.By, r.By...)
	}
	slices.Sort(total.First)
	slices.Sort(total.Sent)
	return json.NewEncoder(os.Stdout).Encode(total)
}

// each in a URL stands for the number of the reader, from 0.
const each = "{each}"

// text is a part of each event with text.
const text = `{"type":"TEXT_MESSAGE_CONTENT"`

// read reads one response.
func (r *reading) read(ctx context.Context, client *http.Client, url, body string, until, ready int, stamped, positions bool, began func()) error {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	begun := page.Now()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if ready == 0 {
		began()
	}
	if response.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("%s: %s: %s", url, response.Status, reason)
	}
	r.By = []string{response.Header.Get(servedBy)}
	lines := bufio.NewReaderSize(response.Body, 16<<10)
	var position int64
	for seen := 0; ; {
		line, err := lines.ReadSlice('\n')
		arrived := page.Now()
		if len(r.First) == 0 && len(line) > 0 {
			r.First = append(r.First, arrived-begun)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // only the begin of a long line counts
			_, err = lines.ReadSlice('\n')
		}
		if err == io.EOF && until == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: after %d events: %w", url, r.Events, err)
		}
		if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			place, _, _ := bytes.Cut(bytes.TrimSpace(id), []byte("-")) // the position is followed by a check
			whole, _, _ := bytes.Cut(place, []byte("."))               // the view compact has more ids
			if position, err = strconv.ParseInt(string(whole), 10, 64); err != nil {
				return err
			}
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		if r.Events++; r.Events == ready {
			began()
		}
		if positions {
			r.Arrivals = append(r.Arrivals, arrival{Position: position, Time: arrived})
		}
		if !bytes.HasPrefix(data, []byte(text)) {
			continue
		}
		if stamped {
			sent, err := traffic.StampOf(line)
			if err != nil {
				return err
			}
			r.Sent = append(r.Sent, arrived-sent)
		}
		if seen++; seen == until {
			return nil
		}
	}
}
