package jsonpatch

import "testing"

// The differences of the dialects, in the order of the table in docs/compaction.md. The
// results of the dialect client are those of fast-json-patch 3.1.1.
func TestDialectsDiffer(t *testing.T) {
	const fails, missing = "fails", ""
	for _, c := range []struct{ document, operation, rfc6902, client string }{
		{`[1,2]`, `{"op":"add","path":"/01","value":3}`, fails, `[1,3,2]`},
		{`[1,2]`, `{"op":"test","path":"/01","value":2}`, fails, `[1,2]`},
		{`[1,2]`, `{"op":"copy","from":"/0","path":"/01"}`, fails, `[1,1,2]`},
		{`[1,2]`, `{"op":"move","from":"/1","path":"/00"}`, fails, `[2,1]`},
		{`[1,2]`, `{"op":"remove","path":"/01"}`, fails, fails},
		{`[1,2]`, `{"op":"replace","path":"/01","value":3}`, fails, fails},

		{`[1,2]`, `{"op":"add","path":"/","value":3}`, fails, `[3,1,2]`},
		{`[1,2]`, `{"op":"test","path":"/","value":1}`, fails, `[1,2]`},
		{`[1,2]`, `{"op":"remove","path":"/"}`, fails, fails},

		{`[1,2]`, `{"op":"copy","from":"/0","path":"/5"}`, fails, `[1,2,1]`},
		{`[1,2]`, `{"op":"move","from":"/0","path":"/5"}`, fails, `[2,1]`},
		{`[1,2]`, `{"op":"add","path":"/5","value":3}`, fails, fails},

		{`[1,2]`, `{"op":"copy","from":"/0","path":"/4294967297"}`, fails, `[1,1,2]`},

		{`[[1],[2]]`, `{"op":"move","from":"/0","path":"/0/0"}`, fails, `[[[1],2]]`},
		{`{"a":{}}`, `{"op":"move","from":"/a","path":"/a/b"}`, fails, fails},

		{`{"a":1}`, `{"op":"remove","path":""}`, fails, `null`},
		{`{"a":1}`, `{"op":"copy","from":"/b","path":""}`, fails, missing},
		{`{"a":1}`, `{"op":"move","from":"/b","path":""}`, fails, missing},

		{`"x"`, `{"op":"add","path":"/a","value":1}`, fails, `"x"`},
		{`true`, `{"op":"add","path":"/a","value":1}`, fails, `true`},
		{`0`, `{"op":"remove","path":"/a"}`, fails, `0`},
		{`""`, `{"op":"replace","path":"/a","value":1}`, fails, `""`},
		{`1`, `{"op":"remove","path":"/a"}`, fails, fails},

		{`{}`, `{"op":"remove","path":"/toString"}`, fails, `{}`},
		{`{}`, `{"op":"replace","path":"/toString","value":1}`, fails, `{"toString":1}`},

		{`{}`, `{"op":"add","path":"/__proto__","value":1}`, `{"__proto__":1}`, fails},
		{`{"constructor":{}}`, `{"op":"add","path":"/constructor/prototype","value":1}`, `{"constructor":{"prototype":1}}`, fails},

		{`{}`, `{"op":"add","path":"/~2","value":1}`, fails, `{"~2":1}`},
	} {
		for dialect, want := range map[Dialect]string{RFC6902: c.rfc6902, Client: c.client} {
			d := newDocument(t, c.document)
			got := fails
			if err := d.Apply(read(t, []byte("["+c.operation+"]")), dialect, nil); err == nil {
				got = string(d.Append(nil))
			}
			if got != want {
				t.Errorf("%s of %s in dialect %s: %q, want %q", c.operation, c.document, dialect, got, want)
			}
		}
	}
}
