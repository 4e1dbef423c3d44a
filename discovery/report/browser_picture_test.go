//go:build browser

package report

import (
	"flag"
	"testing"
)

var writePicture = flag.Bool("picture", false, "write the picture of docs/examine.md")

// TestBrowserPicture makes the picture of docs/examine.md: the beginning of a page about a run with a
// tool. Fonts differ between machines, so it only compares the size; make picture writes it.
func TestBrowserPicture(t *testing.T) {
	const path, width, height = "../../docs/images/report.png", 1200, 900
	b := open(t, pageOf(t, captures+"/adk/backend-tool"), width, "light")
	b.Holds(`document.body.innerText.includes("Kept 3 of 4 messages")`)
	b.Picture(path, width, height, 200_000, *writePicture)
}
