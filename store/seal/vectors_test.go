package seal_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

var update = flag.Bool("update", false, "write testdata/vectors.json")

const vectorsFile = "testdata/vectors.json"

// vectors has what any implementation of docs/seals.md has to compute or refuse. Bytes are in
// Base64.
type vectors struct {
	Leaves []leafVector `json:"leaves"`
	// Roots has the roots of trees whose leaves are the positions from 1 as text.
	Roots []rootVector `json:"roots"`
	// Key is the public key that has signed everything below, in PEM.
	Key    string `json:"key"`
	Tenant string `json:"tenant"`
	Thread string `json:"thread"`
	// Checkpoint is a checkpoint of the thread with Tenant and Thread.
	Checkpoint string `json:"checkpoint"`
	// Proofs are valid, and Refused has checkpoints and proofs that are not.
	Proofs  []proofVector   `json:"proofs"`
	Refused []refusedVector `json:"refused"`
}

type leafVector struct {
	Name     string     `json:"name"`
	Position int64      `json:"position"`
	Kind     store.Kind `json:"kind"`
	// Arrived is the time of arrival in microseconds, or null.
	Arrived *int64 `json:"arrived"`
	Stream  string `json:"stream"`
	Data    []byte `json:"data"`
	Leaf    []byte `json:"leaf"`
	Hash    []byte `json:"hash"`
}

type rootVector struct {
	Size int64  `json:"size"`
	Root []byte `json:"root"`
}

type proofVector struct {
	Name  string `json:"name"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	Proof string `json:"proof"`
}

type refusedVector struct {
	Name string `json:"name"`
	// File is the text of a checkpoint, or of a proof.
	File string `json:"file"`
}

// entry returns the entry of a leaf.
func (v *leafVector) entry() *store.Entry {
	e := &store.Entry{Position: v.Position, Kind: v.Kind, Stream: v.Stream, Data: v.Data}
	if v.Arrived != nil {
		e.Arrived = time.UnixMicro(*v.Arrived).UTC()
	}
	return e
}

func leafVectors() []leafVector {
	return []leafVector{
		{Name: "an event", Position: 1, Kind: store.Event, Arrived: new(int64(1764360000123456)), Stream: "s", Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)},
		{Name: "a request", Position: 2, Kind: store.Input, Arrived: new(int64(1764360000000000)), Stream: "s", Data: []byte("{ }\n")},
		{Name: "a closing event", Position: 3, Kind: store.Closing, Stream: "serve:append:é", Data: []byte(`{"type":"RUN_ERROR"}`)},
		{Name: "an end", Position: 4, Kind: store.End, Arrived: new(int64(1)), Stream: "s", Data: []byte("eof")},
		{Name: "an unknown time", Position: 5, Kind: store.Event, Stream: "s", Data: []byte("x")},
		{Name: "the time 0", Position: 5, Kind: store.Event, Arrived: new(int64(0)), Stream: "s", Data: []byte("x")},
		{Name: "a time before 1970", Position: 6, Kind: store.Event, Arrived: new(int64(-1)), Stream: "s", Data: []byte("x")},
		{Name: "the first time", Position: 7, Kind: store.Event, Arrived: new(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()), Stream: "s", Data: []byte("x")},
		{Name: "the last time", Position: 8, Kind: store.Event, Arrived: new(time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC).UnixMicro()), Stream: "s", Data: []byte("x")},
		{Name: "no data", Position: 9, Kind: store.Event, Stream: "s", Data: []byte{}},
		{Name: "binary data", Position: 10, Kind: store.Event, Stream: "s", Data: []byte{0, 1, 0xff, 0xfe, '\r', '\n', 0x80}},
		{Name: "the longest stream id", Position: 11, Kind: store.Event, Stream: strings.Repeat("é", store.MaxIDBytes/2), Data: []byte("x")},
		{Name: "a stream id that looks like data", Position: 12, Kind: store.Event, Stream: "sx", Data: []byte("y")},
		{Name: "data that looks like a stream id", Position: 12, Kind: store.Event, Stream: "s", Data: []byte("xy")},
		{Name: "a large position", Position: 1 << 40, Kind: store.Event, Stream: "s", Data: []byte("x")},
	}
}

// rootSizes are all sizes up to 300, and some around those of blocks.
func rootSizes() []int64 {
	var sizes []int64
	for n := range int64(301) {
		sizes = append(sizes, n)
	}
	return append(sizes, 511, 512, 513, 767, 768, 769, 1000, 1023, 1024, 1025)
}

// vectorOperator signs with a key that is always the same.
func vectorOperator(t testing.TB) *operator {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed([]byte("a key that everybody knows......")))
	if err != nil {
		t.Fatal(err)
	}
	private, err := sign.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &operator{Settings: seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{private}},
		policy: seal.Policy{Trust: trustIn(t, private)}, key: private}
}

// vectorEntries appends the entries of the thread of the vectors.
func vectorEntries(t testing.TB, log store.Log) {
	t.Helper()
	for i, n := range []int{5, 300, 7, 2} {
		entries := events([]string{"first", "second", "third", "fourth"}[i], n)
		for j := range entries {
			entries[j].Arrived = time.UnixMicro(1764360000000000 + int64(1000*i+j)).UTC()
		}
		if i == 2 { // another stream within the run
			entries = slices.Insert(entries, 3, store.Entry{Stream: "another", Kind: store.Input, Data: []byte(`{"runId":"other"}`)})
		}
		appendAll(t, log, thread, entries)
	}
}

// makeVectors makes the vectors. Roots are those of package tlog, and the rest is made by this
// package.
func makeVectors(t *testing.T) *vectors {
	o := vectorOperator(t)
	v := &vectors{Leaves: leafVectors(), Key: string(o.key.Public().PEM()), Tenant: thread.Tenant, Thread: thread.Thread}
	for i := range v.Leaves {
		l := &v.Leaves[i]
		l.Leaf = seal.AppendLeaf(nil, l.entry())
		hash := tlog.RecordHash(l.Leaf)
		l.Hash = hash[:]
	}
	other := &otherTree{}
	for _, size := range rootSizes() {
		for n := other.size; n < size; n++ {
			other.add(t, fmt.Append(nil, n+1))
		}
		root := other.root(t, size)
		v.Roots = append(v.Roots, rootVector{size, root[:]})
	}
	log := memory.New()
	vectorEntries(t, log)
	size := int64(315)
	root, err := seal.TreeOf(log, thread, nil).Root(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := seal.Checkpoint{
		Origin: seal.OriginOf(o.Name, thread), Size: size, Root: root,
		Tenant: digest.Of([]byte(thread.Tenant)), Thread: digest.Of([]byte(thread.Thread)),
		Time: time.Date(2026, 11, 28, 20, 10, 0, 0, time.UTC),
	}
	v.Checkpoint = o.sign(t, checkpoint.String())
	if err := log.Seal(t.Context(), thread, store.Seal{Size: size, Checkpoint: []byte(v.Checkpoint)}, store.Blocks{}); err != nil {
		t.Fatal(err)
	}
	add := func(name string, p *seal.Proof, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		file, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		entries := p.Entries
		v.Proofs = append(v.Proofs, proofVector{name, entries[0].Position, entries[len(entries)-1].Position, string(file)})
		return string(file)
	}
	var one, whole string
	for _, position := range []int64{1, 2, 256, 257, 300, 314, 315} {
		p, err := seal.Prove(t.Context(), log, thread, position, nil)
		one = add(fmt.Sprintf("entry %d", position), p, err)
	}
	for r, err := range log.Runs(t.Context(), store.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Entries < 100 {
			p, err := seal.ProveRun(t.Context(), log, thread, &r, nil)
			whole = add("the run "+r.ID, p, err)
		}
	}
	for name, file := range hostileCheckpoints(t, o, v.Checkpoint) {
		v.Refused = append(v.Refused, refusedVector{"a checkpoint: " + name, file})
	}
	for name, file := range hostileProofs(one, whole, v.Checkpoint) {
		if file == v.Checkpoint {
			continue
		}
		v.Refused = append(v.Refused, refusedVector{"a proof: " + name, file})
	}
	v.Refused = slices.DeleteFunc(v.Refused, func(r refusedVector) bool { return len(r.File) > 20_000 || !strings.Contains(r.File, "\n") })
	slices.SortFunc(v.Refused, func(a, b refusedVector) int { return strings.Compare(a.Name, b.Name) })
	return v
}

// TestVectors compares the vectors with what this package makes, and lets it judge them.
func TestVectors(t *testing.T) {
	t.Parallel()
	made, err := json.Marshal(makeVectors(t), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *update {
		testkit.Write(t, vectorsFile, made)
	}
	committed := testkit.Read(t, vectorsFile)
	if !bytes.Equal(made, committed) {
		t.Fatalf("%s is out of date: go test ./store/seal -run '^TestVectors$' -update", vectorsFile)
	}
	var v vectors
	if err := json.Unmarshal(committed, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Leaves) < 10 || len(v.Roots) < 300 || len(v.Proofs) < 8 || len(v.Refused) < 40 {
		t.Fatalf("%d leaves, %d roots, %d proofs, %d refused", len(v.Leaves), len(v.Roots), len(v.Proofs), len(v.Refused))
	}
	for _, l := range v.Leaves {
		e, err := seal.DecodeLeaf(l.Leaf)
		if err != nil || !bytes.Equal(seal.AppendLeaf(nil, e), l.Leaf) || !bytes.Equal(seal.AppendLeaf(nil, l.entry()), l.Leaf) {
			t.Errorf("%s: %+v, %v", l.Name, e, err)
		}
	}
	o := vectorOperator(t)
	for _, p := range v.Proofs {
		if !o.accepts(t, []byte(p.Proof)) {
			t.Errorf("%s is refused", p.Name)
		}
	}
	for _, r := range v.Refused {
		if o.accepts(t, []byte(r.File)) {
			t.Errorf("%s is accepted", r.Name)
		}
		if k, err := seal.ReadKnown("it", []byte(r.File)); err == nil {
			row, err := o.policy.Verify(t.Context(), memory.New(), store.Key{Tenant: v.Tenant, Thread: v.Thread}, k)
			if err != nil || row.Verdict != seal.Broken {
				t.Errorf("%s: %+v, %v", r.Name, row, err)
			}
		}
	}
}
