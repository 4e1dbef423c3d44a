package seal_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/authority"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// drawEntry draws an entry that a log can have.
func drawEntry(t *rapid.T) *store.Entry {
	e := &store.Entry{
		Position: rapid.Int64Range(1, 1<<62).Draw(t, "position"),
		Kind:     rapid.SampledFrom([]store.Kind{store.Event, store.Input, store.Closing, store.End}).Draw(t, "kind"),
		Stream:   rapid.StringMatching(`[a-bé]{1,5}`).Draw(t, "stream"),
		Data:     rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "data"),
	}
	if rapid.Bool().Draw(t, "known") {
		first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		e.Arrived = time.UnixMicro(rapid.Int64Range(first.UnixMicro(), last.UnixMicro()).Draw(t, "arrived")).UTC()
	}
	return e
}

// TestLeafProperties checks that a leaf has exactly one entry, and that different entries have
// different leaves.
func TestLeafProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawEntry(t), drawEntry(t)
		if rapid.Bool().Draw(t, "alike") { // all but the border between stream and data
			*b = *a
			b.Stream = rapid.StringMatching(`[a-bé]{1,5}`).Draw(t, "other stream")
			b.Data = rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "other data")
		}
		leaf, other := seal.AppendLeaf(nil, a), seal.AppendLeaf(nil, b)
		same := a.Position == b.Position && a.Kind == b.Kind && a.Stream == b.Stream && a.Arrived.Equal(b.Arrived) && a.Arrived.IsZero() == b.Arrived.IsZero() && bytes.Equal(a.Data, b.Data)
		if bytes.Equal(leaf, other) != same {
			t.Fatalf("%+v and %+v", a, b)
		}
		got, err := seal.DecodeLeaf(leaf)
		if err != nil || got.Position != a.Position || got.Kind != a.Kind || got.Stream != a.Stream || !got.Arrived.Equal(a.Arrived) || !bytes.Equal(got.Data, a.Data) {
			t.Fatalf("%+v is read as %+v, %v", a, got, err)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		leaf := seal.AppendLeaf(nil, drawEntry(t))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			leaf[rapid.IntRange(0, len(leaf)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		leaf = leaf[:rapid.IntRange(0, len(leaf)).Draw(t, "size")]
		if e, err := seal.DecodeLeaf(leaf); err == nil && !bytes.Equal(seal.AppendLeaf(nil, e), leaf) {
			t.Fatalf("%x is read as %+v", leaf, e)
		}
	})
}

// TestToken seals a thread with the token of a time-stamp authority. A changed byte of the
// checkpoint is noticed, and one of the token is noticed or means nothing.
func TestToken(t *testing.T) {
	t.Parallel()
	o, log, tsa := newOperator(t), memory.New(), authority.New(t)
	appendAll(t, log, thread, events("a", 5))
	o.Authority = tsa.Serve()
	s := o.sealed(t, log, thread)
	if s.Token == nil || s.NotLaterThan.IsZero() {
		t.Fatalf("%+v", s.Seal)
	}
	dir := t.TempDir()
	testkit.Write(t, dir+"/authority.pem", tsa.Root.PEM())
	testkit.Write(t, dir+"/key.pem", "valid-until: 2100-01-01T00:00:00Z\n"+string(o.key.Public().PEM()))
	trust, err := sign.ReadTrust(dir)
	if err != nil {
		t.Fatal(err)
	}
	policy := seal.Policy{Trust: trust, At: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
	verify := func(changed store.Seal) seal.Row {
		row, err := policy.Verify(t.Context(), changedLog{log, readAll(t, log, thread), nil}, thread, seal.Known{From: "a mail", Seals: []store.Seal{changed}})
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	row := verify(s.Seal)
	if row.Verdict != seal.Unchanged || row.Signature.NotLaterThan == nil || *row.Signature.Authority != "authority" || len(row.Findings) > 0 {
		t.Errorf("%+v", row)
	}
	// The key is trusted only as of the time of the token.
	without := s.Seal
	without.Token = nil
	if row := verify(without); row.Verdict != seal.Broken || !hasFinding(row.Findings, finding.SealUntrusted) {
		t.Errorf("without a token: %+v", row)
	}
	rapid.Check(t, func(t *rapid.T) {
		changed := s.Seal
		changed.Token, changed.Checkpoint = bytes.Clone(s.Token), bytes.Clone(s.Seal.Checkpoint)
		data := rapid.SampledFrom([][]byte{changed.Token, changed.Checkpoint}).Draw(t, "data")
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		now := verify(changed)
		if now.Verdict != seal.Unchanged {
			return
		}
		// Some bytes of a token are not signed, such as those of certificates that nobody needs.
		if !bytes.Equal(changed.Checkpoint, s.Seal.Checkpoint) || *now.Signature.NotLaterThan != *row.Signature.NotLaterThan {
			t.Fatalf("%+v", now)
		}
	})
	other := s.Seal
	other.Checkpoint = []byte(o.sign(t, "another text\n"))
	if row := verify(other); row.Verdict == seal.Unchanged {
		t.Errorf("the token of another checkpoint: %+v", row)
	}
}
