package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/live"
	"github.com/p20export/p20export/internal/digest"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project/freeze"
)

// maxInput bounds a request body, as reading a capture does, and maxHeader a
// header's value in a file.
const (
	maxInput  = 64 << 20
	maxHeader = 64 << 10
)

type captureFlags struct {
	out, from, input, framing string
	headers, labels           []string
	timeout                   time.Duration
	maxBytes                  int64
	format                    *format
}

// captureRow is what became of a capture.
type captureRow struct {
	Capture  string            `json:"capture"`
	Verdict  freeze.Verdict    `json:"verdict"`
	End      *capture.End      `json:"end"`
	Status   *int              `json:"status"`
	Framing  *capture.Framing  `json:"framing"`
	Events   *int              `json:"events"`
	Bytes    *int64            `json:"bytes"`
	Digest   *digest.Digest    `json:"digest"`
	Findings []finding.Finding `json:"findings"`
}

// captured is the verdict of a capture that was closed and lacks nothing.
const captured freeze.Verdict = "captured"

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
      --label integration=ag_ui_adk --label version=0.11.0 --timeout 2m
  p20export capture --from saved.sse -o captures/saved`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVarP(&fl.out, "output", "o", "", "directory of the capture; must not exist or be empty (required)")
	flags.StringVar(&fl.from, "from", "", "import this file instead of asking an endpoint; - is standard input")
	flags.StringVar(&fl.input, "input", "", "request body, an AG-UI run input as JSON; - is standard input")
	flags.StringVar(&fl.framing, "framing", "", "how the response is framed, instead of telling: sse, ndjson or json")
	flags.StringArrayVar(&fl.headers, "header", nil, "request header 'Name: @file' or 'Name: $VARIABLE' (repeatable)")
	flags.StringArrayVar(&fl.labels, "label", nil, "label key=value kept in the manifest (repeatable)")
	flags.DurationVar(&fl.timeout, "timeout", 0, "end the capture after this long, as in 90s or 5m (default: no limit)")
	flags.Int64Var(&fl.maxBytes, "max-bytes", 0, "end the capture after this many bytes of the response or file (default: no limit)")
	fl.format = addFormat(cmd)
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err)
	}
	complete(cmd, "framing", string(capture.SSE), string(capture.NDJSON), string(capture.JSON))
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return fl.run(cmd, args) }
	return cmd
}

func (fl *captureFlags) run(cmd *cobra.Command, args []string) error {
	labels, framing, err := fl.check(args)
	if err != nil {
		return err
	}
	p := newPrinter(cmd.OutOrStdout())
	row := captureRow{Capture: fl.out, Verdict: captured, Findings: []finding.Finding{}}
	if fl.from != "" {
		fl.importFile(cmd.Context(), &row, labels, framing)
	} else {
		header, err := readHeaders(cmd.Context(), fl.headers)
		if err != nil {
			return err
		}
		body, err := readInput(cmd.Context(), fl.input)
		if err != nil {
			row.fail(err)
		} else {
			fl.record(cmd, &row, live.Settings{
				URL: args[0], Body: body, Header: header, Timeout: fl.timeout, MaxBytes: fl.maxBytes,
				Framing: framing, Labels: labels, Tool: capture.Tool(tool()),
			})
		}
	}
	if row.Verdict == captured && row.Events != nil && *row.Events == 0 {
		row.Findings = append(row.Findings, finding.New(finding.NoEvents, "the response holds no event, framed as %s", *row.Framing))
	}
	if *fl.format == formatJSON {
		p.json(row)
	} else {
		p.captured(row)
	}
	done := status(exitDone)
	if row.Verdict != captured || row.End != nil && *row.End != capture.EndEOF {
		done = exitFailed
	}
	return p.close(done.err())
}

// check reads the flags that need reading.
func (fl *captureFlags) check(args []string) (map[string]string, capture.Framing, error) {
	switch {
	case fl.from == "" && len(args) == 0:
		return nil, "", errors.New("give the URL of an endpoint, or --from FILE")
	case fl.from != "" && len(args) > 0:
		return nil, "", errors.New("give either a URL or --from, not both")
	case fl.from == "" && fl.input == "":
		return nil, "", errors.New("--input is missing: the run input to post, as JSON")
	case fl.from != "" && (fl.input != "" || fl.headers != nil || fl.timeout != 0):
		return nil, "", errors.New("--input, --header and --timeout are for an endpoint; they do not go with --from")
	case fl.from == "" && !isEndpoint(args[0]):
		return nil, "", fmt.Errorf("%s is no URL of an endpoint, such as http://127.0.0.1:8011/", finding.Quote(args[0]))
	case fl.timeout < 0 || fl.maxBytes < 0:
		return nil, "", errors.New("--timeout and --max-bytes cannot be negative")
	}
	var framing capture.Framing
	if fl.framing != "" {
		var err error
		if framing, err = capture.ParseFraming(fl.framing); err != nil {
			return nil, "", err
		}
	}
	labels := make(map[string]string, len(fl.labels))
	for _, l := range fl.labels {
		key, value, ok := strings.Cut(l, "=")
		if _, twice := labels[key]; !ok || key == "" || twice {
			return nil, "", fmt.Errorf("--label %s is not key=value with a key of its own", finding.Quote(l))
		}
		labels[key] = value
	}
	return labels, framing, nil
}

func isEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func (fl *captureFlags) importFile(ctx context.Context, row *captureRow, labels map[string]string, framing capture.Framing) {
	var r io.Reader = os.Stdin
	if fl.from != "-" {
		f, err := capture.OpenFile(ctx, fl.from)
		if err != nil {
			row.fail(err)
			return
		}
		defer f.Close()
		r = f
	}
	m, count, err := capture.Import(ctx, r, fl.out, capture.Settings{Framing: framing, StartedAt: time.Now(), Labels: labels, Tool: capture.Tool(tool()), MaxBytes: fl.maxBytes})
	if m != nil {
		if m.End == capture.EndLimit {
			row.Verdict = freeze.Failed
			row.Findings = append(row.Findings, finding.New(finding.CaptureCutShort, "the input is longer than the limit of %d bytes", fl.maxBytes).Graded(finding.Error))
		}
		row.closed(m)
		events := count.Events()
		row.Events, row.Findings = &events, append(row.Findings, count.Findings()...)
	}
	if err != nil && !(m != nil && m.End == capture.EndCancelled) {
		row.fail(err)
	}
}

func (fl *captureFlags) record(cmd *cobra.Command, row *captureRow, s live.Settings) {
	progress, show := newCapturing(cmd.ErrOrStderr())
	s.Progress = show
	result, err := live.Record(cmd.Context(), fl.out, s)
	progress.end()
	if result.Manifest != nil {
		row.closed(result.Manifest)
		row.Events = &result.Events
	}
	row.Findings = append(row.Findings, result.Findings...)
	switch {
	case err != nil:
		row.fail(err)
	case finding.Failed(row.Findings):
		row.Verdict = freeze.Failed
	}
}

func (row *captureRow) closed(m *capture.Manifest) {
	row.End, row.Framing = &m.End, &m.Framing
	if m.Source.Status != 0 {
		row.Status = &m.Source.Status
	}
	if response := m.Response(); response != nil {
		row.Bytes, row.Digest = &response.Bytes, &response.Digest
	}
}

func (row *captureRow) fail(err error) {
	row.Verdict = freeze.Failed
	found, _ := freeze.Explain(err)
	if errors.Is(err, fs.ErrExist) {
		found.Hint = "a capture is never written into again: choose another -o"
	}
	row.Findings = append(row.Findings, found)
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
		if strings.ContainsAny(secret, "\r\n\x00") {
			return nil, fmt.Errorf("--header %s: the value spans lines", finding.Quote(name))
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

func (p *printer) captured(row captureRow) {
	p.line("%s %s", p.capturedVerdict(row), row.Capture)
	if row.Digest != nil {
		detail := bytesCount(*row.Bytes) + ", framing " + string(*row.Framing)
		if row.Events != nil {
			detail = plural(*row.Events, "event", "events") + ", " + detail
		}
		if row.Status != nil {
			detail += fmt.Sprintf(", HTTP status %d", *row.Status)
		}
		p.line("  response  %s", detail)
		p.line("  digest    %s", string(*row.Digest))
		p.line("  end       %s", string(*row.End))
	}
	p.findings(row.Findings)
}

func (p *printer) capturedVerdict(row captureRow) painted {
	switch {
	case row.Verdict != captured:
		return p.paint(red, fmt.Sprintf("%-9s", string(row.Verdict)))
	case *row.End != capture.EndEOF:
		return p.paint(yellow, fmt.Sprintf("%-9s", string(row.Verdict)))
	}
	return p.paint(green, fmt.Sprintf("%-9s", string(row.Verdict)))
}
