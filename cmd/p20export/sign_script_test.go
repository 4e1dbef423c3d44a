package main

import (
	"bufio"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/p20export/p20export/internal/testkit/authority"
	"github.com/p20export/p20export/project/sign"
)

// serveAuthority returns the command of scripts
//
//	authority [LIE]
//
// which starts a time-stamp authority. It sets $TSA to its URL, and writes its certificate to
// the file authority.pem. With a LIE, it answers in another way than it should.
func serveAuthority(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		a := authority.New(t)
		changes := map[string]func(*authority.Answer){
			"nonce":   func(a *authority.Answer) { a.Nonce = big.NewInt(1) },
			"imprint": func(a *authority.Answer) { a.Imprint = make([]byte, 32) },
			"sha1":    func(a *authority.Answer) { a.Hash, a.Imprint = crypto.SHA1, make([]byte, 20) },
			"reject":  func(a *authority.Answer) { a.Status, a.Text = 2, "not today" },
			"future":  func(a *authority.Answer) { a.Time = time.Now().Add(time.Hour) },
			"past":    func(a *authority.Answer) { a.Time = time.Now().AddDate(0, 0, -2) },
		}
		switch {
		case len(args) == 0:
			ts.Setenv("TSA", a.Serve())
		case args[0] == "500":
			ts.Setenv("TSA", a.ServeAs(func(w http.ResponseWriter, _ authority.Query) {
				http.Error(w, "out of order", http.StatusInternalServerError)
			}))
		case changes[args[0]] != nil:
			ts.Setenv("TSA", a.Serve(changes[args[0]]))
		default:
			ts.Fatalf("an authority knows no lie %q", args[0])
		}
		ts.Check(os.WriteFile(ts.MkAbs("authority.pem"), a.Root.PEM(), 0o644))
	}
}

// signer is a program of scripts that signs with a key:
//
//	signer KEY [fails|stays|exits|says TEXT...]
//
// At the end of its input, it fails or stays forever. When it is asked to sign, it exits or
// says the text. If KEY is rsa, it has a key of RSA.
func signer() {
	key, err := signerKey(os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "signer started")
	mode := ""
	if len(os.Args) > 2 {
		mode = os.Args[2]
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		word, value, _ := strings.Cut(in.Text(), " ")
		switch {
		case word == "key":
			fmt.Println("key " + base64.StdEncoding.EncodeToString(key.public))
		case mode == "exits":
			return
		case mode == "says":
			fmt.Println(strings.Join(os.Args[3:], " "))
		default:
			message, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				panic(err)
			}
			signature, err := key.sign(message)
			if err != nil {
				panic(err)
			}
			fmt.Println("signature " + base64.StdEncoding.EncodeToString(signature))
		}
	}
	switch mode {
	case "fails":
		os.Exit(7)
	case "stays":
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		<-interrupted
	}
}

// signingKey is the key of a signer.
type signingKey struct {
	public []byte // SubjectPublicKeyInfo
	sign   func(message []byte) ([]byte, error)
}

func signerKey(path string) (k signingKey, err error) {
	if path == "rsa" {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return k, err
		}
		k.public, err = x509.MarshalPKIXPublicKey(key.Public())
		return k, err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	key, err := sign.ParsePrivateKey(file, nil)
	if err != nil {
		return k, err
	}
	block, _ := pem.Decode(key.Public().PEM())
	return signingKey{block.Bytes, func(message []byte) ([]byte, error) { return key.Sign(context.Background(), message) }}, nil
}
