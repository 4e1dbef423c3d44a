package sign

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode checks that an envelope that decodes encodes to one that decodes to the same, and
// that this is within the limits.
func FuzzDecode(f *testing.F) {
	w := newWorld(f)
	f.Add(w.sign(w.record, w.ann))
	f.Add(w.sign(nil, w.bob, w.carl))
	f.Add([]byte(`{"payloadType":"t","payload":"-_-_","signatures":[{"sig":""},{"keyid":"\ud800","sig":"AA==","x":[]}]}`))
	f.Add([]byte(`{"payloadType":"\u0000","payload":"","signatures":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			return
		}
		if n := len(e.Signatures); n == 0 || n > MaxSignatures {
			t.Errorf("%d signatures", n)
		}
		encoded, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(encoded)
		if diff := cmp.Diff(e, again); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(twice, encoded) {
			t.Errorf("%v\n%s\n%s", err, encoded, twice)
		}
	})
}

// FuzzTrust checks that trust files never panic, and that what is trusted is within the limits
// and can be used.
func FuzzTrust(f *testing.F) {
	w := newWorld(f)
	ann, bob, root := string(w.ann.Public().PEM()), string(w.bob.Public().PEM()), string(w.authority.Root.PEM())
	private, err := w.ann.PEM(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", ann, "name: ann\nvalid-from: 2026-01-01T00:00:00Z\n" + ann + "# next\n" + bob, root, ann[:50] + "\n" + bob, string(private), "-----BEGIN PUBLIC KEY-----\na: b\n\n-----END PUBLIC KEY-----\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		trust := &Trust{}
		if err := trust.add(data, "file"); err != nil {
			return
		}
		blocks := bytes.Count(data, []byte(begin))
		if trust.Keys()+trust.Authorities() != blocks || blocks == 0 {
			t.Fatalf("%d keys and %d authorities of %d blocks", trust.Keys(), trust.Authorities(), blocks)
		}
		for _, k := range trust.keys {
			if k.name == "" || k.Verify(nil, nil) || k.Type != Ed25519 && k.Type != ECDSAP256 {
				t.Errorf("%q of type %s", k.name, k.Type)
			}
			again := &Trust{}
			if err := again.add(k.PEM(), "again"); err != nil || again.keys[0].ID != k.ID {
				t.Errorf("again: %v", err)
			}
		}
	})
}

// FuzzPrivateKey checks that the files of keys never panic and demand no more than the limits,
// and that a key that is read signs.
func FuzzPrivateKey(f *testing.F) {
	phrase := []byte("correct horse")
	for _, kind := range []KeyType{Ed25519, ECDSAP256} {
		key := newKey(f, kind)
		for _, p := range [][]byte{nil, phrase} {
			file, err := key.PEM(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(file)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := ParsePrivateKey(data, phrase)
		if err != nil {
			if key != nil {
				t.Error("a key and an error")
			}
			return
		}
		signature, err := key.Sign(t.Context(), data)
		if err != nil || !key.Public().Verify(data, signature) {
			t.Errorf("it does not sign: %v", err)
		}
	})
}
