package cli

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/p20export/p20export/finding"
)

// urlLike matches URLs, also malformed ones and those without a scheme but with a password, and
// not the paths of Windows, which begin with a single letter.
var urlLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`://|^[A-Za-z][A-Za-z0-9+.-]+:/|^https?//|^[^/=]{2,}:[^/]*@`)
})

// LooksLikeURL reports whether an argument is more likely a URL, perhaps a malformed one, than a
// path.
func LooksLikeURL(arg string) bool { return urlLike().MatchString(arg) }

// HideURLs returns the text of an error without what can be a user, a password or a query of the
// URLs among the arguments, as finding.QuoteURL does. The error can be one of another module, or
// about an argument that should not have been a URL.
func HideURLs(text string, args []string) string {
	for _, arg := range args {
		if !LooksLikeURL(arg) {
			continue
		}
		_, rest, ok := strings.Cut(arg, ":/")
		if !ok {
			rest = arg
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			text = hide(text, "", strings.TrimLeft(rest[:at], "/"), "@")
			rest = rest[at+1:]
		}
		if i := strings.IndexAny(rest, "?#"); i >= 0 {
			text = hide(text, rest[i:i+1], rest[i+1:], "")
		}
	}
	return text
}

// hide replaces a secret between two texts, in each form in which an error quotes it.
func hide(text, before, secret, after string) string {
	if secret == "" {
		return text
	}
	for _, form := range []string{`"` + secret + `"`, `"` + finding.Escape(secret) + `"`, finding.Quote(secret), strconv.Quote(secret)} {
		text = strings.ReplaceAll(text, before+form[1:len(form)-1]+after, before+"…"+after)
	}
	return text
}
