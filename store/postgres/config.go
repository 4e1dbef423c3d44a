package postgres

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Limits of a log.
const (
	// maxConns limits the connections of an open log, without the one that listens.
	// PostgreSQL allows 100 by default, for all its clients.
	maxConns = 8
	// maxIdle is the time after which a connection that is not used is closed.
	maxIdle = 5 * time.Minute
	// connectTimeout is the time in which a server must accept a connection, unless the URL
	// has a connect_timeout.
	connectTimeout = 10 * time.Second
	// keepAlive is the time after which a connection is tested when nothing arrives.
	keepAlive = 15 * time.Second
)

// DefaultSchema is the schema of the tables, unless the URL has the parameter search_path.
const DefaultSchema = "p20export"

// A config says how to connect to a database.
type config struct {
	conn *pgx.ConnConfig
	// schema is the schema of the tables.
	schema string
}

// parseConfig parses the URL of a database. What the URL does not say is taken from the
// environment variables, the password file and the service file of PostgreSQL's own programs.
// No error contains any part of the URL that can have a password.
func parseConfig(address string) (config, error) {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return config{}, errors.New("the URL of a PostgreSQL database begins with postgres://")
	}
	if ambiguous(address) {
		return config{}, errors.New("the URL of the PostgreSQL database has an @ after its server: write @ as %40 there, and the characters / ? # of a password as %2F %3F %23")
	}
	conn, err := pgx.ParseConfig(address)
	if err != nil {
		return config{}, fmt.Errorf("the URL of the PostgreSQL database is not valid: %s", parseReason(err))
	}
	c := config{conn: conn, schema: DefaultSchema}
	params := conn.RuntimeParams
	if path, ok := params["search_path"]; ok {
		c.schema = path
	}
	if !plainName(c.schema) {
		return config{}, fmt.Errorf("the parameter search_path of the URL is not one name of up to 63 of the characters a-z, 0-9 and _: %.80q", c.schema)
	}
	params["search_path"] = c.schema
	switch params["synchronous_commit"] {
	case "":
		// The database can have another default, which would lose what Append promised.
		params["synchronous_commit"] = "on"
	case "off":
		return config{}, errors.New("the parameter synchronous_commit of the URL is off, but a log must survive a crash of the server; remove the parameter")
	}
	params["default_transaction_isolation"] = "read committed"
	if params["application_name"] == "" {
		params["application_name"] = "p20export"
	}
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	dialer := &net.Dialer{Timeout: conn.ConnectTimeout, KeepAlive: keepAlive}
	conn.DialFunc = dialer.DialContext
	return c, nil
}

// parseReason returns why an address is not valid. It quotes no part of the address, because
// a malformed one does not show what is a password.
func parseReason(err error) string {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return "it cannot be parsed"
	}
	// The text is "cannot parse `...`: reason: value (cause)", with the address in it.
	text := err.Error()
	reason := strings.TrimPrefix(text[strings.LastIndex(text, "`: ")+1:], ": ")
	if strings.HasPrefix(reason, "failed to configure TLS (") || strings.HasPrefix(reason, "failed to read service (") {
		return reason // these causes are about files
	}
	if end := strings.IndexAny(reason, ":("); end >= 0 {
		reason = strings.TrimSpace(reason[:end])
	}
	return reason
}

// ambiguous reports whether an address has an @ that can belong to a password with characters
// that are not encoded: such a password would be taken as a port and the name of a database,
// which errors show.
func ambiguous(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	return !strings.Contains(authority, "@") && strings.Contains(authority, ":") && strings.Contains(rest, "@")
}

// plainName reports whether an identifier needs no quotes in SQL and in search_path.
func plainName(name string) bool {
	if name == "" || len(name) > 63 || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for _, c := range []byte(name) {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
