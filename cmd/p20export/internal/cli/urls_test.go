package cli_test

import (
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
)

func TestLooksLikeURL(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{
		"http://127.0.0.1/": true, "http:/127.0.0.1/": true, "http//127.0.0.1/": true, "://127.0.0.1/": true,
		"ann:hunter2@127.0.0.1": true, "--store=postgres://db/x": true, "a=http://127.0.0.1/": true, "sqlite:///x": true,
		"": false, "-": false, "captures/one": false, "C:/captures": false, `C:\captures\a@b`: false, "ann@example.org": false,
		"captures/12:30@x": false, "./ann:1@x": false, "sqlite:p@ss": true, "12:30": false, "http/x": false,
	} {
		if got := cli.LooksLikeURL(arg); got != want {
			t.Errorf("%q: %v", arg, got)
		}
	}
}

func TestHideURLs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ arg, text, want string }{
		{"http://ann:hunter2@h/", `unknown command "http://ann:hunter2@h/"`, `unknown command "http://…@h/"`},
		{"http://ann:hunter2@h/", "http:/ann:hunter2@h/x is missing", "http:/…@h/x is missing"},
		{"http:///ann:hunter2@h/", "http:/ann:hunter2@h", "http:/…@h"},
		{"--store=db://a@b:c@h/?d=e#f", `"--store=db://a@b:c@h/?d=e#f"`, `"--store=db://…@h/?…"`},
		{"http//ann:hunter2@h", "http//ann:hunter2@h", "…@h"},
		{"ann:hunter2@h", "ann:hunter2@h", "…@h"},
		{"http://\x7f\"\\@h", `"http://\u007f\"\\@h" "http://\x7f\"\\@h"`, `"http://…@h" "http://…@h"`},
		{"http://@h?", "http://@h?", "http://@h?"},
		{"http://h/", "http://h/", "http://h/"},
		{"a@b", "thread a@b", "thread a@b"},
		{"http://h/?q", `--upstream "http://h/?q" cannot have a query`, `--upstream "http://h/?…" cannot have a query`},
		{"http://h/#f", "http://h/#f has a fragment", "http://h/#… has a fragment"},
		{"http://a:b@h/", "http://a:b@h/ has an a and a b", "http://…@h/ has an a and a b"},
	} {
		if got := cli.HideURLs(test.text, []string{"x", test.arg}); got != test.want {
			t.Errorf("%q: %q, want %q", test.arg, got, test.want)
		}
	}
}
