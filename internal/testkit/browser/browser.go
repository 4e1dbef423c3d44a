// Package browser uses pages in a real Chromium, for tests. make browser sets
// P20EXPORT_CHROMIUM to the path of the browser, and P20EXPORT_AXE to that of axe-core.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/p20export/p20export/internal/testkit"
)

const (
	// life limits the time that a tab is open.
	life = 10 * time.Minute
	// patience limits the time that a tab waits for a condition.
	patience = 30 * time.Second
)

// variable returns the value of an environment variable that make browser sets.
func variable(name string) (string, error) {
	value := os.Getenv(name)
	if value == "" {
		return "", fmt.Errorf("%s is not set; make browser sets it and runs these tests", name)
	}
	return value, nil
}

// A Browser is a running Chromium.
type Browser struct {
	ctx  context.Context
	stop func()
}

// Launch starts a browser.
func Launch() (*Browser, error) {
	path, err := variable("P20EXPORT_CHROMIUM")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	b := &Browser{ctx: ctx, stop: func() { stop(); stopAllocator() }}
	if err := chromedp.Do(ctx); err != nil {
		b.stop()
		return nil, fmt.Errorf("the browser does not start: %w", err)
	}
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() { b.stop() }

// A Tab is an open page.
type Tab struct {
	testing.TB
	ctx   context.Context
	close func()

	mu       sync.Mutex
	problems []string
	loaded   []string
}

// Open opens a page in a window of a width, with a colour scheme. The actions before run
// first. The tab is closed at the end of the test at the latest.
func (b *Browser) Open(t testing.TB, address string, width int64, scheme string, before ...chromedp.Action[chromedp.Void]) *Tab {
	t.Helper()
	tab := &Tab{TB: t}
	ctx, stop := chromedp.NewContext(b.ctx, chromedp.WithListener(tab.note))
	ctx, expire := context.WithTimeout(ctx, life)
	tab.ctx, tab.close = ctx, func() { expire(); stop() }
	t.Cleanup(tab.close)
	tab.Run(Command(network.Enable, network.EnableParams{}), Command(log.Enable, cdp.Empty{}), chromedp.EmulateViewport(width, 900),
		Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}))
	tab.Run(before...)
	tab.Run(chromedp.Navigate(address))
	return tab
}

// note records what the page loads and logs.
func (t *Tab) note(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		t.loaded = append(t.loaded, e.Request.URL)
	case *runtime.EventExceptionThrown:
		t.problems = append(t.problems, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		t.problems = append(t.problems, fmt.Sprint(e.Type, e.Args))
	case *log.EventEntryAdded:
		t.problems = append(t.problems, e.Entry.Text)
	}
}

// Close closes the tab, as a user does.
func (t *Tab) Close() { t.close() }

// Loaded returns the addresses that the page has loaded.
func (t *Tab) Loaded() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loaded
}

// Problems returns the exceptions, and what the page and the browser have logged.
func (t *Tab) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.problems
}

// Forgive discards the problems and the loads so far, except that of the page itself.
func (t *Tab) Forgive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems, t.loaded = nil, t.loaded[:1]
}

// Run runs actions.
func (t *Tab) Run(actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(t.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// Command returns a command of the browser's protocol as an action.
func Command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// Picture compares a screenshot of the tab with the picture at a path. Fonts differ between machines,
// so both only need the same size in pixels, and at most so many bytes. If write is true, the
// screenshot replaces the picture first.
func (t *Tab) Picture(path string, width, height, most int, write bool) {
	t.Helper()
	made := Get(t, chromedp.CaptureScreenshot())
	if write {
		testkit.Write(t, path, made)
	}
	for name, data := range map[string][]byte{"made": made, path: testkit.Read(t, path)} {
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil || c.Width != width || c.Height != height || len(data) > most {
			t.Errorf("%s: %d by %d, %d bytes, %v; want %d by %d: make picture", name, c.Width, c.Height, len(data), err, width, height)
		}
	}
}

// Click clicks the first element that matches a CSS selector.
func (t *Tab) Click(selector string) { t.Helper(); t.Run(chromedp.Click(chromedp.CSS(selector))) }

// Focus moves the focus to the first element that matches a CSS selector.
func (t *Tab) Focus(selector string) { t.Helper(); t.Run(chromedp.Focus(chromedp.CSS(selector))) }

// Keys presses keys in the element with the focus.
func (t *Tab) Keys(keys ...string) {
	t.Helper()
	for _, k := range keys {
		t.Run(chromedp.KeyEvent(k))
	}
}

// Script runs JavaScript.
func (t *Tab) Script(text string) {
	t.Helper()
	t.Run(chromedp.Evaluate[chromedp.Void](text))
}

// Get returns the result of an action.
func Get[T any](t *Tab, action chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(t.ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Evaluate returns the value of a JavaScript expression. It waits for a promise.
func Evaluate[T any](t *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(t.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Until waits until an expression is true.
func (t *Tab) Until(expression string) {
	t.Helper()
	if _, err := chromedp.Run(t.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// Holds reports an error if an expression is not true.
func (t *Tab) Holds(expression string) {
	t.Helper()
	if !Evaluate[bool](t, expression) {
		t.Errorf("it does not hold: %s", expression)
	}
}

// Tree returns what a screen reader has of the page: a line for each element with a name,
// with its role and its name.
func (t *Tab) Tree() string {
	t.Helper()
	var nodes []*accessibility.Node
	t.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		tree, err := cdp.Call(ctx, target, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		nodes = tree.Nodes
		return err
	}))
	var lines strings.Builder
	for _, n := range nodes {
		if n.Ignored || n.Role == nil || n.Name == nil {
			continue
		}
		var role, name string
		if err := errors.Join(json.Unmarshal(n.Role.Value, &role), json.Unmarshal(n.Name.Value, &name)); err != nil {
			t.Fatal(err)
		}
		if name != "" && role != "InlineTextBox" { // the lines of a text
			fmt.Fprintf(&lines, "%s: %s\n", role, name)
		}
	}
	return lines.String()
}

// verdict is the result of axe-core for a page.
type verdict struct {
	Violations []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	Passes []struct{ ID string }
}

// Judge reports the violations that axe-core finds in the current state of the page. A page
// with a content security policy must be opened with SetBypassCSP.
func (t *Tab) Judge() {
	t.Helper()
	path, err := variable("P20EXPORT_AXE")
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Script(string(axe))
	found := Evaluate[verdict](t, `axe.run({resultTypes: ["violations", "passes"]})`)
	for _, v := range found.Violations {
		t.Errorf("%s: %s: %.600v", v.ID, v.Help, v.Nodes)
	}
	if len(found.Passes) < 20 {
		t.Errorf("only %d rules were looked at", len(found.Passes))
	}
}
