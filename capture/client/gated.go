package client

import (
	"context"
	"net"
	"sync"
)

// gated is a connection that reads nothing before the first byte is written, so
// that what a server says unasked is read as its answer. On an idle connection
// net/http would write it to the standard logger.
type gated struct {
	net.Conn
	once  sync.Once
	asked chan struct{}
}

// dialGated connects as a transport does by itself.
func dialGated(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gated{Conn: conn, asked: make(chan struct{})}, nil
}

func (g *gated) open() { g.once.Do(func() { close(g.asked) }) }

func (g *gated) Read(p []byte) (int, error) {
	<-g.asked
	return g.Conn.Read(p)
}

func (g *gated) Write(p []byte) (int, error) {
	g.open()
	return g.Conn.Write(p)
}

func (g *gated) Close() error {
	g.open()
	return g.Conn.Close()
}
