package logs

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// An Observer sees what others do with a PostgreSQL log.
type Observer struct{ conn *pgx.Conn }

// Observe connects to a PostgreSQL log.
func (l *Log) Observe(ctx context.Context) (*Observer, error) {
	c, err := pgx.Connect(ctx, l.Address)
	if err != nil {
		return nil, err
	}
	return &Observer{c}, nil
}

// Close closes the connection.
func (o *Observer) Close(ctx context.Context) error { return o.conn.Close(ctx) }

// Process returns the number of the server's process for this connection. Its parent is also the
// parent of the server's other processes.
func (o *Observer) Process() int { return int(o.conn.PgConn().PID()) }

// WAL returns how many bytes of the write-ahead log the server has written so far.
func (o *Observer) WAL(ctx context.Context) (bytes int64, err error) {
	err = o.conn.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&bytes)
	return bytes, err
}

// Connections returns the number of connections whose application_name is name.
func (o *Observer) Connections(ctx context.Context, name string) (n int, err error) {
	err = o.conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", name).Scan(&n)
	return n, err
}
