package processes

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// StartNginx starts nginx on a free port, and returns it with its address. It passes each part of
// a response on at once, and gives each server in turn a request. The directory gets its files.
// The command that is in front of nginx's own, if any, runs it.
func StartNginx(ctx context.Context, program, dir string, servers []string, front ...string) (*Process, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := listener.Addr().String()
	listener.Close()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, "", err
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := page.WriteFile(config, fmt.Appendf(nil, `daemon off;
worker_processes auto;
pid nginx.pid;
error_log stderr notice;
events {
	worker_connections 4096;
}
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	upstream servers {
		zone servers 64k;
		server %s;
		keepalive 256;
	}
	server {
		listen %s;
		location / {
			proxy_pass http://servers;
			proxy_http_version 1.1;
			proxy_set_header Host $http_host;
			proxy_set_header Connection "";
			proxy_buffering off;
		}
	}
}
`, strings.Join(servers, ";\n\t\tserver "), address)); err != nil {
		return nil, "", err
	}
	started := func(line string) string {
		if strings.Contains(line, "start worker process ") {
			return address
		}
		return ""
	}
	return Start(ctx, started, append(front, program, "-p", dir, "-c", config, "-e", "stderr")...)
}
