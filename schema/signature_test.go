package schema_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// TestSignature checks signatures that sign wrote, and small edits of them. The schema accepts whatever
// decodes with the payload type of records.
func TestSignature(t *testing.T) {
	t.Parallel()
	var signers []sign.Signer
	for _, kind := range []sign.KeyType{sign.Ed25519, sign.ECDSAP256} {
		key, err := sign.NewPrivateKey(kind)
		if err != nil {
			t.Fatal(err)
		}
		signers = append(signers, key)
	}
	record := testkit.Read(t, lane+"frozen/finished.record.json")
	written, err := sign.Sign(t.Context(), sign.PayloadType, record, signers...)
	if err != nil {
		t.Fatal(err)
	}
	many := make([]any, sign.MaxSignatures+1)
	for i := range many {
		many[i] = object{"sig": ""}
	}
	for _, c := range []struct {
		name   string
		change func(o, first object)
		want   bool
	}{
		{"as it was written", func(o, first object) {}, true},
		{"an unknown key", func(o, first object) { o["x"], first["cert"] = 1.0, "x" }, true},
		{"no keyid", func(o, first object) { delete(first, "keyid") }, true},
		{"the URL alphabet", func(o, first object) { o["payload"] = base64.URLEncoding.EncodeToString([]byte("\xff\xff\xff\xfe")) }, true},
		{"an empty payload", func(o, first object) { o["payload"] = "" }, true},
		{"another payload type", func(o, first object) { o["payloadType"] = "application/json" }, false},
		{"no payload type", func(o, first object) { delete(o, "payloadType") }, false},
		{"no payload", func(o, first object) { delete(o, "payload") }, false},
		{"no signatures", func(o, first object) { delete(o, "signatures") }, false},
		{"no sig", func(o, first object) { delete(first, "sig") }, false},
		{"an empty list", func(o, first object) { o["signatures"] = []any{} }, false},
		{"64 signatures", func(o, first object) { o["signatures"] = many[1:] }, true},
		{"65 signatures", func(o, first object) { o["signatures"] = many }, false},
		{"a payload that is truncated", func(o, first object) { o["payload"] = o["payload"].(string)[1:] }, false},
		{"a payload with a line break", func(o, first object) { o["payload"] = o["payload"].(string) + "\n" }, false},
		{"a payload that is an object", func(o, first object) { o["payload"] = object{} }, false},
		{"a sig without padding", func(o, first object) { first["sig"] = strings.TrimRight(first["sig"].(string), "=") }, false},
		{"both alphabets", func(o, first object) { first["sig"] = "+A_/" }, false},
		{"a keyid that is a number", func(o, first object) { first["keyid"] = 1.0 }, false},
	} {
		value, err := schematest.Parse(written)
		if err != nil {
			t.Fatal(err)
		}
		o := value.(object)
		c.change(o, o["signatures"].([]any)[0].(object))
		data := encoded(t, o)
		err = schematest.Check(schema.Signature, data)
		if err != nil && !isRefusal(err) {
			t.Fatal(err)
		}
		if (err == nil) != c.want {
			t.Errorf("%s: %v, want accepted %t", c.name, err, c.want)
		}
		e, err := sign.Decode(data)
		if decoded := err == nil && e.PayloadType == sign.PayloadType; decoded != c.want {
			t.Errorf("%s: the reader: %v, want accepted %t", c.name, err, c.want)
		}
	}
}
