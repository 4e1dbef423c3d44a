package verify

import (
	"context"
	"path/filepath"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// Records verifies the artifacts next to the records at paths with the capture that open
// opens. It returns a row for each record, in the order of paths, and the number of runs
// of the capture, or 0 if no record needed it. The error is that of reading the capture.
func Records(ctx context.Context, open func() (*capture.Capture, error), paths []string) (rows []Row, runs int, err error) {
	rows = make([]Row, len(paths))
	all := make([]*claim, len(paths))
	var claims []*claim
	for i, path := range paths {
		rows[i].Record = path
		all[i] = claimOf(&rows[i])
		if all[i].err == nil {
			claims = append(claims, all[i])
		}
	}
	store := &findingStore{limit: maxFindings}
	defer store.close()
	for len(claims) > 0 {
		now, later := splitBySnapshots(claims)
		result, err := verifyOpened(ctx, open, now, store)
		switch {
		case err != nil:
			return nil, 0, err
		case result != nil:
			runs = result.Runs
		}
		claims = later
	}
	for i, c := range all {
		rows[i] = c.row(rows[i], store)
	}
	return rows, runs, nil
}

// verifyOpened verifies claims in one reading of a capture.
func verifyOpened(ctx context.Context, open func() (*capture.Capture, error), claims []*claim, store *findingStore) (*scan.Result, error) {
	c, err := open()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return verifyClaims(ctx, c, claims, store, nil)
}

// claimOf returns the claim of the record of a row, and sets the artifact of the row. If
// the record cannot be verified, the claim has an error.
func claimOf(row *Row) *claim {
	stated, bytes, err := record.ReadFrom(row.Record, record.ReadBounded)
	if err != nil {
		return &claim{err: err}
	}
	row.Artifact = filepath.Join(filepath.Dir(row.Record), stated.Subject[0].Name)
	c := &claim{name: stated.Subject[0].Name, envelope: envelopeBeside(disk{}, row.Artifact)}
	if c.err = c.state(stated); c.err == nil {
		c.err = record.CheckArtifactName(row.Artifact)
	}
	c.load = (&recordClaim{claim: *c, files: disk{}, tree: TreeRow{Artifact: &row.Artifact, Record: &row.Record}, sum: digest.Of(bytes)}).reload
	return c
}
