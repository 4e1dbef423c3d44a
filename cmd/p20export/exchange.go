package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/finding"
)

// maxHeader bounds a header's value in a file.
const maxHeader = 64 << 10

// exchange are the flags of the commands that ask an endpoint.
type exchange struct {
	framing         string
	headers, labels []string
	timeout         time.Duration
	maxBytes        int64
}

func (x *exchange) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&x.framing, "framing", "", "how the response is framed, instead of telling: sse, ndjson or json")
	flags.StringArrayVar(&x.headers, "header", nil, "request header 'Name: @file' or 'Name: $VARIABLE' (repeatable)")
	flags.StringArrayVar(&x.labels, "label", nil, "label key=value kept in the manifest (repeatable)")
	flags.DurationVar(&x.timeout, "timeout", 0, "end the capture after this long, as in 90s or 5m (default: no limit)")
	flags.Int64Var(&x.maxBytes, "max-bytes", 0, "end the capture after this many bytes of the response or file (default: no limit)")
	complete(cmd, "framing", string(capture.SSE), string(capture.NDJSON), string(capture.JSON))
}

// settings reads the flags, the headers aside.
func (x *exchange) settings() (client.Settings, error) {
	s := client.Settings{Timeout: x.timeout, MaxBytes: x.maxBytes, Labels: make(map[string]string, len(x.labels)), Tool: capture.Tool(tool())}
	if x.timeout < 0 || x.maxBytes < 0 {
		return s, errors.New("--timeout and --max-bytes cannot be negative")
	}
	if x.framing != "" {
		var err error
		if s.Framing, err = capture.ParseFraming(x.framing); err != nil {
			return s, err
		}
	}
	for _, l := range x.labels {
		key, value, ok := strings.Cut(l, "=")
		if _, twice := s.Labels[key]; !ok || key == "" || twice {
			return s, fmt.Errorf("--label %s is not key=value with a key of its own", finding.Quote(l))
		}
		s.Labels[key] = value
	}
	return s, nil
}

func isEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// readHeaders resolves 'Name: [words] @file' and 'Name: [words] $VARIABLE'.
// Literal values are refused, so that secrets stay off the command line. No
// error quotes a value.
func readHeaders(ctx context.Context, given []string) (http.Header, error) {
	header := make(http.Header)
	for _, h := range given {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsFunc(name, notInToken) {
			return nil, errors.New("a --header is not 'Name: @file' or 'Name: $VARIABLE'")
		}
		at := strings.LastIndexAny(value, "@$")
		if at < 0 || at > 0 && value[at-1] != ' ' || at == len(value)-1 {
			return nil, fmt.Errorf("--header %s: give the value as @file or $VARIABLE in single quotes; a value on the command line can be read by others", finding.Quote(name))
		}
		source := value[at+1:]
		var secret string
		if value[at] == '@' {
			data, err := readFile(ctx, source, maxHeader)
			if err != nil {
				return nil, fmt.Errorf("--header %s: %w", finding.Quote(name), err)
			}
			secret = strings.TrimRight(string(data), "\r\n")
		} else if secret, ok = os.LookupEnv(strings.Trim(source, "{}")); !ok {
			return nil, fmt.Errorf("--header %s: the environment variable it names is not set", finding.Quote(name))
		}
		if strings.ContainsFunc(secret, notInValue) {
			return nil, fmt.Errorf("--header %s: the value spans lines or holds a control character", finding.Quote(name))
		}
		header.Add(name, value[:at]+secret)
	}
	return header, nil
}

// notInToken reports whether r may not stand in a header's name (RFC 9110
// §5.6.2).
func notInToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// notInValue reports whether r may not stand in a header's value (RFC 9110
// §5.5).
func notInValue(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
