package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/leases"
)

// leaseSuffix follows the name of the log in the name of the file whose lock is that of the
// holder of its leases. The file is empty. It stays when the holder ends: another process can
// be about to lock it.
const leaseSuffix = "-serve"

// leases implements sqlstore.Dialect.Leases. One holder locks a file next to the log, until it
// ends. SQLite can lock a file on every system, and also does so within one process: here by
// a transaction that writes nothing and stays open. No lease is ever lost.
func (d *database) leases(ctx context.Context, _ func(name string)) (store.Leases, error) {
	if err := d.access.writes(); err != nil {
		return nil, err
	}
	path := d.path + leaseSuffix
	if err := prepare(path, true); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := mayWrite(path); err != nil {
		return nil, fmt.Errorf("%s: the file cannot be read and written: %w", path, err)
	}
	db, err := sql.Open("sqlite", readWrite.dsn(path))
	if err != nil {
		return nil, err
	}
	// The lock must not end with ctx.
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		db.Close()
		if isBusy(err) {
			return nil, fmt.Errorf("%w: it has locked %s: end it first, or use another log here", store.ErrLeased, path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, explain(err))
	}
	// The lock of the file itself counts, in case the one next to it was removed.
	if err := d.claim.lead(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: it has locked %s: end it first, or use another log here", err, d.path), tx.Rollback(), db.Close())
	}
	return new(leases.Set).Holder(func() error { return errors.Join(d.claim.follow(), tx.Rollback(), db.Close()) }), nil
}
