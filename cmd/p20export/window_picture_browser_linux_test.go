//go:build browser

package main

import (
	"flag"
	"testing"
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
	b.Picture(path, width, height, 250_000, *writeWindow)
}
