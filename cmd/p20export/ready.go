package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
)

func newReady() *cobra.Command {
	timeout := 5 * time.Second
	cmd := &cobra.Command{
		Use:   "ready URL",
		Short: "Check whether proxy or serve is ready",
		Long: `Ask a proxy or serve that runs with --metrics whether it is ready, for health
checks of containers, which have no other program to ask with. URL is that of
the address of --metrics. If it has no path, /readyz is asked; /healthz only
says whether the program can answer at all.
` + exitHelp("it is ready", "it is not, or did not answer in time", ""),
		Example: "  p20export ready http://127.0.0.1:9090\n  p20export ready http://127.0.0.1:9090/healthz --timeout 1s",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().Var(cli.Duration(&timeout), "timeout", "wait this `DURATION` for the answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		u, err := url.Parse(args[0])
		if err != nil || u.Scheme != "http" || u.Host == "" {
			return fmt.Errorf("%s is not a URL of an address of --metrics, such as http://127.0.0.1:9090", finding.QuoteURL(args[0]))
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/readyz"
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		text, err := ask(ctx, u)
		if interrupted(cmd) != nil {
			return interrupted(cmd)
		}
		status := render.Done
		if err != nil {
			status, text = render.Negative, "not ready: "+err.Error()
		}
		p := render.New(cmd.OutOrStdout(), render.Text, build.Tool())
		p.Line("%s", finding.Printable(text))
		return p.Close(status.Err())
	}
	return cmd
}

// ask returns the first line of an answer with the status 200. Other answers are errors.
func ask(ctx context.Context, u *url.URL) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(q)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", errors.New("no answer in time")
	}
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	line, _ := bufio.NewReaderSize(http.MaxBytesReader(nil, answer.Body, 1024), 1024).ReadString('\n')
	if line = strings.TrimSpace(line); answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", answer.StatusCode, line)
	}
	return line, nil
}
