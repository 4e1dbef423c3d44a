//go:build browser

package main

import (
	"bytes"
	"flag"
	"image/png"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/browser"
)

var writeWindow = flag.Bool("picture", false, "write the picture of docs/window.md")

// TestBrowserWindowPicture makes the picture of README.md and docs/window.md: a thread at a
// moment at which its state changes. Fonts differ between machines, so it only compares the
// size; make picture writes it.
func TestBrowserWindowPicture(t *testing.T) {
	const path, width, height = "../../docs/images/window.png", 1280, 900
	w := openThreadWindow(t, "log", "view", "--store", logOf(t, "agent-framework/state-change"))
	b := w.thread("thread-state-change", 14, width, "light")
	b.Until(`document.querySelectorAll(".messages > .message").length > 2 && document.querySelector(".run-row") !== null && document.querySelector(".picture rect") !== null`)
	made := browser.Get(b, chromedp.CaptureScreenshot())
	if *writeWindow {
		testkit.Write(t, path, made)
	}
	for name, data := range map[string][]byte{"made": made, path: testkit.Read(t, path)} {
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil || c.Width != width || c.Height != height || len(data) > 250_000 {
			t.Errorf("%s: %d by %d, %d bytes, %v; want %d by %d: make picture", name, c.Width, c.Height, len(data), err, width, height)
		}
	}
}
