package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/scan"
)

// maxInput is the maximum size of a request body. Readers of captures have the same
// limit.
const maxInput = 64 << 20

type captureFlags struct {
	out, from, input, request string
	endpoint                  requestFlags
	format                    *render.Format
}

func newCapture() *cobra.Command {
	var fl captureFlags
	cmd := &cobra.Command{
		Use:   "capture URL --input REQUEST -o DIR | capture --from FILE [--request REQUEST] -o DIR",
		Short: "Record a run from an endpoint, or import a file",
		Long: `Record one AG-UI run as a capture: post the REQUEST to URL and store the
response in the new directory DIR. DIR contains the response and the request
byte for byte, the arrival time of every read, and the manifest capture.json,
which is written last.

With --from, import a file instead: SSE, NDJSON or a JSON array (- is standard
input). --request also stores the request that led to it. An import has no
arrival times.

A directory without capture.json is unfinished and is never written to again.
Ctrl-C closes the capture with what has arrived and marks it as cancelled.

Request headers are sent but never stored. A header's value comes from a file or
an environment variable, so that secrets stay off the command line:

  --header 'Authorization: Bearer @token.txt'
  --header 'X-Api-Key: $API_KEY'    (in quotes, so that the shell keeps it)

If HTTP_PROXY or HTTPS_PROXY names a proxy, it is used, and the manifest records
its address without user and password.
` + exitHelp("a whole response or file was stored", "", "no whole event stream was stored: nothing was sent or received, or the response is incomplete, an error or no event stream"),
		Example: `  p20export capture http://127.0.0.1:8011/ --input request.json \
      -o captures/one-turn
  p20export capture http://127.0.0.1:8011/ --input request.json -o captures/x \
      --label integration=my-agent --label version=1.2.0 --timeout 2m
  p20export capture --from saved.sse --request request.json -o captures/saved`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVarP(&fl.out, "output", "o", "", "`DIR` to create the capture in, new or empty (required)")
	flags.StringVar(&fl.from, "from", "", "import `FILE` instead of recording from an endpoint; - is standard input")
	flags.StringVar(&fl.input, "input", "", "`REQUEST` to post, an AG-UI run input as JSON; - is standard input")
	flags.StringVar(&fl.request, "request", "", "with --from: the `REQUEST` to store, an AG-UI run input as JSON; - is standard input")
	fl.endpoint.addFlags(cmd)
	fl.format = cli.AddFormat(cmd)
	cli.Require(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return fl.run(cmd, args) }
	return cmd
}

func (fl *captureFlags) run(cmd *cobra.Command, args []string) error {
	settings, err := fl.check(args)
	if err != nil {
		return err
	}
	p := newPrinter(cmd, fl.format)
	var result capture.Result
	var watch scan.RunDetector
	settings.Frame = watch.Frame
	if settings.Header, err = fl.endpoint.readHeaders(cmd.Context()); err != nil {
		return err
	}
	if request := cmp.Or(fl.input, fl.request); request != "" {
		settings.Body, err = capture.ReadInput(cmd.Context(), request, maxInput)
	}
	switch {
	case err != nil:
	case fl.from != "":
		result, err = capture.ImportFile(cmd.Context(), fl.from, fl.out, capture.Settings{
			Framing: settings.Framing, StartedAt: time.Now(), Request: settings.Body, Labels: settings.Labels,
			Tool: settings.Tool, MaxBytes: settings.MaxBytes, Frame: settings.Frame,
		})
	default:
		settings.URL = args[0]
		result, err = recordRun(cmd, fl.out, settings)
	}
	watch.Report(&result)
	return p.Close(p.Capture(fl.out, result, err).Err())
}

// recordRun records a run and shows the progress.
func recordRun(cmd *cobra.Command, dir string, settings client.Settings) (capture.Result, error) {
	shown, progress := render.NewCaptureProgress(cmd.ErrOrStderr())
	defer shown.End()
	settings.Progress = progress
	return client.Record(cmd.Context(), dir, settings)
}

// check checks the flags and returns the settings they describe.
func (fl *captureFlags) check(args []string) (client.Settings, error) {
	switch {
	case fl.from == "" && len(args) == 0:
		return client.Settings{}, errors.New("give the URL of an endpoint, or --from FILE")
	case fl.from != "" && len(args) > 0:
		return client.Settings{}, errors.New("give either a URL or --from, not both")
	case isURL(fl.from):
		return client.Settings{}, urlError("--from", fl.from)
	case isURL(fl.request):
		return client.Settings{}, urlError("--request", fl.request)
	case isURL(fl.input):
		return client.Settings{}, fmt.Errorf("--input %s is a URL; name the file with the request to post", finding.QuoteURL(fl.input))
	case fl.from == "" && !isEndpoint(args[0]):
		return client.Settings{}, notEndpoint(args[0])
	case fl.from == "" && fl.request != "":
		return client.Settings{}, errors.New("--request is only for --from; to send a request to an endpoint, use --input")
	case fl.from == "" && fl.input == "":
		return client.Settings{}, errors.New("--input is missing: give the AG-UI run input to post, as JSON")
	case fl.from != "" && (fl.input != "" || fl.endpoint.headers != nil || fl.endpoint.timeout != 0):
		return client.Settings{}, errors.New("--input, --header and --timeout are only for an endpoint and cannot be used with --from")
	case fl.from == "-" && fl.request == "-":
		return client.Settings{}, errors.New("--from and --request cannot both be standard input")
	}
	if err := checkOutputFile("-o", strings.TrimRight(fl.out, "/")); err != nil {
		return client.Settings{}, err
	}
	return fl.endpoint.settings()
}

// urlError returns the error for a URL given to a flag that needs a file.
func urlError(flag, url string) error {
	return fmt.Errorf("%s %s is a URL; to record a run from it, give it without %s, and the request with --input: p20export capture URL --input REQUEST -o DIR", flag, finding.QuoteURL(url), flag)
}

// notEndpoint returns the error for an argument that is not a URL and may be a file.
func notEndpoint(arg string) error {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file; import it with --from: p20export capture --from FILE -o DIR", finding.Quote(arg))
	}
	return endpointError(arg)
}
