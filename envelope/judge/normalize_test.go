package judge

import "testing"

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2]}`, ` { "b" : [2.0], "a" : 10e-1 } `, true},
		{`9007199254740993`, `9007199254740992`, true},
		{`1`, `2`, false},
		{`1`, `"1"`, false},
		{`-0`, `0`, true},
		{`1e400`, `null`, true},
		{`[1,2]`, `[2,1]`, false},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`"\ud83d"`, `"\uD83D"`, true},
		{`"\ud83d"`, `"\ud83e"`, false},
		{`"\ud83d"`, `"\ufffd"`, false},
		{`"\\ud83d"`, `"\ud83d"`, false},
		{`"\ude00\ud83d"`, `"\ude00\ud83d"`, true},
		{`"\ud83d\ud83d\ude00"`, `"\ud83d😀"`, true},
		{`"` + mark + `d83d"`, `"\ud83d"`, false},
		{`{"\ud83d":1}`, `{"\ude00":1}`, false},
		{`<`, `<`, false},
		{`"<"`, `"\u003c"`, true},
		{`1 2`, `1 2`, false},
	} {
		if got := Equal(test.a, test.b); got != test.want {
			t.Errorf("Equal(%s, %s) = %t", test.a, test.b, got)
		}
	}
}
