package service

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/recovery"
)

// Recover recovers the unfinished captures of a store. A capture that cannot be recovered
// is logged, and the others are recovered.
func Recover(ctx context.Context, store *Store, tool capture.Tool, log *slog.Logger) {
	for row := range recovery.All(ctx, store.Root, recovery.Settings{Tool: tool}) {
		attrs := []any{"capture", filepath.Base(row.Capture), "verdict", string(row.Verdict)}
		if row.Recovered != nil && row.Digest != nil {
			attrs = append(attrs, "recovered", filepath.Base(*row.Recovered), "digest", *row.Digest)
		}
		if row.Bytes != nil && row.Left != nil {
			attrs = append(attrs, "bytes", *row.Bytes, "left", *row.Left)
		}
		for _, f := range row.Findings {
			attrs = append(attrs, "code", string(f.Code)) // its message may quote content
		}
		switch row.Verdict {
		case recovery.Unrecoverable, recovery.Failed:
			log.Error("unfinished capture not recovered", attrs...)
		default:
			log.Info("unfinished capture", attrs...)
		}
	}
}
