package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/finding"
)

// requestFlags contains the flags of the commands that send requests to an endpoint.
type requestFlags struct {
	framing         string
	headers, labels []string
	timeout         time.Duration
	maxBytes        int64
}

func (x *requestFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&x.framing, "framing", "", "read the response as `sse|ndjson|json` instead of detecting its framing")
	flags.StringArrayVar(&x.headers, "header", nil, "request header `'NAME: VALUE'`, where VALUE is @FILE or $VARIABLE (repeatable)")
	flags.StringArrayVar(&x.labels, "label", nil, "label `KEY=VALUE` to store in the manifest (repeatable)")
	flags.Var(cli.Duration(&x.timeout), "timeout", "stop the capture after this `DURATION`, such as 90s or 5m (default: no limit)")
	flags.Int64Var(&x.maxBytes, "max-bytes", 0, "stop the capture after this many `BYTES` of the response or file (default: no limit)")
	cli.Complete(cmd, "framing", string(capture.SSE), string(capture.NDJSON), string(capture.JSON))
}

// settings returns the settings that the flags describe, without the headers.
func (x *requestFlags) settings() (client.Settings, error) {
	s := client.Settings{Timeout: x.timeout, MaxBytes: x.maxBytes, Tool: capture.Tool(build.Tool())}
	if x.timeout < 0 || x.maxBytes < 0 {
		return s, errors.New("--timeout and --max-bytes cannot be negative")
	}
	if x.framing != "" {
		var err error
		if s.Framing, err = capture.ParseFraming(x.framing); err != nil {
			return s, err
		}
	}
	var err error
	s.Labels, err = parseLabels(x.labels)
	return s, err
}

// parseLabels parses the values of --label.
func parseLabels(labels []string) (map[string]string, error) {
	parsed := make(map[string]string, len(labels))
	for _, l := range labels {
		key, value, ok := strings.Cut(l, "=")
		if _, twice := parsed[key]; !ok || key == "" || twice {
			return nil, fmt.Errorf("--label %s must be KEY=VALUE, with a key that is used only once", finding.Quote(l))
		}
		parsed[key] = value
	}
	return parsed, nil
}

func isEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// endpointError returns the error for an argument that should be the URL of an endpoint.
func endpointError(arg string) error {
	return fmt.Errorf("%s is not the URL of an endpoint, such as http://127.0.0.1:8011/", finding.QuoteURL(arg))
}

// readHeaders reads the headers that the flags describe. Its errors name the flag.
func (x *requestFlags) readHeaders(ctx context.Context) (http.Header, error) {
	header, err := client.ReadHeaders(ctx, x.headers)
	bad, ok := errors.AsType[*client.HeaderError](err)
	switch {
	case ok && bad.Name == "":
		err = fmt.Errorf("a --header is %w", bad.Err)
	case ok:
		err = fmt.Errorf("--header %s: %w", finding.Quote(bad.Name), bad.Err)
	}
	return header, err
}
