package sign

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit/authority"
)

// attempt is what a verifier is given: at first a record that ann has signed, without a
// token, and trust in everyone.
type attempt struct {
	*world
	files  Files
	trust  []trusted
	policy Policy
}

// envelope replaces the signature by one with the given payload and signatures.
func (a *attempt) envelope(payloadType string, payload []byte, signatures ...Signed) {
	data, err := (&Envelope{payloadType, payload, signatures}).Encode()
	if err != nil {
		a.t.Fatal(err)
	}
	a.files.Envelope = data
}

// replace replaces text of the signature file, which must be there.
func (a *attempt) replace(old, with string) {
	a.t.Helper()
	changed := bytes.Replace(a.files.Envelope, []byte(old), []byte(with), 1)
	if bytes.Equal(changed, a.files.Envelope) {
		a.t.Fatalf("%q is not in the signature", old)
	}
	a.files.Envelope = changed
}

// by returns a signature of the record by a key, named by its key id.
func (a *attempt) by(k *PrivateKey) Signed { return Signed{k.Public().ID, a.over(k, a.record)} }

// over returns the signature of a payload by a key.
func (a *attempt) over(k *PrivateKey, payload []byte) []byte {
	signature, err := k.Sign(a.t.Context(), (&Envelope{PayloadType: PayloadType, Payload: payload}).message())
	if err != nil {
		a.t.Fatal(err)
	}
	return signature
}

// stamp adds a token over the signature.
func (a *attempt) stamp(changes ...func(*authority.Answer)) {
	a.files.Token = a.authority.Over(a.files.Envelope, changes...)
}

// stampBy adds a token that another certificate of the trusted authority has signed.
func (a *attempt) stampBy(change func(*x509.Certificate)) {
	a.files.Token = a.authority.With(authority.Issue(a.t, a.authority.Root, change)).Over(a.files.Envelope)
}

// limit limits the trust in ann or the authority.
func (a *attempt) limit(name, notes string) {
	for i := range a.trust {
		if a.trust[i].name == name {
			a.trust[i].notes = notes
		}
	}
}

// at sets the time of a token.
func at(t time.Time) func(*authority.Answer) {
	return func(a *authority.Answer) { a.Time = t }
}

type hostileCase struct {
	name  string
	make  func(a *attempt)
	state State
	codes string // of the findings, in the order in which they were found
	part  string // of their messages
}

// hostileCases have everything in signatures that a verifier must not be deceived by, and some
// oddities that it must accept.
func hostileCases() []hostileCase {
	now := time.Now()
	return []hostileCase{
		// Who has signed.
		{"signed by another key", func(a *attempt) { a.files.Envelope = a.sign(a.record, a.eve) }, IsUntrusted, "signature_untrusted", "is not by a trusted key"},
		{"another key with the key id of a trusted one", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, a.over(a.eve, a.record)})
		}, IsBroken, "signature_broken", `signature 1 names the trusted key "ann", but is not valid`},
		{"a trusted key with the key id of another trusted one", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.bob.Public().ID, a.over(a.ann, a.record)})
		}, IsBroken, "signature_broken", `names the trusted key "bob"`},
		{"a trusted key with the other key id of another trusted one", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.bob.Public().otherID, a.over(a.ann, a.record)})
		}, IsBroken, "signature_broken", `names the trusted key "bob"`},
		{"the other key id of the key itself", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().otherID, a.over(a.ann, a.record)})
		}, IsSigned, "", ""},
		{"a trusted key with an unknown key id", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{"0000", a.over(a.ann, a.record)})
		}, IsSigned, "", ""},
		{"no key id", func(a *attempt) { a.envelope(PayloadType, a.record, Signed{"", a.over(a.bob, a.record)}) }, IsSigned, "", ""},
		{"a key id that is only the beginning of a trusted one", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID[:63], a.over(a.eve, a.record)})
		}, IsUntrusted, "signature_untrusted", "signature 1 with the key id "},
		{"a key id with control characters", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{"\x1b[2J\u202e", a.over(a.eve, a.record)})
		}, IsUntrusted, "signature_untrusted", `with the key id \u001b[2J\u202e`},
		{"a good one and a broken one that names a trusted key", func(a *attempt) {
			a.envelope(PayloadType, a.record, a.by(a.ann), Signed{a.bob.Public().ID, a.over(a.eve, a.record)})
		}, IsBroken, "signature_broken", `signature 2 names the trusted key "bob"`},
		{"a good one and a broken one of the same key", func(a *attempt) {
			a.envelope(PayloadType, a.record, a.by(a.ann), Signed{a.ann.Public().ID, a.over(a.ann, a.other)})
		}, IsBroken, "signature_broken", `signature 2 names the trusted key "ann"`},
		{"a good one and one of an unknown key", func(a *attempt) {
			a.envelope(PayloadType, a.record, a.by(a.eve), a.by(a.ann))
		}, IsSigned, "signature_untrusted", "signature 1 with the key id"},
		{"one of two that are required", func(a *attempt) { a.policy.Threshold = 2 }, IsUntrusted, "", ""},
		{"one of two that are required, and that is an error", func(a *attempt) {
			a.policy.Threshold, a.policy.RequireSignature = 2, true
		}, IsUntrusted, "signature_missing", "1 of the 2 required"},
		{"the same signature twice towards two", func(a *attempt) {
			a.envelope(PayloadType, a.record, a.by(a.ann), a.by(a.ann))
			a.policy.Threshold = 2
		}, IsUntrusted, "signature_repeated", `signature 2 is another one of the key "ann"`},
		{"two signatures of one key towards two, one without a key id", func(a *attempt) {
			a.envelope(PayloadType, a.record, a.by(a.bob), Signed{"", a.over(a.bob, a.record)})
			a.policy.Threshold = 2
		}, IsUntrusted, "signature_repeated", `another one of the key "bob", which counts once`},
		{"two signatures of one key towards two, under both key ids", func(a *attempt) {
			a.envelope(PayloadType, a.record, a.by(a.bob), Signed{a.bob.Public().otherID, a.over(a.bob, a.record)})
			a.policy.Threshold = 2
		}, IsUntrusted, "signature_repeated", `another one of the key "bob"`},
		{"a trusted one and an unknown one towards two", func(a *attempt) {
			a.files.Envelope = a.sign(a.record, a.ann, a.eve)
			a.policy.Threshold = 2
		}, IsUntrusted, "signature_untrusted", "signature 2 with"},

		// What was signed.
		{"another payload type", func(a *attempt) { a.files.Envelope = a.signAs("application/json", a.record, a.ann) }, IsBroken, "signature_of_another", `the payload type is "application/json"`},
		{"the payload type changed afterwards", func(a *attempt) { a.replace(PayloadType, "text/plain") }, IsBroken, "signature_of_another", `the payload type is "text/plain"`},
		{"the payload type in capitals", func(a *attempt) {
			a.files.Envelope = a.signAs(strings.ToUpper(PayloadType), a.record, a.ann)
		}, IsBroken, "signature_of_another", "the payload type is"},
		{"no payload type", func(a *attempt) { a.files.Envelope = a.signAs("", a.record, a.ann) }, IsBroken, "signature_of_another", `the payload type is ""`},
		{"the signature of another record", func(a *attempt) { a.files.Envelope = a.sign(a.other, a.ann) }, IsBroken, "signature_of_another", "the payload is not the bytes of the record"},
		{"another record next to the signature", func(a *attempt) { a.record = a.other }, IsBroken, "signature_of_another", "the payload is not the bytes of the record"},
		{"the payload of this record with the signature of another", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, a.over(a.ann, a.other)})
		}, IsBroken, "signature_broken", `names the trusted key "ann"`},
		{"the payload of this record with the signature of another, without a key id", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{"", a.over(a.ann, a.other)})
		}, IsUntrusted, "signature_untrusted", "signature 1 is not by"},
		{"white space removed from the record", func(a *attempt) {
			a.files.Envelope = a.sign(bytes.ReplaceAll(a.record, []byte(" "), nil), a.ann)
		}, IsBroken, "signature_of_another", "not the bytes"},
		{"the keys of the record in another order", func(a *attempt) {
			a.files.Envelope = a.sign([]byte(`{"subject":[1, 2],"_type":"https://in-toto.io/Statement/v1"}`+"\n"), a.ann)
		}, IsBroken, "signature_of_another", "not the bytes"},
		{"CRLF at the end of the record", func(a *attempt) {
			a.files.Envelope = a.sign(bytes.ReplaceAll(a.record, []byte("\n"), []byte("\r\n")), a.ann)
		}, IsBroken, "signature_of_another", "not the bytes"},
		{"no line feed at the end of the record", func(a *attempt) { a.files.Envelope = a.sign(bytes.TrimSpace(a.record), a.ann) }, IsBroken, "signature_of_another", "not the bytes"},
		{"an empty payload", func(a *attempt) { a.files.Envelope = a.sign(nil, a.ann) }, IsBroken, "signature_of_another", "not the bytes"},
		{"the payload signed without its type", func(a *attempt) {
			signature, _ := a.ann.Sign(a.t.Context(), a.record)
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, signature})
		}, IsBroken, "signature_broken", `the trusted key "ann"`},
		{"a length of the signed message that is another", func(a *attempt) {
			signature, _ := a.ann.Sign(a.t.Context(), fmt.Appendf(nil, "DSSEv1 %d %s 0%d %s", len(PayloadType), PayloadType, len(a.record), a.record))
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, signature})
		}, IsBroken, "signature_broken", `the trusted key "ann"`},

		// Signatures in another form.
		{"ECDSA as two numbers", func(a *attempt) {
			var pair struct{ R, S *big.Int }
			if _, err := asn1.Unmarshal(a.over(a.bob, a.record), &pair); err != nil {
				a.t.Fatal(err)
			}
			a.envelope(PayloadType, a.record, Signed{a.bob.Public().ID, append(pair.R.FillBytes(make([]byte, 32)), pair.S.FillBytes(make([]byte, 32))...)})
		}, IsBroken, "signature_broken", `the trusted key "bob"`},
		{"ECDSA with data after it", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.bob.Public().ID, append(a.over(a.bob, a.record), 0)})
		}, IsBroken, "signature_broken", `the trusted key "bob"`},
		{"ECDSA over SHA-384", func(a *attempt) {
			sum := crypto.SHA384.New()
			sum.Write((&Envelope{PayloadType: PayloadType, Payload: a.record}).message())
			signature, _ := a.bob.signer.Sign(rand.Reader, sum.Sum(nil), crypto.SHA384)
			a.envelope(PayloadType, a.record, Signed{a.bob.Public().ID, signature})
		}, IsBroken, "signature_broken", `the trusted key "bob"`},
		{"ECDSA of zero", func(a *attempt) {
			zero, _ := asn1.Marshal(struct{ R, S int }{})
			a.envelope(PayloadType, a.record, Signed{a.bob.Public().ID, zero})
		}, IsBroken, "signature_broken", `the trusted key "bob"`},
		{"Ed25519 with one byte less", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, a.over(a.ann, a.record)[:63]})
		}, IsBroken, "signature_broken", `the trusted key "ann"`},
		{"Ed25519 of zeros", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, make([]byte, 64)})
		}, IsBroken, "signature_broken", `the trusted key "ann"`},
		{"an empty sig", func(a *attempt) { a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, nil}) }, IsBroken, "signature_broken", `the trusted key "ann"`},
		{"an empty sig without a key id", func(a *attempt) { a.envelope(PayloadType, a.record, Signed{}) }, IsUntrusted, "signature_untrusted", "signature 1 is not"},

		// The file.
		{"no signature", func(a *attempt) { a.files.Envelope = nil }, IsUnsigned, "", ""},
		{"no signature, and one is required", func(a *attempt) { a.files.Envelope, a.policy.RequireSignature = nil, true }, IsUnsigned, "signature_missing", "0 of the 1 required"},
		{"the signatures stripped", func(a *attempt) { a.envelope(PayloadType, a.record) }, IsBroken, "signature_malformed", "it has no signature"},
		{"the list of signatures stripped", func(a *attempt) {
			a.files.Envelope = fmt.Appendf(nil, `{"payloadType":%q,"payload":%q}`, PayloadType, encode64(a.record))
		}, IsBroken, "signature_malformed", "signatures is missing"},
		{"an empty file", func(a *attempt) { a.files.Envelope = []byte{} }, IsBroken, "signature_malformed", "not JSON of a DSSE envelope"},
		{"the record in its place", func(a *attempt) { a.files.Envelope = a.record }, IsBroken, "signature_malformed", "one of payloadType, payload and signatures is missing"},
		{"a file that is cut", func(a *attempt) { a.files.Envelope = a.files.Envelope[:len(a.files.Envelope)-4] }, IsBroken, "signature_malformed", "not JSON"},
		{"data after the object", func(a *attempt) { a.files.Envelope = append(a.files.Envelope, "{}"...) }, IsBroken, "signature_malformed", "not JSON"},
		{"a truncated payload", func(a *attempt) {
			text := encode64(a.record)
			a.replace(text, text[:len(text)-1])
		}, IsBroken, "signature_malformed", "the payload: illegal base64"},
		{"a truncated sig", func(a *attempt) {
			text := encode64(a.over(a.ann, a.record))
			a.replace(text, text[:len(text)-3])
		}, IsBroken, "signature_malformed", "signature 1: illegal base64"},
		{"trailing bits in a sig", func(a *attempt) { // 64 bytes leave four bits, which are zero
			text := encode64(a.over(a.ann, a.record))
			last := strings.IndexByte(base64Alphabet, text[85])
			a.replace(text, text[:85]+base64Alphabet[last+1:last+2]+"==")
		}, IsBroken, "signature_malformed", "signature 1: illegal base64"},
		{"a line break in a sig", func(a *attempt) {
			text := encode64(a.over(a.ann, a.record))
			a.replace(text, text[:44]+`\n`+text[44:])
		}, IsBroken, "signature_malformed", "signature 1: base64 with line breaks"},
		{"a line break at the end of the payload", func(a *attempt) { a.replace(encode64(a.record), encode64(a.record)+`\r\n`) }, IsBroken, "signature_malformed", "the payload: base64 with line breaks"},
		{"base64 without padding", func(a *attempt) {
			text := encode64(a.over(a.ann, a.record))
			a.replace(text, strings.TrimRight(text, "="))
		}, IsBroken, "signature_malformed", "illegal base64"},
		{"both base64 alphabets at once", func(a *attempt) { a.replace(encode64(a.over(a.ann, a.record))[:4], "+-_/") }, IsBroken, "signature_malformed", "illegal base64"},
		{"the URL alphabet", func(a *attempt) {
			signature := a.over(a.ann, a.record)
			a.files.Envelope = fmt.Appendf(nil, `{"payloadType":%q,"payload":%q,"signatures":[{"sig":%q}]}`, PayloadType, base64.URLEncoding.EncodeToString(a.record), base64.URLEncoding.EncodeToString(signature))
		}, IsSigned, "", ""},
		{"65 signatures", func(a *attempt) {
			a.envelope(PayloadType, a.record, slices.Repeat([]Signed{a.by(a.ann)}, MaxSignatures+1)...)
		}, IsBroken, "signature_malformed", "it has 65 signatures; the limit is 64"},
		{"64 signatures by strangers before the one that counts", func(a *attempt) {
			a.envelope(PayloadType, a.record, append(slices.Repeat([]Signed{{"", make([]byte, 64)}}, MaxSignatures-1), a.by(a.ann))...)
		}, IsSigned, strings.TrimSpace(strings.Repeat("signature_untrusted ", MaxSignatures-1)), "signature 63 is not"},
		{"a million bytes of key id", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{strings.Repeat("f", 1<<20), a.over(a.ann, a.record)})
		}, IsBroken, "signature_malformed", "the key id of signature 1 has 1048576 bytes"},
		{"a signature of 1025 bytes", func(a *attempt) {
			a.envelope(PayloadType, a.record, a.by(a.ann), Signed{"", make([]byte, maxSignature+3)})
		}, IsBroken, "signature_malformed", "signature 2 has more than 1024 bytes"},
		{"payload twice", func(a *attempt) {
			a.replace(`"signatures"`, fmt.Sprintf(`"payload":%q,"signatures"`, encode64(a.other)))
		}, IsBroken, "signature_malformed", "duplicate"},
		{"keyid twice", func(a *attempt) { a.replace(`"sig":`, `"keyid":"","sig":`) }, IsBroken, "signature_malformed", "duplicate"},
		{"payload in capitals beside payload", func(a *attempt) {
			a.replace(`"signatures"`, fmt.Sprintf(`"PAYLOAD":%q,"signatures"`, encode64(a.other)))
		}, IsSigned, "", ""},
		{"only Payload in capitals", func(a *attempt) { a.replace(`"payload"`, `"Payload"`) }, IsBroken, "signature_malformed", "one of payloadType"},
		{"unknown members", func(a *attempt) {
			a.replace(`"signatures"`, `"comment":{"a":[1,null]},"signatures"`)
			a.replace(`"sig":`, `"cert":"x","sig":`)
		}, IsSigned, "", ""},
		{"invalid UTF-8", func(a *attempt) { a.replace(`"keyid":"`, "\"keyid\":\"\xff") }, IsBroken, "signature_malformed", "invalid UTF-8"},
		{"a byte order mark", func(a *attempt) { a.files.Envelope = append([]byte("\xef\xbb\xbf"), a.files.Envelope...) }, IsBroken, "signature_malformed", "not JSON"},
		{"deep JSON", func(a *attempt) {
			a.replace(`"signatures"`, `"x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`,"signatures"`)
		}, IsBroken, "signature_malformed", "exceeded max depth"},
		{"signatures that are null", func(a *attempt) {
			a.files.Envelope = fmt.Appendf(nil, `{"payloadType":%q,"payload":%q,"signatures":null}`, PayloadType, encode64(a.record))
		}, IsBroken, "signature_malformed", "is missing"},
		{"a signature that is null", func(a *attempt) { a.replace(`"signatures":[`, `"signatures":[null,`) }, IsBroken, "signature_malformed", "signature 1 has no sig"},
		{"a sig that is a number", func(a *attempt) { a.replace(`"signatures":[`, `"signatures":[{"sig":1},`) }, IsBroken, "signature_malformed", "not JSON of a DSSE envelope"},
		{"a payload that is an object", func(a *attempt) { a.replace(fmt.Sprintf("%q", encode64(a.record)), string(bytes.TrimSpace(a.record))) }, IsBroken, "signature_malformed", "not JSON of a DSSE envelope"},

		// When keys are trusted.
		{"a key that is not trusted yet", func(a *attempt) { a.limit("ann", from(now.Add(time.Hour))) }, IsUntrusted, "signature_expired", `the key "ann" is trusted only from`},
		{"a key that is not trusted any more", func(a *attempt) { a.limit("ann", until(now.Add(-time.Hour))) }, IsUntrusted, "signature_expired", "(clock)"},
		{"a key that was not trusted at the given time", func(a *attempt) {
			a.limit("ann", from(now.Add(-time.Hour)))
			a.policy.At = now.Add(-2 * time.Hour)
		}, IsUntrusted, "signature_expired", "(given)"},
		{"a key that was trusted at the given time", func(a *attempt) {
			a.limit("ann", until(now.Add(-time.Hour)))
			a.policy.At = now.Add(-2 * time.Hour)
		}, IsSigned, "", ""},
		{"a key that was not trusted at the time of the token", func(a *attempt) {
			a.limit("ann", until(now.Add(-2*time.Hour)))
			a.policy.At = now.Add(-3 * time.Hour)
			a.stamp(at(now.Add(-time.Hour)))
		}, IsUntrusted, "signature_expired", "(token)"},
		{"a key that was trusted at the time of the token, but not at the given time", func(a *attempt) {
			a.limit("ann", until(now.Add(-2*time.Hour)))
			a.policy.At = now
			a.stamp(at(now.Add(-3 * time.Hour)))
		}, IsSigned, "", ""},
		{"a key that was trusted only within the accuracy of the token", func(a *attempt) {
			a.limit("ann", until(now.Add(-time.Hour)))
			a.stamp(at(now.Add(-2*time.Hour)), func(a *authority.Answer) { a.Accuracy.Seconds = 2 * 60 * 60 })
		}, IsUntrusted, "signature_expired", "(token)"},
		{"a key whose trust begins in the very moment of the given time", func(a *attempt) {
			a.policy.At = now.Truncate(time.Second)
			a.limit("ann", from(a.policy.At))
		}, IsSigned, "", ""},
		{"a key whose trust ends in the very moment of the given time", func(a *attempt) {
			a.policy.At = now.Truncate(time.Second)
			a.limit("ann", until(a.policy.At))
		}, IsUntrusted, "signature_expired", "until"},
		{"a key that is not trusted any more, and a token of a stranger from before", func(a *attempt) {
			a.limit("ann", until(now.Add(-time.Hour)))
			a.files.Token = a.stranger.Over(a.files.Envelope, at(now.Add(-2*time.Hour)))
		}, IsUntrusted, "token_untrusted signature_expired", "no trusted authority has issued"},
		{"two keys towards two, one not trusted any more", func(a *attempt) {
			a.files.Envelope = a.sign(a.record, a.ann, a.bob)
			a.limit("ann", until(now.Add(-time.Hour)))
			a.policy.Threshold = 2
		}, IsUntrusted, "signature_expired", `the key "ann"`},
	}
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// TestHostile gives verifiers what should deceive them. Every case has its state and its
// findings; what is signed in spite of its name is so on purpose.
func TestHostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := append(hostileCases(), hostileTokens()...)
	if len(cases) < 60 {
		t.Errorf("only %d cases", len(cases))
	}
	names := make(map[string]bool)
	for _, c := range cases {
		if names[c.name] {
			t.Errorf("%s is there twice", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			mine := *w
			mine.t = t
			a := &attempt{world: &mine, trust: w.everyone()}
			a.files.Envelope = a.sign(a.record, a.ann)
			c.make(a)
			var err error
			if a.policy.Trust, err = a.world.trust(a.trust...); err != nil {
				t.Fatal(err)
			}
			result, found := a.policy.Check(a.t.Context(), a.record, a.files)
			var codes, messages []string
			for _, f := range found {
				codes, messages = append(codes, string(f.Code)), append(messages, f.Message)
			}
			if diff := cmp.Diff([2]string{string(c.state), c.codes}, [2]string{string(result.State), strings.Join(codes, " ")}); diff != "" {
				t.Errorf("state and codes (-want +got):\n%s%s", diff, strings.Join(messages, "\n"))
			}
			if all := strings.Join(messages, "\n"); !strings.Contains(all, c.part) || c.part == "" && all != "" {
				t.Errorf("%q is not in the messages:\n%s", c.part, all)
			}
			a.checkWithoutTrust(found)
		})
	}
}

// checkWithoutTrust checks that a verifier without trust finds nothing but what one with
// trust finds, and all that needs none.
func (a *attempt) checkWithoutTrust(found []finding.Finding) {
	a.t.Helper()
	want := []finding.Finding{}
	for _, f := range found {
		switch f.Code {
		case finding.SignatureMalformed, finding.SignatureOfAnother, finding.TokenMalformed, finding.TokenOfAnother, finding.TokenBroken:
			want = append(want, f)
		}
	}
	result, got := (&Policy{}).Check(a.t.Context(), a.record, a.files)
	got = slices.DeleteFunc(append([]finding.Finding{}, got...), func(f finding.Finding) bool { return f.Code == finding.SignatureUnjudged })
	if diff := cmp.Diff(want, got); diff != "" || result != nil {
		a.t.Errorf("without trust (-want +got): %v\n%s", result, diff)
	}
}
