package client

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
)

// maxHeader limits the size of a file with the value of a header.
const maxHeader = 64 << 10

// HeaderError reports an invalid request header. It never contains the value.
type HeaderError struct {
	Name string // empty if the name is invalid
	Err  error
}

// Error returns the name of the header, if it is valid, and the cause.
func (e *HeaderError) Error() string {
	if e.Name == "" {
		return "a header is " + e.Err.Error()
	}
	return "header " + finding.Quote(e.Name) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *HeaderError) Unwrap() error { return e.Err }

// ReadHeaders returns the headers given as 'Name: [words] @file' or 'Name: [words]
// $VARIABLE'. It rejects literal values, to keep secrets off the command line. Errors
// never contain a value.
func ReadHeaders(ctx context.Context, given []string) (http.Header, error) {
	header := make(http.Header)
	for _, h := range given {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsFunc(name, notInToken) {
			return nil, &HeaderError{Err: errors.New("not 'Name: @file' or 'Name: $VARIABLE'")}
		}
		at := strings.LastIndexAny(value, "@$")
		if at < 0 || at > 0 && value[at-1] != ' ' || at == len(value)-1 {
			return nil, &HeaderError{name, errors.New("give the value as @file or $VARIABLE in single quotes; a value on the command line can be read by others")}
		}
		source := value[at+1:]
		var secret string
		if value[at] == '@' {
			data, err := capture.ReadFile(ctx, source, maxHeader)
			if err != nil {
				return nil, &HeaderError{name, err}
			}
			secret = strings.TrimRight(string(data), "\r\n")
		} else if secret, ok = os.LookupEnv(strings.Trim(source, "{}")); !ok {
			return nil, &HeaderError{name, errors.New("the environment variable is not set")}
		}
		if strings.ContainsFunc(secret, notInValue) {
			return nil, &HeaderError{name, errors.New("the value has several lines or contains a control character")}
		}
		header.Add(name, value[:at]+secret)
	}
	return header, nil
}

// notInToken reports whether r is not allowed in the name of a header (RFC 9110
// §5.6.2).
func notInToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// notInValue reports whether r is not allowed in the value of a header (RFC 9110
// §5.5).
func notInValue(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
