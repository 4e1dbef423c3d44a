package artifact_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
)

func contract(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// blocks returns the code blocks of a rule, up to the next rule.
func blocks(t *testing.T, rule string) (all []string) {
	t.Helper()
	_, text, ok := strings.Cut(contract(t), `<a id="`+rule+`">`)
	if !ok {
		t.Fatalf("the contract has no %s", rule)
	}
	text, _, _ = strings.Cut(text, "<a id=")
	for _, m := range regexp.MustCompile("(?s)\n```\n(.*?)```\n").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestRefFault(t *testing.T) {
	for rule, refs := range map[string][]string{
		"": {
			"r", "thread-1", "3f8a2f6e-0d2f-4d5c-9e59-0c8a3a7d5b11", "thread:7", "run:7", "thread:7/1", "urn:uuid:3f8a2f6e", "git:abc", "session:7", "slack:C1:2.3",
			"a/b", "a/b//c", "/a/b", `\a`, "/", "a:/b", "../run", "./run", "run@host#1?x=y&z", "v1.2/run", "thread.7", "thread.7/1", "thread.x", "thread.x:80", "example.com", "example.com:8080",
			"user@example.com", "localhost", "localhost:", "localhost:x", "localhost:3000x", "localhosts/x", "10.0.0.1", "10.0.0.1:", "256.0.0.1/x", "1.2.3/x", "1.2.3.4.5/x", "0001.2.3.4/x", "1.2.3.x4:5",
			"[::1]", "[1]/2", "[a]:80", "[::1/x", "[::g]/x", "[::1]x/y", "[]/x", "a..b/x", ".a.b/x", "a.b../x", "a.b:/x", "a.b:8x/y", "a.b:80:90/x", "a.b,c/x", "a.9b/x", "a.b.9/x",
			"www", "www-1", "WWW", "data", "datax:1", "xdata:1", "file-1:2", "ſms:1", "s\u212aype:1", "locaſhost/x", "wwẉ.x", "@", "@/x", ":80/x", ":80", "?", "#", "é.9/x", "javascript", "http", "a@b/c",
			"実行。開始/1", "facetime-audios:1", "mailto;x",
		},
		"A12": {"://", "a://b", "//a://b", "www.a://b", "file:///x", "a.b/c?x=d://e f"},
		"A13": {"//a\x00", "www.\x1b", "mailto:a\u009f", "a.b/\x7f", "a\nb"},
		"A14": {"// a", "www. a", "mailto:a b", "a.b/c d", " //a", " www.a"},
		"A27": {"//", "//a/b", `\\a\b`, `/\a`, `\/a`, "///", "www.", "www.a", "WWW.a", "wWw.example.com/x"},
		"A28": {"javascript:x", "JavaScript:x", "data:,", "file:/x", "file:x", "mailto:a@b.c", "tel:1", "http:a", "HTTPS:a/b", "view-source:x", "facetime-audio:x", "s3:a/b", "ws:", "about:blank"},
		"A29": {
			"example.com/", "example.com/x", "Example.COM/x", "example.com:8080/x", "example.com./x", "example.com.:80/x", `example.com\x`, "example.com?x", "example.com#x", "a.b.c/x", "a-b.c_d/x", "a%20b.c/x", "1.x/y",
			"é.fr/x", "a.é/x", "例え.テスト/x", "😀.x/y", "xn--e1afmkfd.xn--p1ai/x", "thread.x/1", "a.b9/x", "-.-/x",
			"localhost/x", "LOCALHOST/x", "localhost./x", "localhost:3000/x", "localhost:3000", "LocalHost:1", "localhost.:80", "localhost?x",
			"10.0.0.1/x", "10.0.0.1:80/x", "10.0.0.1:80", "10.0.0.1.:80", "010.000.0.255/x", "0.0.0.0#x",
			"[::1]/x", "[::1]:80/x", "[::1]:80", "[::]?x", "[2001:DB8::1]/x", "[::ffff:1.2.3.4]:80",
			"user@example.com/x", "user:secret@example.com:8080/x", "a@b@example.com/x", "@example.com/x", "root@localhost:22", "root@10.0.0.1:22", "a:b:c@[::1]:22",
		},
	} {
		for _, ref := range refs {
			if got, why := artifact.RefFault(ref); got != rule || (why == "") != (rule == "") {
				t.Errorf("%q: %q (%s), want %q", ref, got, why, rule)
			}
		}
	}
	for _, scheme := range artifact.ForbiddenSchemes() {
		for _, ref := range []string{scheme + ":", strings.ToUpper(scheme) + ":x"} {
			if got, _ := artifact.RefFault(ref); got != "A28" {
				t.Errorf("%q: %q", ref, got)
			}
		}
		if got, _ := artifact.RefFault("x" + scheme + ":1"); got != "" {
			t.Errorf("x%s:1: %q", scheme, got)
		}
	}
}

// The contract lists the same schemes.
func TestSchemesAreTheContracts(t *testing.T) {
	if diff := cmp.Diff([]string{strings.Join(artifact.ForbiddenSchemes(), " ") + "\n"}, blocks(t, "A28")); diff != "" {
		t.Error(diff)
	}
}
