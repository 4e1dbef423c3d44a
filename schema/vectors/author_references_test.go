package vectors_test

import (
	"fmt"
	"strings"
)

// resolving adds references that programs could open, and references that only look similar.
func (a *author) resolving() {
	const all = 3
	keys := [all]string{"thread_id_ref", "run_id_ref", "parent_run_id_ref"}
	n := 0 // the keys take turns
	add := func(rule, kind string, about string, good bool, texts ...string) {
		for i, text := range texts {
			key := keys[n%all]
			n++
			name, file := fmt.Sprintf("%s-%02d", kind, i+1), value(finished, key, inJSON(text))
			if good {
				a.ok(rule, name, about, file)
			} else {
				a.bad(rule, name, about, file, "ref_not_opaque /"+key)
			}
		}
	}
	for _, key := range keys {
		name := strings.TrimSuffix(strings.ReplaceAll(key, "_", "-"), "-ref")
		for rule, text := range map[string]string{"A27": "//example.com", "A28": "javascript:x", "A29": "example.com/x"} {
			a.bad(rule, name, key+" could be opened", value(finished, key, inJSON(text)), "ref_not_opaque /"+key)
		}
	}
	add("A27", "slashes", "two slashes or backslashes at the start", false, "//a/b", "//", `\\host\share`, `/\a`, `\/a`, "///a")
	add("A27", "www", "www. at the start, in any case", false, "www.", "www.example.com", "WWW.a", "wWw.a")
	add("A27", "none", "a beginning that names no host", true, "/a/b", "/", `\a`, "a//b", `a\\b`, "www", "www-1", "ww.", "aww.www.b", "ww\u1e89.a", "ｗｗｗ.a")

	schemes := strings.Fields("about blob callto cid data facetime facetime-audio file filesystem ftp ftps geo gs http https intent irc ircs jar javascript ldap ldaps magnet mailto mid news nntp s3 sftp sip sips skype sms ssh tel vbscript view-source vscode webcal ws wss xmpp")
	for i, s := range schemes {
		add("A28", s, "a scheme and a colon at the start", false, []string{s + ":1", strings.ToUpper(s) + ":1"}[i%2])
		add("A28", s+"-none", "a longer name is no such scheme", true, []string{"x" + s + ":1", s + "x:1", s + "-1", s}[i%4])
	}
	add("A28", "case", "in any case", false, "JavaScript:alert(1)", "DATA:,x", "mailTo:a@b.c")
	add("A28", "rest", "whatever follows the colon", false, "data:", "mailto::", "file:../x", "tel:+1-2", "http:a/b")
	add("A28", "none", "any other scheme is part of a name", true, "thread:7", "run:7", "session:7", "urn:uuid:3f8a2f6e", "git:abc", "slack:C1:2.3", "a:b:c", ":", "mailto", "run:http:1", "mail:to", "mailto;a", "mailto\u02d0a",
		"ſms:1", "s\u212aype:1", "ﬁle:1", "view_source:1")

	add("A29", "name", "a name of a host and what follows one in a link", false, "example.com/", "example.com/x", "Example.COM/x", `example.com\x`, "example.com?x", "example.com#x", "a.b.c.d/x", "a-b_c.d/x", "a%20b.c/x", "1.x/y", "-.-/x", "_.a/x", "a.b9/x", "thread.x/1", "xn--e1afmkfd.xn--p1ai/x")
	add("A29", "unicode", "labels past ASCII", false, "é.fr/x", "a.é/x", "例え.テスト/x", "😀.x/y", "a.\u0661/x")
	add("A29", "port", "a port after the host", false, "example.com:8080/x", "example.com:0?x", "a.b:00000000001#x", "localhost:3000/x", "10.0.0.1:80/x", "[::1]:80/x")
	add("A29", "dot", "a dot at the end of the host", false, "example.com./x", "example.com.:80/x", "localhost./x", "10.0.0.1./x", "localhost.:80", "10.0.0.1.:80")
	add("A29", "user", "a user before the host", false, "user@example.com/x", "user:secret@example.com:8080/x", "a@b@example.com/x", "@example.com/x", "a,b!@example.com/x", "user@localhost/x", "user@localhost:3000", "user@[::1]:22", "a:b:c@10.0.0.1:22")
	add("A29", "localhost", "localhost", false, "localhost/x", `localhost\x`, "localhost?x", "localhost#x", "LOCALHOST/x", "localhost:3000", "LocalHost:1")
	add("A29", "ipv4", "an IPv4 address", false, "10.0.0.1/x", "0.0.0.0#x", "255.255.255.255/x", "010.000.00.255/x", "10.0.0.1:80")
	add("A29", "ipv6", "an IPv6 address in brackets", false, "[::1]/x", "[::]?x", "[2001:DB8::1]/x", "[2001:db8::1]:80", "[::ffff:1.2.3.4]/x", "[:::::]/x")
	add("A29", "opaque", "no host, or nothing that follows one in a link", true, "a/b", "thread:7/1", "a/b.c/d", "v1.2/run", "v1.2.3/run", "thread.7", "thread.7/1", "a.9b/x", "a.b.9/x", "thread.x", "example.com", "example.com.", "thread.x:80", "example.com:8080", "user@example.com", "user@example.com:25", "../run", "./run", "run@host#1", "x@y/z", "?", "#/", ":80/x", "@", "@/x")
	add("A29", "no-name", "no name of a host", true, "a..b/x", ".a.b/x", "a.b../x", "./x", "../x", "a,b.c,d/x", "a!b.c/x", "a.b:/x", "a.b:8x/y", "a.b:80:90/x", "a.b:x:1/y", "a.b;1/x", "a.b~/x", "a.(b)/x", "a+b.c/x", "[a.b]/x", "実行。開始/1", "a\uff0eb/x")
	add("A29", "no-localhost", "not localhost", true, "localhost", "localhost.", "localhost:", "localhost:x", "localhost:3000x", "localhosts/x", "localhost../x", "loca\u017fhost/x", "mylocalhost:80", "localhost,1/x", "localhost:٣", "localhost:80:90")
	add("A29", "no-address", "no IP address", true, "10.0.0.1", "10.0.0.1.", "10.0.0.1:", "256.0.0.1/x", "1.2.3/x", "1.2.3.4.5/x", "0001.2.3.4/x", "1..3.4/x", "1.2.3.4x:5", "[::1]", "[::1]:", "[1]/2", "[a:b]/x", "[a]:80", "[::1/x", "::1]/x", "[::g]/x", "[::1]x/y", "[]/x", "x[::1]/y", "[::1%25eth0]/x", "::1:80")

	ref := func(text string) string { return value(finished, "run_id_ref", inJSON(text)) }
	a.bad("A27", "several-faults", "one finding, though it breaks A14, A27 and A29", ref("www.a b.c/d e"), "ref_not_opaque /run_id_ref")
	a.bad("A28", "too-long-too", "a scheme in a reference that is too long", ref("mailto:⟦a*256⟧"), "ref_not_opaque /run_id_ref", "too_long /run_id_ref")
	a.bad("A29", "too-long-too", "a host in a reference that is too long", ref("⟦a.*256⟧b/"), "ref_not_opaque /run_id_ref", "too_long /run_id_ref")
	a.bad("A29", "half-pair", "not judged of a reference that holds half of a pair", value(finished, "run_id_ref", `"example.com/\ud800"`), "lone_surrogate /run_id_ref")
	a.bad("A29", "escaped", "a host spelled with escapes", value(finished, "run_id_ref", `"example\u002ecom\/x"`), "ref_not_opaque /run_id_ref")
}
