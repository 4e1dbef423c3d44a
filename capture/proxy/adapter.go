package proxy

import (
	"os"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/capture"
)

func createIn(root *os.Root, name string, s capture.Settings) (*capture.Writer, error) {
	return capture.Create(filepath.Join(root.Name(), name), s)
}

type arrival struct {
	Bytes int
	At    time.Time
}

const endStorage capture.End = "storage"

func closeWriter(w *capture.Writer, end capture.End) (*capture.Manifest, error) {
	if end == endStorage {
		end = capture.EndError
	}
	return w.Close(end)
}

func writeArrived(w *capture.Writer, p []byte, _ []arrival) (int, error) { return w.Write(p) }

func syncWriter(*capture.Writer) error { return nil }

func setRequest(*capture.Writer, []byte) error { return nil }

const opaque = capture.SSE
