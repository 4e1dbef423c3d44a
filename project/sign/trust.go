package sign

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
)

// Trust says whose signatures and whose tokens are trusted.
type Trust struct {
	keys        []trustedKey
	authorities []trustedAuthority
}

// period is the time for which something is trusted. Either end may be zero.
type period struct{ from, until time.Time }

func (p period) contains(t time.Time) bool {
	return (p.from.IsZero() || !t.Before(p.from)) && (p.until.IsZero() || t.Before(p.until))
}

func (p period) isLimited() bool { return !p.from.IsZero() || !p.until.IsZero() }

// String describes the period.
func (p period) String() string {
	var parts []string
	if !p.from.IsZero() {
		parts = append(parts, "from "+artifact.FormatTime(p.from))
	}
	if !p.until.IsZero() {
		parts = append(parts, "until "+artifact.FormatTime(p.until))
	}
	return strings.Join(parts, " ")
}

type trustedKey struct {
	*PublicKey
	name string
	period
}

type trustedAuthority struct {
	certificate *x509.Certificate
	name        string
	period
}

// Keys and Authorities return the numbers of keys and authorities.
func (t *Trust) Keys() int        { return len(t.keys) }
func (t *Trust) Authorities() int { return len(t.authorities) }

// The limits of trust files.
const (
	maxTrustBytes = 1 << 20
	maxTrusted    = 1000
	trustSuffix   = ".pem" // of the files of a directory
)

// ReadTrust reads trust files. A directory means the *.pem files in it. A file has PEM
// blocks: PUBLIC KEY for a key that signs, CERTIFICATE for an authority whose tokens are
// trusted, that is the certificate that signs them or one that this was issued under. Lines
// before a block, which other programs ignore (RFC 7468 §2), can say more about it:
//
//	name: release key 2026
//	valid-from: 2026-01-01T00:00:00Z
//	valid-until: 2027-01-01T00:00:00Z
//
// The default name is that of the file without its extension. Lines that begin with # and
// empty lines are ignored.
func ReadTrust(paths ...string) (*Trust, error) {
	t := &Trust{}
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if files, err = fs.Glob(os.DirFS(path), "*"+trustSuffix); err != nil {
				return nil, err
			}
			for i, name := range files {
				files[i] = filepath.Join(path, name)
			}
			if len(files) == 0 {
				return nil, fmt.Errorf("%s has no *%s", finding.Quote(path), trustSuffix)
			}
		}
		for _, file := range files {
			data, err := record.ReadBounded(file, maxTrustBytes)
			if err != nil {
				return nil, err
			}
			if err := t.add(data, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))); err != nil {
				return nil, fmt.Errorf("%s: %w", finding.Printable(file), err)
			}
		}
	}
	return t, nil
}

// begin is the beginning of a PEM block.
const begin = "-----BEGIN "

// add adds the blocks of a file.
func (t *Trust) add(data []byte, name string) error {
	blocks := 0
	for {
		at := bytes.Index(data, []byte(begin))
		if at < 0 {
			break
		}
		blocks++
		block, rest := pem.Decode(data[at:])
		// Decode skips a malformed block, whose notes would then be those of the next one.
		if block == nil || len(block.Headers) > 0 || bytes.Count(data[at:len(data)-len(rest)], []byte(begin)) > 1 {
			return fmt.Errorf("PEM block %d is malformed", blocks)
		}
		if err := t.addBlock(data[:at], block, name); err != nil {
			return fmt.Errorf("PEM block %d: %w", blocks, err)
		}
		data = rest
	}
	if blocks == 0 {
		return errors.New("it has no PEM block; want a PUBLIC KEY or a CERTIFICATE")
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return fmt.Errorf("the line %s is after the last PEM block; lines about a block are before it", finding.Quote(line))
		}
	}
	return nil
}

func (t *Trust) addBlock(notes []byte, block *pem.Block, name string) error {
	name, valid, err := readNotes(notes, name)
	if err != nil {
		return err
	}
	if len(t.keys)+len(t.authorities) == maxTrusted {
		return fmt.Errorf("there are more than %d keys and authorities", maxTrusted)
	}
	switch {
	case block.Type == publicBlock:
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return errors.New("the public key is malformed, or of an unknown kind")
		}
		public, err := NewPublicKey(key)
		if err != nil {
			return err
		}
		for _, other := range t.keys {
			if bytes.Equal(other.der, public.der) {
				return fmt.Errorf("the key is that of %s; a key can be trusted only once, because each counts as one signer", finding.Quote(other.name))
			}
		}
		t.keys = append(t.keys, trustedKey{public, name, valid})
	case block.Type == authorityBlock:
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return errors.New("the certificate is malformed")
		}
		t.authorities = append(t.authorities, trustedAuthority{c, name, valid})
	case strings.HasSuffix(block.Type, privateBlock):
		return errors.New("this is a private key, which must stay with its owner; want the public key")
	default:
		return fmt.Errorf("the type is %s; want PUBLIC KEY or CERTIFICATE", finding.Quote(block.Type))
	}
	return nil
}

// readNotes reads the lines before a block.
func readNotes(notes []byte, name string) (_ string, valid period, err error) {
	var seen []string
	for line := range strings.Lines(string(notes)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if slices.Contains(seen, key) {
			return "", valid, fmt.Errorf("%s is given twice", finding.Quote(key))
		}
		seen = append(seen, key)
		switch key {
		case "name":
			if name = value; name == "" || finding.Escape(name) != name || len(name) > maxKeyID {
				return "", valid, errors.New("the name is empty, too long or has control characters")
			}
		case "valid-from":
			valid.from, err = ParseTime(value)
		case "valid-until":
			valid.until, err = ParseTime(value)
		default:
			return "", valid, fmt.Errorf("the line %s is not name:, valid-from: or valid-until:, and does not begin with #", finding.Quote(line))
		}
		if err != nil {
			return "", valid, fmt.Errorf("%s: %w", key, err)
		}
	}
	if !valid.from.IsZero() && !valid.until.IsZero() && !valid.from.Before(valid.until) {
		return "", valid, errors.New("valid-until is not after valid-from")
	}
	return name, valid, nil
}

// ParseTime parses a time in RFC 3339 for which keys are judged. The first moment of the year
// 1 is not accepted, because it stands for no time in this package.
func ParseTime(text string) (time.Time, error) {
	t, err := artifact.ParseTime(text)
	if err == nil && t.IsZero() {
		err = errors.New("the year is too early")
	}
	return t, err
}

// certificates returns those of the authorities.
func (t *Trust) certificates() []*x509.Certificate {
	var list []*x509.Certificate
	for _, a := range t.authorities {
		list = append(list, a.certificate)
	}
	return list
}

// named returns the key that a key id names, or nil.
func (t *Trust) named(id string) *trustedKey {
	for i := range t.keys {
		if t.keys[i].isNamed(id) {
			return &t.keys[i]
		}
	}
	return nil
}
