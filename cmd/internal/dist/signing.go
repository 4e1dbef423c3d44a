package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/project/sign"
)

// keys say where the keys are with which the release is signed. All may be empty.
type keys struct {
	file       string // a private key
	passphrase string // a file with its passphrase in the first line
	signer     string // a command that signs, as that of p20export sign --signer
}

// open returns what signs. It is called before the build, which takes minutes, so that errors
// are reported early. The function end must be called after it.
func (k keys) open(ctx context.Context) (signers []sign.Signer, end func() error, err error) {
	end = func() error { return nil }
	if k.passphrase != "" && k.file == "" {
		return nil, end, errors.New("-passphrase-file is only for -key")
	}
	if k.file != "" {
		key, err := k.read()
		if err != nil {
			return nil, end, fmt.Errorf("-key: %w", err)
		}
		signers = append(signers, key)
	}
	if k.signer != "" {
		c, err := sign.Start(ctx, k.signer)
		if err != nil {
			return nil, end, fmt.Errorf("-signer: %w", err)
		}
		signers, end = append(signers, c), c.Close
	}
	return signers, end, nil
}

// read reads the private key.
func (k keys) read() (*sign.PrivateKey, error) {
	data, err := os.ReadFile(k.file)
	if err != nil {
		return nil, err
	}
	var passphrase []byte
	if k.passphrase != "" {
		text, err := os.ReadFile(k.passphrase)
		if err != nil {
			return nil, err
		}
		if passphrase, err = sign.Passphrase(text); err != nil {
			return nil, err
		}
	}
	key, err := sign.ParsePrivateKey(data, passphrase)
	if errors.Is(err, sign.ErrEncrypted) {
		err = fmt.Errorf("%w; give -passphrase-file", err)
	}
	return key, err
}

// signed lists the files that are signed, by how their names end, with the type of their payload.
var signed = []struct{ suffix, signature, payloadType string }{
	{".intoto.jsonl", ".intoto.dsse.json", sign.PayloadType},
	{".cdx.json", ".cdx.dsse.json", "application/vnd.cyclonedx+json"},
	{sumsName, sumsName + ".dsse.json", "text/plain"},
}

// sumsName is the name of the file with the digests.
const sumsName = "SHA256SUMS"

// sign writes DSSE envelopes of the digests, the provenance and the bills of materials. The
// digests do not list them, because whoever builds the release again has no key.
func (r *release) sign() error {
	files, err := r.published()
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, f := range files {
		for _, s := range signed {
			name, ok := strings.CutSuffix(f.name, s.suffix)
			if !ok {
				continue
			}
			envelope, err := sign.Sign(r.ctx, s.payloadType, f.data, r.signers...)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(r.out, name+s.signature), envelope, 0o644); err != nil {
				return err
			}
			count[s.suffix]++
		}
	}
	for _, s := range signed {
		if count[s.suffix] == 0 {
			return fmt.Errorf("there is no file *%s to sign", s.suffix)
		}
	}
	return nil
}
