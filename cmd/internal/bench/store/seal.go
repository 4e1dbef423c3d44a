package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// A sealing is what sealing a thread and verifying it showed.
type sealing struct {
	seals, proofs []int64 // nanoseconds each, sorted
	sealBytes     float64 // per run
	ratios        [2][]float64
	rates         [2][]float64 // entries verified per second, before and after packing
}

// proofsPerThread is the number of proofs that are made of a thread.
const proofsPerThread = 50

// seals measures what it costs to seal each run of a thread, and to verify the thread compared
// with reading it.
func seals(ctx context.Context, s *settings) (_ string, err error) {
	all, err := s.openAll(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	by, policy, err := newOperator(s.dir)
	if err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString(page.Row("log", "entries", "seal a run, p50 (ms)", "p99 (ms)", "stored per run (bytes)", "a proof, p50 (ms)", "p99 (ms)", "verified, entries/s", "read = 1", "verified, packed", "read = 1"))
	t.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, l := range all {
		m, err := s.sealing(ctx, l, by, policy)
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.Name, err)
		}
		cells := []string{l.Name, fmt.Sprint(s.sealed)}
		cells = append(cells, page.Number(page.Percentile(m.seals, 0.5)/1e6), page.Number(page.Percentile(m.seals, 0.99)/1e6), page.Number(m.sealBytes),
			page.Number(page.Percentile(m.proofs, 0.5)/1e6), page.Number(page.Percentile(m.proofs, 0.99)/1e6))
		for i := range m.rates {
			cells = append(cells, fmt.Sprintf("%.0f", page.Median(m.rates[i])), "**"+page.Number(page.Median(m.ratios[i]))+"**")
		}
		t.WriteString(page.Row(cells...))
	}
	return t.String() + page.Measured(s.rounds), nil
}

// newOperator returns settings that seal with a new key, and a policy that trusts it.
func newOperator(dir string) (*seal.Settings, *seal.Policy, error) {
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "seals.pub.pem")
	if err := os.WriteFile(file, key.Public().PEM(), 0o600); err != nil {
		return nil, nil, err
	}
	defer os.Remove(file)
	trust, err := sign.ReadTrust(file)
	return &seal.Settings{Name: "bench", Signers: []sign.Signer{key}}, &seal.Policy{Trust: trust}, err
}

// sealing writes a thread, seals it after each run, and measures everything.
func (s *settings) sealing(ctx context.Context, l *log, by *seal.Settings, policy *seal.Policy) (m sealing, err error) {
	key := store.Key{Thread: "sealed"}
	w := l.newWriter(key.Thread)
	runs := s.sealed / (runEvents + 1)
	for range runs {
		if err := w.write(ctx, runEvents+1, fillBatch); err != nil {
			return m, err
		}
		begun := time.Now()
		if _, err := by.Seal(ctx, l, key); err != nil {
			return m, err
		}
		m.seals = append(m.seals, time.Since(begun).Nanoseconds())
	}
	stat, err := l.Stat(ctx)
	if err != nil {
		return m, err
	}
	m.sealBytes = float64(stat.SealBytes) / float64(runs)
	positions := rand.New(rand.NewPCG(1, 2))
	for range proofsPerThread {
		begun := time.Now()
		if _, err := seal.Prove(ctx, l, key, 1+positions.Int64N(int64(runs)*(runEvents+1)), nil); err != nil {
			return m, err
		}
		m.proofs = append(m.proofs, time.Since(begun).Nanoseconds())
	}
	slices.Sort(m.seals)
	slices.Sort(m.proofs)
	for i := range m.rates {
		if i == 1 {
			if _, err := l.Pack(ctx, key); err != nil {
				return m, err
			}
		}
		for round := range s.rounds {
			r, err := l.read(ctx, key.Thread)
			if err != nil {
				return m, err
			}
			begun := time.Now()
			row, err := policy.Verify(ctx, l, key)
			if err != nil {
				return m, err
			}
			if row.Verdict != seal.Unchanged || row.Position != r.entries {
				return m, fmt.Errorf("the thread of %d entries is %s up to %d", r.entries, row.Verdict, row.Position)
			}
			rate := float64(r.entries) / time.Since(begun).Seconds()
			m.rates[i], m.ratios[i] = append(m.rates[i], rate), append(m.ratios[i], rate/r.perSecond())
			s.progress(round, l.Name, "%.0f entries/s verified, %.2f of reading", rate, rate/r.perSecond())
		}
	}
	return m, nil
}
