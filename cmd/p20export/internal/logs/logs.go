// Package logs opens the event log that a URL names.
//
// It knows the forms of such URLs, and which adapter serves which. No error and no other
// text of the package contains a password.
package logs

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/p20export/p20export/finding"
)

// Address is the address of a log.
type Address struct {
	// file is an SQLite database. If it is empty, server is a PostgreSQL database.
	file   string
	server *url.URL
}

// secrets are the parameters of a URL that are passwords.
var secrets = []string{"password", "sslpassword"}

// Parse parses the URL of a log: sqlite:FILE, or postgres://USER@HOST/DATABASE.
func Parse(text string) (Address, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "sqlite":
		return parseFile(rest)
	case "postgres", "postgresql":
		return parseServer(text)
	}
	// The text can contain a password, for example in another scheme.
	return Address{}, errors.New("not the URL of a log; write sqlite:FILE or postgres://USER@HOST/DATABASE")
}

func parseFile(file string) (Address, error) {
	if rest, ok := strings.CutPrefix(file, "//"); ok && !strings.HasPrefix(rest, "/") {
		if strings.ContainsAny(rest, "@?#") {
			rest = "FILE" // it can contain a password
		}
		return Address{}, fmt.Errorf("sqlite:// has a host; write sqlite:%s for a file in the working directory", finding.Escape(rest))
	}
	switch {
	case strings.Contains(file, "://"):
		return Address{}, errors.New("sqlite: is followed by a URL; write sqlite:FILE, or only postgres://USER@HOST/DATABASE")
	case file == "":
		return Address{}, errors.New("sqlite: without a file; write sqlite:FILE")
	case strings.HasPrefix(file, ":"):
		return Address{}, fmt.Errorf("%s is not a file; a log in memory would be lost", finding.Quote(file))
	case strings.ContainsRune(file, 0):
		return Address{}, errors.New("the name of the file contains U+0000")
	}
	return Address{file: file}, nil
}

// parseServer parses the URL of a PostgreSQL database. Errors of package url quote the URL,
// so they are not returned.
func parseServer(text string) (Address, error) {
	u, err := url.Parse(text)
	if err == nil {
		_, err = url.ParseQuery(u.RawQuery)
	}
	switch {
	case err != nil:
		return Address{}, errors.New("not a valid URL; write postgres://USER@HOST/DATABASE, with %40 for @ and %2F for / in a name")
	case u.Opaque != "" || !strings.HasPrefix(text[len(u.Scheme):], "://"):
		return Address{}, errors.New("not the URL of a PostgreSQL database; write postgres://USER@HOST/DATABASE")
	case strings.Contains(u.EscapedPath()+u.RawQuery, "@"):
		// It can end a password with a slash or a question mark, which would be printed.
		return Address{}, errors.New("the URL has an @ after the server; write %40 for it, and %2F and %3F for / and ? in a name")
	case u.Fragment != "":
		return Address{}, errors.New("the URL of a PostgreSQL database has no fragment; write %23 for # in a name")
	}
	return Address{server: u}, nil
}

// HasPassword reports whether the address contains a password.
func (a Address) HasPassword() bool {
	if a.server == nil {
		return false
	}
	if _, has := a.server.User.Password(); has {
		return true
	}
	query := a.server.Query()
	for _, name := range secrets {
		if query.Has(name) {
			return true
		}
	}
	return false
}

// WithPassword returns the address with a password of the database.
func (a Address) WithPassword(password string) (Address, error) {
	if a.server == nil {
		return a, errors.New("an SQLite database has no password")
	}
	u := *a.server
	query := u.Query()
	query.Del("password")
	u.RawQuery = query.Encode()
	u.User = url.UserPassword(u.User.Username(), password)
	return Address{server: &u}, nil
}

// String returns the address without passwords.
func (a Address) String() string {
	if a.server == nil {
		return "sqlite:" + a.file
	}
	u := *a.server
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	if query := u.Query(); len(query) > 0 {
		for _, name := range secrets {
			query.Del(name)
		}
		u.RawQuery = query.Encode()
	}
	return u.String()
}
