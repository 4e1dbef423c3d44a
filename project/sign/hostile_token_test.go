package sign

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"time"

	"github.com/p20export/p20export/internal/testkit/authority"
)

// hostileTokens are more cases, with tokens that a verifier must not be deceived by.
func hostileTokens() []hostileCase {
	now := time.Now()
	return []hostileCase{
		{"a good token", func(a *attempt) { a.stamp() }, IsSigned, "", ""},
		{"a token, but no signature", func(a *attempt) {
			a.stamp()
			a.files.Envelope = nil
		}, IsBroken, "token_of_another", "no signature that it could be of"},
		{"a token that is required and missing", func(a *attempt) { a.policy.RequireTimestamp = true }, IsSigned, "token_missing", "no token of a trusted authority"},
		{"a token over another signature", func(a *attempt) { a.files.Token = a.authority.Over(a.sign(a.record, a.bob)) }, IsBroken, "token_of_another", "the digest differs"},
		{"a token over the record", func(a *attempt) { a.files.Token = a.authority.Over(a.record) }, IsBroken, "token_of_another", "not of this signature"},
		{"a signature added after the token", func(a *attempt) {
			a.stamp()
			a.files.Envelope = a.sign(a.record, a.ann, a.bob)
		}, IsBroken, "token_of_another", "not of this signature"},
		{"white space added to the signature after the token", func(a *attempt) {
			a.stamp()
			a.files.Envelope = append(a.files.Envelope, '\n')
		}, IsBroken, "token_of_another", "not of this signature"},
		{"an empty token", func(a *attempt) { a.files.Token = []byte{} }, IsBroken, "token_malformed", "not a time-stamp response"},
		{"a truncated token", func(a *attempt) {
			a.stamp()
			a.files.Token = a.files.Token[:len(a.files.Token)-1]
		}, IsBroken, "token_malformed", "not a time-stamp response"},
		{"a token with data after it", func(a *attempt) {
			a.stamp()
			a.files.Token = append(a.files.Token, 5, 0)
		}, IsBroken, "token_malformed", "data follows the response"},
		{"a token without its response", func(a *attempt) {
			a.stamp()
			var response struct{ Status, Token asn1.RawValue }
			if _, err := asn1.Unmarshal(a.files.Token, &response); err != nil {
				a.t.Fatal(err)
			}
			a.files.Token = response.Token.FullBytes
		}, IsBroken, "token_malformed", "not a time-stamp response"},
		{"a token with an indefinite length", func(a *attempt) { a.files.Token = []byte{0x30, 0x80, 0x30, 3, 2, 1, 0, 0, 0} }, IsBroken, "token_malformed", "not a time-stamp response"},
		{"a deeply nested token", func(a *attempt) { a.files.Token = nested(1000) }, IsBroken, "token_malformed", "nested too deeply"},
		{"a token of more than 256 kB", func(a *attempt) { a.files.Token = make([]byte, 256<<10+1) }, IsBroken, "token_malformed", "more than 262144 bytes"},
		{"a refusal in the place of a token", func(a *attempt) {
			a.stamp(func(a *authority.Answer) { a.Status, a.Text = 2, "not \x1b today" })
		}, IsBroken, "token_malformed", `the request is rejected ("not \x1b today")`},
		{"an authority that is not trusted", func(a *attempt) { a.files.Token = a.stranger.Over(a.files.Envelope) }, IsSigned, "token_untrusted", `the certificate "CN=test authority" of the token`},
		{"an authority that is not trusted, and a token is required", func(a *attempt) {
			a.files.Token = a.stranger.Over(a.files.Envelope)
			a.policy.RequireTimestamp = true
		}, IsSigned, "token_untrusted token_missing", "no trusted authority"},
		{"no trusted authority at all", func(a *attempt) {
			a.stamp()
			a.trust = a.trust[:3]
		}, IsSigned, "token_untrusted", "no trusted authority"},
		{"a stranger's certificate with the names of the trusted root in the token", func(a *attempt) {
			a.files.Token = a.stranger.Over(a.files.Envelope, func(answer *authority.Answer) {
				answer.Certificates = []*authority.Certificate{a.stranger.Leaf, a.stranger.Root, a.authority.Root}
			})
		}, IsSigned, "token_untrusted", "no trusted authority"},
		{"the certificate of the signer as trust", func(a *attempt) {
			a.stamp()
			a.trust[3].block = a.authority.Leaf.PEM()
		}, IsSigned, "", ""},
		{"another certificate of the authority as trust", func(a *attempt) {
			a.stamp()
			a.trust[3].block = authority.Issue(a.t, a.authority.Root, authority.ForTokens).PEM()
		}, IsSigned, "token_untrusted", "no trusted authority"},
		{"a certificate that was not valid at the time of the token", func(a *attempt) { a.stamp(at(now.AddDate(0, 0, -2))) }, IsSigned, "token_expired", `the certificates under "authority" were not valid`},
		{"a certificate that has expired", func(a *attempt) {
			a.stampBy(func(c *x509.Certificate) { authority.ForTokens(c); c.NotAfter = now.Add(-time.Hour) })
		}, IsBroken, "token_broken", "the signature of the token is not valid"},
		{"an authority that was trusted before", func(a *attempt) {
			a.stamp()
			a.limit("authority", until(now.Add(-time.Hour)))
		}, IsSigned, "token_expired", `the authority "authority" is trusted only until`},
		{"an authority that will be trusted", func(a *attempt) {
			a.stamp()
			a.limit("authority", from(now.Add(time.Hour)))
		}, IsSigned, "token_expired", `the authority "authority" is trusted only from`},
		{"a token from the future", func(a *attempt) { a.stamp(at(now.Add(time.Hour))) }, IsBroken, "token_future", "which is later than now"},
		{"a token of now with the accuracy of an hour", func(a *attempt) {
			a.stamp(func(a *authority.Answer) { a.Accuracy.Seconds = 60 * 60 })
		}, IsBroken, "token_future", "which is later than now"},
		{"an accuracy of a week", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Accuracy.Seconds = 7 * 24 * 60 * 60 }) }, IsBroken, "token_malformed", "its accuracy is not between 0"},
		{"a negative accuracy", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Accuracy.Seconds = -100_000 }) }, IsBroken, "token_malformed", "its accuracy is not between 0"},
		{"a critical extension", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Critical = true }) }, IsBroken, "token_malformed", "the critical extension 1.2.3 is unknown"},
		{"version 2", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Version = 2 }) }, IsBroken, "token_malformed", "another version than 1"},
		{"an imprint by SHA-1", func(a *attempt) {
			sum := crypto.SHA1.New()
			sum.Write(a.files.Envelope)
			a.stamp(func(a *authority.Answer) { a.Hash, a.Imprint = crypto.SHA1, sum.Sum(nil) })
		}, IsBroken, "token_broken", "the digest of the time-stamped data is not"},
		{"an imprint by SHA-512", func(a *attempt) {
			sum := crypto.SHA512.New()
			sum.Write(a.files.Envelope)
			a.stamp(func(a *authority.Answer) { a.Hash, a.Imprint = crypto.SHA512, sum.Sum(nil) })
		}, IsSigned, "", ""},
		{"a short imprint", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Imprint = a.Imprint[:16] }) }, IsBroken, "token_of_another", "the digest differs"},
		{"a signature of the token over SHA-1", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Digest = crypto.SHA1 }) }, IsBroken, "token_broken", "the digest of the token's signature"},
		{"a time changed after the token was signed", func(a *attempt) {
			a.stamp(func(a *authority.Answer) {
				a.Change = func(info []byte) { info[bytes.Index(info, []byte("Z"))-1] ^= 1 }
			})
		}, IsBroken, "token_broken", "the signature of the token is not valid"},
		{"content of another type", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.ContentType = authority.Data }) }, IsBroken, "token_broken", "the signed content is not a time-stamp"},
		{"no signed attributes", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Unattributed = true }) }, IsBroken, "token_broken", "no signed attributes"},
		{"no signature in the token", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Signers = nil }) }, IsBroken, "token_broken", "the token has 0 signatures"},
		{"two signatures in the token", func(a *attempt) {
			a.stamp(func(a *authority.Answer) { a.Signers = append(a.Signers, a.Signers[0]) })
		}, IsBroken, "token_broken", "the token has 2 signatures"},
		{"no certificate in the token", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Certificates = nil }) }, IsSigned, "token_untrusted", "neither in the response nor trusted"},
		{"no certificate in the token, and the signer's is trusted", func(a *attempt) {
			a.stamp(func(a *authority.Answer) { a.Certificates = nil })
			a.trust[3].block = a.authority.Leaf.PEM()
		}, IsSigned, "", ""},
		{"only another certificate in the token", func(a *attempt) {
			a.stamp(func(answer *authority.Answer) { answer.Certificates = []*authority.Certificate{a.authority.Root} })
		}, IsSigned, "token_untrusted", "neither in the response nor trusted"},
		{"the digest of another certificate", func(a *attempt) {
			a.stamp(func(answer *authority.Answer) { answer.Named = a.stranger.Leaf })
		}, IsBroken, "token_broken", "name another certificate"},
		{"the SHA-1 of another certificate", func(a *attempt) {
			a.stamp(func(answer *authority.Answer) { answer.Named, answer.NamedV1 = nil, a.stranger.Leaf })
		}, IsBroken, "token_broken", "name another certificate"},
		{"the SHA-1 of the certificate", func(a *attempt) {
			a.stamp(func(answer *authority.Answer) { answer.Named, answer.NamedV1 = nil, a.authority.Leaf })
		}, IsSigned, "", ""},
		{"no digest of the certificate", func(a *attempt) { a.stamp(func(a *authority.Answer) { a.Named = nil }) }, IsBroken, "token_broken", "does not name it"},
		{"the root as the signer", func(a *attempt) { a.files.Token = a.authority.With(a.authority.Root).Over(a.files.Envelope) }, IsBroken, "token_broken", "it is that of a certificate authority"},
		{"a certificate with more usages", func(a *attempt) {
			a.stampBy(func(c *x509.Certificate) {
				c.ExtraExtensions = append(c.ExtraExtensions, authority.Usages(true, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 3}))
			})
		}, IsBroken, "token_broken", "not for time-stamps only"},
		{"a certificate with an unknown usage", func(a *attempt) {
			a.stampBy(func(c *x509.Certificate) {
				c.ExtraExtensions = append(c.ExtraExtensions, authority.Usages(true, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}, asn1.ObjectIdentifier{1, 2, 3}))
			})
		}, IsBroken, "token_broken", "not for time-stamps only"},
		{"a certificate for servers", func(a *attempt) {
			a.stampBy(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
		}, IsBroken, "token_broken", "not for time-stamps only"},
		{"a certificate whose usage is not critical", func(a *attempt) {
			a.stampBy(func(c *x509.Certificate) {
				c.ExtraExtensions = append(c.ExtraExtensions, authority.Usages(false, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}))
			})
		}, IsBroken, "token_broken", "its extended key usage is not critical"},
		{"a good token and a broken signature", func(a *attempt) {
			a.envelope(PayloadType, a.record, Signed{a.ann.Public().ID, a.over(a.eve, a.record)})
			a.stamp()
		}, IsBroken, "signature_broken", `names the trusted key "ann"`},
		{"a good token and a signature by a stranger", func(a *attempt) {
			a.files.Envelope = a.sign(a.record, a.eve)
			a.stamp()
			a.policy.RequireTimestamp = true
		}, IsUntrusted, "signature_untrusted signature_missing", "0 of the 1 required"},
	}
}

// nested returns sequences in each other.
func nested(depth int) []byte {
	data := []byte{5, 0}
	for range depth {
		data, _ = asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: data})
	}
	return data
}
