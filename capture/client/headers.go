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

// maxHeader bounds a header's value in a file.
const maxHeader = 64 << 10

// HeaderError says why a request header cannot be made. It quotes no value.
type HeaderError struct {
	Name string // empty where it is no name
	Err  error
}

// Error names the header, where it can be named.
func (e *HeaderError) Error() string {
	if e.Name == "" {
		return "a header is " + e.Err.Error()
	}
	return "header " + finding.Quote(e.Name) + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *HeaderError) Unwrap() error { return e.Err }

// ReadHeaders resolves 'Name: [words] @file' and 'Name: [words] $VARIABLE'.
// Literal values are refused, so that secrets stay off the command line. No
// error quotes a value.
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
			return nil, &HeaderError{name, errors.New("the environment variable it names is not set")}
		}
		if strings.ContainsFunc(secret, notInValue) {
			return nil, &HeaderError{name, errors.New("the value spans lines or holds a control character")}
		}
		header.Add(name, value[:at]+secret)
	}
	return header, nil
}

// notInToken reports whether r may not stand in a header's name (RFC 9110
// §5.6.2).
func notInToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// notInValue reports whether r may not stand in a header's value (RFC 9110
// §5.5).
func notInValue(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
