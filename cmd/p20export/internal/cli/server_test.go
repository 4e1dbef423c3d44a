package cli

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// By default, a server listens only on loopback addresses. Every error names the flag and
// the next step.
func TestCheckAddress(t *testing.T) {
	for _, test := range []struct {
		address string
		remote  bool
		want    string
	}{
		{"127.0.0.1:0", false, ""},
		{"127.1.2.3:8080", false, ""},
		{"[::1]:8080", false, ""},
		{"localhost:8080", false, ""},
		{"0.0.0.0:8080", true, ""},
		{":8080", true, ""},
		{"agent.example:8080", true, ""},
		{"", false, `--listen "" must be HOST:PORT, such as 127.0.0.1:8080`},
		{"8080", false, `--listen "8080" must be HOST:PORT, such as 127.0.0.1:8080`},
		{"http://127.0.0.1:8080", false, `--listen "http://127.0.0.1:8080" must be HOST:PORT, such as 127.0.0.1:8080`},
		{"127.0.0.1:http", false, `--listen "127.0.0.1:http": the port must be a number from 0 to 65535; 0 is a free port`},
		{"127.0.0.1:65536", false, `--listen "127.0.0.1:65536": the port must be a number from 0 to 65535; 0 is a free port`},
		{"0.0.0.0:80", false, `--listen "0.0.0.0:80" is not a loopback address, and other machines could connect; use 127.0.0.1, or add --allow-remote`},
		{":80", false, `--listen ":80" means all addresses of this machine, and other machines could connect; use 127.0.0.1, or add --allow-remote`},
		{"[::]:80", false, `--listen "[::]:80" is not a loopback address, and other machines could connect; use 127.0.0.1, or add --allow-remote`},
		{"agent.example:80", false, `--listen "agent.example:80" is not a loopback address, and other machines could connect; use 127.0.0.1, or add --allow-remote`},
	} {
		s := Server{AllowRemote: test.remote}
		got := ""
		if err := s.CheckAddress("listen", test.address); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.address, got, test.want)
		}
	}
}

// An address that is in use is no mistake on the command line.
func TestListen(t *testing.T) {
	s := Server{}
	l, err := s.Listen("listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if port := l.Addr().(*net.TCPAddr).Port; port == 0 {
		t.Error("there is no port")
	}
	_, err = s.Listen("metrics", l.Addr().String())
	if !errors.Is(err, ErrListen) || !strings.Contains(err.Error(), "--metrics") || !strings.Contains(err.Error(), "in use\nnext: ") {
		t.Errorf("%v", err)
	}
}

func TestServerFlags(t *testing.T) {
	for _, test := range []struct{ args, format, want string }{
		{"--listen 127.0.0.1:0", "", ""},
		{"--log-format text", "text", ""},
		{"--log-format json", "json", ""},
		{"--log-format xml", "", `invalid argument "xml" for "--log-format" flag: must be text or json`},
	} {
		cmd := &cobra.Command{Use: "proxy"}
		s := AddServer(cmd)
		got := ""
		if err := cmd.ParseFlags(strings.Fields(test.args)); err != nil {
			got = err.Error()
		}
		if got != test.want || s.LogFormat != test.format {
			t.Errorf("%s: %q, format %q", test.args, got, s.LogFormat)
		}
	}
}
