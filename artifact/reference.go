package artifact

import (
	"slices"
	"strconv"
	"strings"
)

// CheckReference returns the first rule of the contract that the reference s violates
// under V1, or the empty string.
func CheckReference(s string) (rule string) {
	switch {
	case IsBlank(s):
		return "A7"
	case runes(s) > V1.Limits().Ref:
		return refLength.v1
	}
	rule, _ = checkReference(s)
	return rule
}

// checkReference returns the first rule for references that s violates and the reason.
// Both are empty if s is valid. The order is A12, A13, A14, A27, A28, A29.
func checkReference(s string) (rule, why string) {
	switch {
	case strings.Contains(s, "://"):
		return "A12", "contains ://"
	case HasControl(s):
		return "A13", "contains a control character"
	case strings.ContainsFunc(s, IsSpace):
		return "A14", "contains white space"
	case namesNetwork(s):
		return "A27", "begins with // or www., as a link does"
	case hasScheme(s):
		return "A28", "begins with a URI scheme that programs open"
	case hasHost(s):
		return "A29", "begins with a host, as a link does"
	}
	return "", ""
}

// namesNetwork reports whether s begins with two slashes or backslashes, or with
// www. (A27).
func namesNetwork(s string) bool {
	slash := func(i int) bool { return s[i] == '/' || s[i] == '\\' }
	return len(s) >= 2 && slash(0) && slash(1) || len(s) >= 4 && lowerASCII(s[:4]) == "www."
}

// ForbiddenSchemes returns the URI schemes with which a reference must not begin (rule
// A28), in lower case and without the colon.
func ForbiddenSchemes() []string { return slices.Clone(schemes) }

// schemes are the schemes that programs open without two slashes, or that name the
// location of a file.
var schemes = []string{
	"about", "blob", "callto", "cid", "data", "facetime", "facetime-audio", "file", "filesystem", "ftp", "ftps",
	"geo", "gs", "http", "https", "intent", "irc", "ircs", "jar", "javascript", "ldap", "ldaps", "magnet", "mailto",
	"mid", "news", "nntp", "s3", "sftp", "sip", "sips", "skype", "sms", "ssh", "tel", "vbscript", "view-source",
	"vscode", "webcal", "ws", "wss", "xmpp",
}

// longestScheme is the length of the longest element of schemes.
const longestScheme = len("facetime-audio")

// hasScheme reports whether s begins with one of schemes and a colon.
func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s[:min(len(s), longestScheme+1)], ":")
	return ok && slices.Contains(schemes, lowerASCII(scheme))
}

// hasHost reports whether s begins with a host that is followed by a slash, a backslash,
// a question mark or a number sign (A29). After localhost or an IP address, a port is
// sufficient.
func hasHost(s string) bool {
	end := strings.IndexAny(s, `/\?#`)
	authority := s
	if end >= 0 {
		authority = s[:end]
	}
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	port := false
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && isDigits(host[colon+1:]) {
		host, port = host[:colon], true
	}
	if end < 0 && !port {
		return false
	}
	return isAddress(host) || end >= 0 && isDomain(host)
}

// isAddress reports whether host is localhost or an IP address.
func isAddress(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && strings.Count(inner, ":") >= 2 && strings.Trim(inner, "0123456789abcdefABCDEF:.") == ""
	}
	host = strings.TrimSuffix(host, ".")
	if len(host) > len("255.255.255.255") {
		return false
	}
	if lowerASCII(host) == "localhost" {
		return true
	}
	parts := strings.Split(host, ".")
	for _, part := range parts {
		if n, err := strconv.Atoi(part); err != nil || !isDigits(part) || len(part) > 3 || n > 255 {
			return false
		}
	}
	return len(parts) == 4
}

// isDomain reports whether host has two or more labels separated by dots, and its last
// label does not begin with a digit.
func isDomain(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.LastIndexByte(host, '.')
	if last < 0 || last+1 == len(host) || isDigit(host[last+1]) {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.ContainsFunc(label, isNotLabelRune) {
			return false
		}
	}
	return true
}

func isNotLabelRune(r rune) bool {
	return r <= 0x7f && !(isDigit(byte(r)) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' || r == '%')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func lowerASCII(s string) string { return strings.Map(lower, s) }
