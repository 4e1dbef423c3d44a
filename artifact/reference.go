package artifact

import (
	"slices"
	"strconv"
	"strings"
)

// CheckReference returns the rule of the contract that s breaks as a reference under
// V1, or nothing.
func CheckReference(s string) (rule string) {
	switch {
	case IsBlank(s):
		return "A7"
	case runes(s) > V1.Limits().Ref:
		return refLength.v1
	}
	rule, _ = refFault(s)
	return rule
}

// refFault says which rule of references s breaks first, and why; or nothing.
// The order is A12, A13, A14, A27, A28, A29.
func refFault(s string) (rule, why string) {
	switch {
	case strings.Contains(s, "://"):
		return "A12", "holds ://"
	case HasControl(s):
		return "A13", "holds a control character"
	case strings.ContainsFunc(s, IsSpace):
		return "A14", "holds white space"
	case namesNetwork(s):
		return "A27", "begins with // or www., as a link does"
	case hasScheme(s):
		return "A28", "begins with a scheme that programs open"
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

// ForbiddenSchemes lists what a reference must not begin with and a colon after it (rule
// A28), in lower case.
func ForbiddenSchemes() []string { return slices.Clone(schemes) }

// schemes are those that a program opens without the two slashes, or that name
// the place of a file.
var schemes = []string{
	"about", "blob", "callto", "cid", "data", "facetime", "facetime-audio", "file", "filesystem", "ftp", "ftps",
	"geo", "gs", "http", "https", "intent", "irc", "ircs", "jar", "javascript", "ldap", "ldaps", "magnet", "mailto",
	"mid", "news", "nntp", "s3", "sftp", "sip", "sips", "skype", "sms", "ssh", "tel", "vbscript", "view-source",
	"vscode", "webcal", "ws", "wss", "xmpp",
}

// longestScheme is the length of the longest of schemes.
const longestScheme = len("facetime-audio")

// hasScheme reports whether s begins with one of schemes and a colon.
func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s[:min(len(s), longestScheme+1)], ":")
	return ok && slices.Contains(schemes, lowerASCII(scheme))
}

// hasHost reports whether s begins with a host, where something follows it that
// only an address has: a slash, a backslash, a question mark or a number sign;
// or, after localhost or an IP address, a port alone (A29).
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

// isDomain reports whether host is two or more labels joined by dots, the last of
// which does not begin with a digit.
func isDomain(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.LastIndexByte(host, '.')
	if last < 0 || last+1 == len(host) || isDigit(host[last+1]) {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.ContainsFunc(label, notOfLabel) {
			return false
		}
	}
	return true
}

func notOfLabel(r rune) bool {
	return r <= 0x7f && !(isDigit(byte(r)) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' || r == '%')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func lowerASCII(s string) string { return strings.Map(lower, s) }
