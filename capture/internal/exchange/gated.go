package exchange

import (
	"context"
	"net"
	"sync"
)

// gated is a connection whose Read waits for the first Write. Bytes that a server
// sends before the request are thus read as the response. On an idle connection,
// net/http would write them to the standard logger.
type gated struct {
	net.Conn
	once    sync.Once
	written chan struct{}
}

// Dial dials like the default transport. It returns a connection whose Read waits for the
// first Write.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gated{Conn: conn, written: make(chan struct{})}, nil
}

func (g *gated) open() { g.once.Do(func() { close(g.written) }) }

func (g *gated) Read(p []byte) (int, error) {
	<-g.written
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
