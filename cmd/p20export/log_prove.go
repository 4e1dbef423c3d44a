package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

func newLogProve() *cobra.Command {
	var out, run string
	var at int64
	var trust trustFlags
	cmd := &cobra.Command{
		Use:   "prove THREAD (--at POSITION | --run ID) -o FILE",
		Short: "Write a proof that a sealed thread has an entry or a run",
		Long: `Write one file that shows that an entry, or the request and the events of a run,
are among those that a seal is about. It has these entries, the hashes that lead
from them to the root of the tree, and the first seal that covers them. The
other entries of the thread are not in it. p20export log check-proof needs the
file and the public key, and neither the log nor a network.

The proof of an entry is a C2SP tlog-proof, and that of a run a JSON object;
docs/seals.md describes both. The proof has the data of the entries, as in the
log: it can be personal data. That of a run has its request, which mostly has
the whole conversation so far.
` + exitHelp("the proof was written", "no seal covers the entries, or they are not those that were sealed", "the log could not be used, has no such thread, run or position, or the file could not be written"),
		Example: `  p20export log prove THREAD --at 17 -o entry.tlog-proof \
      --store sqlite:events.db
  p20export log prove THREAD --run r1 -o run.json --store sqlite:events.db`,
		Args:              cli.One("THREAD"),
		ValidArgsFunction: completeThread,
	}
	f := addStoreFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "new `FILE` for the proof, or - for standard output (required)")
	flags.Int64Var(&at, "at", 0, "prove the entry at this `POSITION`")
	flags.StringVar(&run, "run", "", "prove the run with this `ID`, or that begins at a position, as in '#17'")
	flags.StringArrayVar(&trust.paths, "trust", nil, "use the first seal by the public keys in the file or directory `PATH` (PEM; repeatable; default: the first seal)")
	cli.Complete(cmd, "at")
	cli.Complete(cmd, "run")
	format := cli.AddFormat(cmd)
	cli.Require(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changed := cmd.Flags().Changed
		switch {
		case changed("at") == changed("run"):
			return errors.New("give either --at POSITION or --run ID")
		case changed("at") && at < 1:
			return fmt.Errorf("--at %d: positions are counted from 1", at)
		case changed("run") && run == "":
			return errors.New("--run is empty")
		}
		if err := checkNewFile(out); err != nil {
			return err
		}
		before, err := trust.read()
		if err != nil {
			return err
		}
		log, t, err := f.openThread(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer log.Close()
		var policy *seal.Policy
		if before != nil {
			policy = &seal.Policy{Trust: before}
		}
		var proof *seal.Proof
		if at > 0 {
			proof, err = seal.Prove(cmd.Context(), log, t.Key, at, policy)
		} else {
			var r store.Run
			if r, err = f.run(cmd.Context(), log, t.Thread, run); err != nil {
				return err
			}
			proof, err = seal.ProveRun(cmd.Context(), log, t.Key, &r, policy)
		}
		results := cmd.OutOrStdout()
		if out == "-" {
			results = cmd.ErrOrStderr()
		}
		p := render.New(results, *format, build.Tool())
		if found, ok := errors.AsType[finding.Finding](err); ok {
			row := render.NewLogProofRow(out, project.Refused, nil, nil)
			row.Findings = append(row.Findings, found)
			p.LogProof(row)
			return p.Close(render.Negative)
		}
		if err != nil {
			return p.Close(f.failed(err))
		}
		data, err := proof.Encode()
		if err == nil {
			err = writeNew(cmd, out, data)
		}
		if err == nil {
			var c *seal.Checkpoint
			if c, err = proof.Checkpoint(); err == nil {
				p.LogProof(render.NewLogProofRow(out, project.Written, proof, c))
			}
		}
		return p.Close(err)
	}
	return cmd
}

func newLogCheckProof() *cobra.Command {
	var fl sealPolicyFlags
	var thread, tenant string
	var printed bool
	cmd := &cobra.Command{
		Use:   "check-proof FILE... --trust PATH",
		Short: "Check proofs that entries are those that were sealed",
		Long: `Check files that p20export log prove wrote: that the entries in them lead to the
root of the seal, and that a trusted key has signed it. No log and no network
are used. It shows that these entries were at these positions of a thread when
the seal was made; not that they are true, nor what else the thread had.

The seal has digests of the ids of thread and tenant. With --thread, they must
be those of that thread.
` + exitHelp("every proof is verified", "a proof is not", "a file could not be read"),
		Example: `  p20export log check-proof entry.tlog-proof --trust seals.pub.pem
  p20export log check-proof run.json --trust seals.pub.pem --thread THREAD \
      --print | jq -c .`,
		Args: cli.OneOrMore("FILE"),
	}
	flags := cmd.Flags()
	fl.add(cmd)
	flags.StringVar(&thread, "thread", "", "fail unless the proof is of the thread with this `ID`")
	flags.StringVar(&tenant, "tenant", "", "with --thread: `NAME` of its tenant (default: the tenant without a name)")
	flags.BoolVar(&printed, "print", false, "print the data of the entries that are verified, a line each, and the results to standard error")
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changed := cmd.Flags().Changed
		if changed("tenant") && !changed("thread") {
			return errors.New("--tenant needs --thread")
		}
		policy, err := fl.policy(cmd)
		if err != nil {
			return err
		}
		results := cmd.OutOrStdout()
		if printed {
			results = cmd.ErrOrStderr()
		}
		p, data := render.New(results, *format, build.Tool()), newPrinter(cmd, format)
		var t render.Tally
		for _, path := range args {
			file, err := capture.ReadInput(cmd.Context(), path, seal.MaxProofBytes)
			if err != nil {
				return p.Close(inputError(err))
			}
			row := render.NewLogProofRow(path, project.Refused, nil, nil)
			proof, err := seal.DecodeProof(file)
			if found, ok := errors.AsType[finding.Finding](err); ok {
				row.Findings = append(row.Findings, found)
			} else if err != nil {
				return p.Close(err)
			} else {
				c, signature, found := policy.CheckProof(cmd.Context(), proof)
				if c != nil && changed("thread") {
					if same, sameTenant := c.IsOf(store.Key{Tenant: tenant, Thread: thread}); !same || !sameTenant {
						found = append(found, finding.New(finding.SealOfAnother, "the seal is not of thread %s", finding.Quote(thread)))
					}
				}
				row = render.NewLogProofRow(path, project.Verified, proof, c)
				row.Signature, row.Findings = &signature, append(row.Findings, found...)
				if finding.Failed(found) {
					row.Verdict = project.Refused
				}
			}
			p.LogProof(row)
			t.Add(row.Verdict)
			if printed && row.Verdict == project.Verified {
				for _, e := range proof.Entries {
					data.LogEvent(e, capture.NDJSON)
				}
			}
		}
		if err := data.Close(nil); err != nil {
			return p.Close(err)
		}
		return p.Close(t.Status.Err())
	}
	return cmd
}
