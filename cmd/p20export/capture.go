package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// maxInput bounds a request body, as reading a capture does.
const maxInput = 64 << 20

type captureFlags struct {
	out, from, input string
	exchange         exchange
	format           *render.Format
}

func newCapture() *cobra.Command {
	var fl captureFlags
	cmd := &cobra.Command{
		Use:   "capture URL --input REQUEST -o DIR | capture --from FILE -o DIR",
		Short: "Record a run from an endpoint, or import a file",
		Long: `Post an AG-UI run to URL and keep the answer in the new directory DIR: the
response and the request byte for byte, the arrival of every read, and a
manifest written last. Or import an SSE, NDJSON or JSON array file (- is
standard input); an import has no arrival times.

A directory without capture.json is unfinished and is never written into again.
Ctrl-C closes the capture with what arrived, marked cancelled.

Request headers are sent and never stored. A header's value comes from a file or
an environment variable, so that no secret stands on the command line:

  --header 'Authorization: Bearer @token.txt'
  --header 'X-Api-Key: $API_KEY'     (quote it, so that the shell leaves it alone)
` + exitHelp,
		Example: `  p20export capture http://127.0.0.1:8011/ --input request.json -o captures/one-turn
  p20export capture http://127.0.0.1:8011/ --input request.json -o captures/x \
      --label integration=my-agent --label version=1.2.0 --timeout 2m
  p20export capture --from saved.sse -o captures/saved`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVarP(&fl.out, "output", "o", "", "directory of the capture; must not exist or be empty (required)")
	flags.StringVar(&fl.from, "from", "", "import this file instead of asking an endpoint; - is standard input")
	flags.StringVar(&fl.input, "input", "", "request body, an AG-UI run input as JSON; - is standard input")
	fl.exchange.addFlags(cmd)
	fl.format = addFormat(cmd)
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return fl.run(cmd, args) }
	return cmd
}

func (fl *captureFlags) run(cmd *cobra.Command, args []string) error {
	settings, err := fl.check(args)
	if err != nil {
		return err
	}
	p := newPrinter(cmd, fl.format)
	row := render.CaptureRow{Capture: fl.out, Verdict: scenario.Captured, Findings: []finding.Finding{}}
	if fl.from != "" {
		fl.importFile(cmd.Context(), &row, settings)
	} else {
		if settings.Header, err = readHeaders(cmd.Context(), fl.exchange.headers); err != nil {
			return err
		}
		settings.URL = args[0]
		if settings.Body, err = readInput(cmd.Context(), fl.input); err != nil {
			row.Fail(err)
		} else {
			fl.record(cmd, &row, settings)
		}
	}
	if row.Verdict == scenario.Captured && row.Events != nil && *row.Events == 0 {
		row.Findings = append(row.Findings, finding.New(finding.NoEvents, "the response holds no event, framed as %s", *row.Framing))
	}
	p.Captured(row)
	done := render.Done
	if row.Verdict != scenario.Captured || row.End != nil && *row.End != capture.EndEOF {
		done = render.Failed
	}
	return p.Close(done.Err())
}

// check reads the flags that need reading.
func (fl *captureFlags) check(args []string) (client.Settings, error) {
	switch {
	case fl.from == "" && len(args) == 0:
		return client.Settings{}, errors.New("give the URL of an endpoint, or --from FILE")
	case fl.from != "" && len(args) > 0:
		return client.Settings{}, errors.New("give either a URL or --from, not both")
	case fl.from == "" && fl.input == "":
		return client.Settings{}, errors.New("--input is missing: the run input to post, as JSON")
	case fl.from != "" && (fl.input != "" || fl.exchange.headers != nil || fl.exchange.timeout != 0):
		return client.Settings{}, errors.New("--input, --header and --timeout are for an endpoint; they do not go with --from")
	case fl.from == "" && !isEndpoint(args[0]):
		return client.Settings{}, fmt.Errorf("%s is no URL of an endpoint, such as http://127.0.0.1:8011/", finding.Quote(args[0]))
	}
	if err := checkOutput("-o", filepath.Dir(fl.out)); fl.out != "" && err != nil {
		return client.Settings{}, err
	}
	return fl.exchange.settings()
}

func (fl *captureFlags) importFile(ctx context.Context, row *render.CaptureRow, s client.Settings) {
	var r io.Reader = os.Stdin
	if fl.from != "-" {
		f, err := capture.OpenFile(ctx, fl.from)
		if err != nil {
			row.Fail(err)
			return
		}
		defer f.Close()
		r = f
	}
	m, count, err := capture.Import(ctx, r, fl.out, capture.Settings{Framing: s.Framing, StartedAt: time.Now(), Labels: s.Labels, Tool: s.Tool, MaxBytes: s.MaxBytes})
	if m != nil {
		if m.End == capture.EndLimit {
			row.Verdict = project.Failed
			row.Findings = append(row.Findings, finding.New(finding.CaptureCutShort, "the input is longer than the limit of %d bytes", s.MaxBytes).WithSeverity(finding.Error))
		}
		row.Close(m)
		events := count.Events()
		row.Events, row.Findings = &events, append(row.Findings, count.Findings()...)
	}
	if err != nil && !(m != nil && m.End == capture.EndCancelled) {
		row.Fail(err)
	}
}

func (fl *captureFlags) record(cmd *cobra.Command, row *render.CaptureRow, s client.Settings) {
	progress, show := render.NewCapturing(cmd.ErrOrStderr())
	s.Progress = show
	result, err := client.Record(cmd.Context(), fl.out, s)
	progress.End()
	if result.Manifest != nil {
		row.Close(result.Manifest)
		row.Events = &result.Events
	}
	row.Findings = append(row.Findings, result.Findings...)
	switch {
	case err != nil:
		row.Fail(err)
	case finding.Failed(row.Findings):
		row.Verdict = project.Failed
	}
}

func readInput(ctx context.Context, path string) ([]byte, error) {
	if path == "-" {
		return readAtMost(capture.Interruptible(ctx, os.Stdin), "standard input", maxInput)
	}
	return readFile(ctx, path, maxInput)
}

// readFile reads a file, or a pipe to its end, of at most limit bytes.
func readFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	f, err := capture.OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, path, limit)
}

func readAtMost(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}
