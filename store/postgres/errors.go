package postgres

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Codes of errors of PostgreSQL, from appendix A of its documentation.
const (
	restrictViolation    = "23001"
	uniqueViolation      = "23505"
	readOnlyTransaction  = "25006"
	invalidPassword      = "28P01"
	invalidAuthorization = "28000"
	unknownDatabase      = "3D000"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	insufficientRights   = "42501"
	undefinedTable       = "42P01"
	diskFull             = "53100"
	tooManyConnections   = "53300"
	statementTimeout     = "57014"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
	lockTimeout          = "55P03"
)

// code returns the code of an error of PostgreSQL, or "".
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// gone reports whether an error means that the server cannot be reached now. After a restart
// the same call can succeed.
func gone(err error) bool {
	switch code(err) {
	case adminShutdown, crashShutdown, cannotConnectNow:
		return true
	case "":
	default:
		return false
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// unsent reports whether an error came before a statement was sent.
func unsent(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || pgconn.SafeToRetry(err)
}

// explain says what an error means and what to do. The text of an error of pgx has no
// password.
func explain(err error) error {
	if _, ok := err.(*explained); ok {
		return err
	}
	var next string
	switch c := code(err); c {
	case invalidPassword, invalidAuthorization:
		next = "the server refused the user or the password; check both"
	case unknownDatabase:
		next = "create the database with createdb"
	case tooManyConnections:
		next = "the server has no connection left; raise its max_connections or close other programs"
	case diskFull:
		next = "the server's disk is full; free space on it and try again"
	case insufficientRights:
		next = "grant the user the rights that docs/serialization.md lists, or use the owner of the schema"
	case readOnlyTransaction:
		next = "the server is a standby, or default_transaction_read_only is on; name the primary, add target_session_attrs=read-write to the URL, or turn the setting off for the user and the database"
	case statementTimeout, lockTimeout:
		next = "a timeout of the server ended the statement; try again, or raise statement_timeout and lock_timeout for the user"
	case undefinedTable:
		next = "the tables of the log are gone; restore them from a backup"
	default:
		var certificate *tls.CertificateVerificationError
		if errors.As(err, &certificate) {
			next = "the certificate of the server is not trusted; name its CA with sslrootcert in the URL"
			break
		}
		if !gone(err) {
			return err
		}
		next = "the PostgreSQL server cannot be reached or ended the connection; see that it runs, and try again"
	}
	return &explained{next, err}
}

// explained is an error with what it means and what to do.
type explained struct {
	next string
	err  error
}

func (e *explained) Unwrap() error { return e.err }

// Error returns one line. The text of pgx has a line for each attempt to connect, but only what
// the server said matters.
func (e *explained) Error() string {
	var connect *pgconn.ConnectError
	var said *pgconn.PgError
	if errors.As(e.err, &connect) && errors.As(e.err, &said) {
		return e.next + ": " + said.Error()
	}
	lines := strings.Split(e.err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return e.next + ": " + strings.Join(lines, "; ")
}
