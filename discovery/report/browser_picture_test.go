//go:build browser

package report

import (
	"bytes"
	"flag"
	"image/png"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/browser"
)

var writePicture = flag.Bool("picture", false, "write the picture of docs/examine.md")

// TestBrowserPicture makes the picture of docs/examine.md: the beginning of a page about a run with a
// tool. Fonts differ between machines, so it only compares the size; make picture writes it.
func TestBrowserPicture(t *testing.T) {
	const path, width, height = "../../docs/images/report.png", 1200, 900
	b := open(t, pageOf(t, captures+"/adk/backend-tool"), width, "light")
	b.Holds(`document.body.innerText.includes("Kept 3 of 4 messages")`)
	made := browser.Get(b.Tab, chromedp.CaptureScreenshot())
	if *writePicture {
		testkit.Write(t, path, made)
	}
	for name, data := range map[string][]byte{"made": made, path: testkit.Read(t, path)} {
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil || c.Width != width || c.Height != height || len(data) > 200_000 {
			t.Errorf("%s: %d by %d, %d bytes, %v; want %d by %d: make picture", name, c.Width, c.Height, len(data), err, width, height)
		}
	}
}
