package cli

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/finding"
)

// ErrListen is in the errors of Server.Listen. It marks failures that are not mistakes on
// the command line.
var ErrListen = errors.New("cannot listen")

// Server has the values of the flags that AddServer adds.
type Server struct {
	// Address is the address to listen on.
	Address string
	// AllowRemote permits addresses that other machines can reach.
	AllowRemote bool
	// LogFormat is text, json or, if the flag was not given, empty.
	LogFormat string
}

// logFormats are the values of --log-format.
var logFormats = []string{"text", "json"}

// logFormatFlag is the value of --log-format.
type logFormatFlag struct{ target *string }

// String implements pflag.Value.
func (f logFormatFlag) String() string { return *f.target }

// Set implements pflag.Value.
func (f logFormatFlag) Set(s string) error {
	if !slices.Contains(logFormats, s) {
		return fmt.Errorf("must be %s", strings.Join(logFormats, " or "))
	}
	*f.target = s
	return nil
}

// Type implements pflag.Value.
func (logFormatFlag) Type() string { return strings.Join(logFormats, "|") }

// AddServer adds the flags --listen, --allow-remote and --log-format to a command that
// serves HTTP. The first is not marked as required.
func AddServer(cmd *cobra.Command) *Server {
	s := &Server{}
	flags := cmd.Flags()
	flags.StringVar(&s.Address, "listen", "", "`ADDRESS` to listen on, such as 127.0.0.1:8080, or with port 0 a free port (required)")
	flags.BoolVar(&s.AllowRemote, "allow-remote", false, "allow addresses that other machines can reach")
	flags.Var(logFormatFlag{&s.LogFormat}, "log-format", "format of the log on standard error (default: text on a terminal, otherwise json)")
	Complete(cmd, "listen")
	Complete(cmd, "log-format", logFormats...)
	return s
}

// CheckAddress checks an address that a flag gives. Unless other machines are allowed, its
// host is a loopback address or localhost.
func (s *Server) CheckAddress(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--%s %s must be HOST:PORT, such as 127.0.0.1:8080", flag, finding.QuoteURL(address))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("--%s %s: the port must be a number from 0 to 65535; 0 is a free port", flag, finding.QuoteURL(address))
	}
	ip := net.ParseIP(host)
	if s.AllowRemote || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	which := "is not a loopback address"
	if host == "" {
		which = "means all addresses of this machine"
	}
	return fmt.Errorf("--%s %s %s, and other machines could connect; use 127.0.0.1, or add --allow-remote", flag, finding.QuoteURL(address), which)
}

// Listen listens on an address that CheckAddress accepted. The error names the flag.
func (s *Server) Listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		if at, ok := l.Addr().(*net.TCPAddr); !s.AllowRemote && (!ok || !at.IP.IsLoopback()) { // of localhost
			l.Close()
			return nil, fmt.Errorf("--%s %s is not a loopback address on this machine; use 127.0.0.1, or add --allow-remote", flag, finding.QuoteURL(address))
		}
		return l, nil
	}
	next := "check the address"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		next = "stop the other program, or choose another port; port 0 is a free port"
	case errors.Is(err, syscall.EACCES):
		next = "choose a port above 1023, or allow this program to use lower ports"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		next = "choose an address of this machine"
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		err = failed.Err
	}
	return nil, fmt.Errorf("%w: --%s %s: %w\nnext: %s", ErrListen, flag, finding.QuoteURL(address), err, next)
}
