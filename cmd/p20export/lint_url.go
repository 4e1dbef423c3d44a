package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/lint/transport"
)

// runEndpoint records a run of an endpoint and checks it.
func (fl *lintFlags) runEndpoint(cmd *cobra.Command, endpoint string, options lint.Options, origin string) error {
	if fl.out != "" {
		if err := checkOutputFile("-o", strings.TrimRight(fl.out, "/")); err != nil {
			return err
		}
	}
	settings, err := fl.endpoint.settings()
	if err != nil {
		return err
	}
	if settings.Header, err = fl.endpoint.readHeaders(cmd.Context()); err != nil {
		return err
	}
	settings.URL = endpoint
	if settings.Body = shortQuestion(); fl.input != "" {
		if settings.Body, err = capture.ReadInput(cmd.Context(), fl.input, maxInput); err != nil {
			return inputError(err)
		}
	}
	result := lintResult{printer: newPrinter(cmd, fl.format), group: fl.group, waits: true}
	dir := fl.out
	if dir == "" {
		temporary, err := os.MkdirTemp("", "p20export-lint-")
		if err != nil {
			result.add(lint.FailedRow(client.PublicURL(endpoint), options, err))
			return result.printer.Close(result.end(""))
		}
		defer os.RemoveAll(temporary)
		dir = filepath.Join(temporary, "capture")
	}
	row := fl.lintEndpoint(cmd, dir, settings, options, origin)
	if err := interrupted(cmd); err != nil {
		return result.printer.Close(err)
	}
	result.add(row)
	return result.printer.Close(result.end(""))
}

// shortQuestion returns a request with a short question, in a thread that no agent has seen.
func shortQuestion() []byte {
	id := rand.Text()
	return []byte(`{"threadId":"thread-` + id + `","runId":"run-` + id + `","state":{},"messages":[{"id":"user-1","role":"user","content":"What is the capital of France?"}],"tools":[],"context":[],"forwardedProps":{}}`)
}

// lintEndpoint records a run in a directory and checks it.
func (fl *lintFlags) lintEndpoint(cmd *cobra.Command, dir string, settings client.Settings, options lint.Options, origin string) lint.Row {
	name := dir
	if fl.out == "" {
		name = client.PublicURL(settings.URL)
	}
	options.Live = &lint.Live{Name: name}
	if origin != "" {
		if settings.Header == nil {
			settings.Header = make(http.Header)
		}
		settings.Header.Set("Origin", origin)
		cors := &transport.CORS{Origin: origin}
		options.Live.CORS = cors
		settings.Head = func(_ int, header http.Header) { cors.Allowed = allowed(header) }
	}
	if _, err := recordRun(cmd, dir, settings); err != nil {
		return lint.FailedRow(name, options, err)
	}
	if cors := options.Live.CORS; cors != nil {
		cors.Preflight = preflight(cmd.Context(), settings, origin)
	}
	row := lint.Capture(cmd.Context(), inputs.File(dir), options, nil)
	if fl.out == "" {
		row.Response = name
		for i := range row.Findings {
			// The response that the usual hint names was deleted.
			if f := &row.Findings[i]; f.Code == finding.HTTPStatus || f.Code == finding.FramingOpaque {
				f.Hint = "to see the response, keep it with -o DIR"
			}
		}
	}
	return row
}

// preflight returns the answer to a preflight request. If there is none, its status is 0.
func preflight(ctx context.Context, settings client.Settings, origin string) *transport.Preflight {
	status, header, err := client.Preflight(ctx, settings, origin)
	if err != nil {
		f, _ := finding.FromError(err)
		return &transport.Preflight{Failed: f.Message}
	}
	return &transport.Preflight{Status: status, Allowed: allowed(header), Headers: header.Values("Access-Control-Allow-Headers")}
}

func allowed(header http.Header) []string { return header.Values("Access-Control-Allow-Origin") }
