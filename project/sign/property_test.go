package sign

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestEveryByteCounts changes one byte of what the signature covers: of the record, or of the
// payload or signature in the envelope. It is never signed then.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trust, err := w.trust(w.everyone()...)
	if err != nil {
		t.Fatal(err)
	}
	policy := &Policy{Trust: trust}
	for _, by := range []Signer{w.ann, w.bob} {
		good, err := Decode(w.sign(w.record, by))
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			e := &Envelope{good.PayloadType, bytes.Clone(good.Payload), []Signed{{good.Signatures[0].KeyID, bytes.Clone(good.Signatures[0].Bytes)}}}
			record := bytes.Clone(w.record)
			part := rapid.SampledFrom([]string{"record", "payload", "both", "signature", "key id removed"}).Draw(t, "part")
			flip := byte(rapid.IntRange(1, 255).Draw(t, "flip"))
			change := func(parts ...[]byte) {
				at := rapid.IntRange(0, len(parts[0])-1).Draw(t, "at")
				for _, b := range parts {
					b[at] ^= flip
				}
			}
			switch part {
			case "record":
				change(record)
			case "payload":
				change(e.Payload)
			case "both":
				change(record, e.Payload)
			case "key id removed":
				e.Signatures[0].KeyID = ""
				change(e.Signatures[0].Bytes)
			default:
				change(e.Signatures[0].Bytes)
			}
			data, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if result, found := policy.Check(context.Background(), record, Files{Envelope: data}); result.State == IsSigned {
				t.Errorf("signed, with %v", found)
			}
		})
	}
}

// TestSigningInSteps signs a record with some keys in any order and in any number of steps.
// Every key is then a signer, and what was signed earlier stays byte for byte.
func TestSigningInSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trust, err := w.trust(w.everyone()...)
	if err != nil {
		t.Fatal(err)
	}
	names := map[Signer]string{w.ann: "ann", w.bob: "bob", w.carl: "carl"}
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.SliceOf(rapid.Byte()).Draw(t, "record")
		var files Files
		signed := make(map[string]bool)
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			var step []Signer
			for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 2), 1, 3, rapid.ID[int]).Draw(t, "signers") {
				step = append(step, []Signer{w.ann, w.bob, w.carl}[i])
			}
			added := slices.ContainsFunc(step, func(s Signer) bool { return !signed[names[s]] })
			s := &Settings{Signers: step}
			if s.IsMade(record, files) == added {
				t.Errorf("it is made: %t", added)
			}
			made, err := s.Make(w.t.Context(), record, files)
			if err != nil || made.NewEnvelope != added {
				t.Fatalf("new: %t, %v", made.NewEnvelope, err)
			}
			if files.Envelope != nil {
				if before := bytes.TrimSuffix(files.Envelope, []byte("]}\n")); !bytes.HasPrefix(made.Envelope, before) {
					t.Errorf("%s\nis now\n%s", files.Envelope, made.Envelope)
				}
			}
			files = made.Files
			for _, one := range step {
				signed[names[one]] = true
			}
		}
		result, found := (&Policy{Trust: trust, Threshold: len(signed), RequireSignature: true}).Check(context.Background(), record, files)
		got := make(map[string]bool)
		for _, s := range result.Signers {
			got[s.Name] = true
		}
		if diff := cmp.Diff(signed, got); diff != "" || len(found) > 0 || result.State != IsSigned {
			t.Errorf("%s, %v, signers (-want +got):\n%s", result.State, found, diff)
		}
	})
}
