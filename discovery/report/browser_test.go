//go:build browser

package report

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience limits the time that one test waits for the browser.
const patience = 2 * time.Minute

// variable returns the value of an environment variable that make browser sets.
func variable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set; make browser sets it and runs these tests", name)
	}
	return value
}

var browser struct {
	sync.Once
	ctx  context.Context
	err  error
	stop func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(code)
}

// start starts the browser, which all tests share.
func start(t *testing.T) context.Context {
	t.Helper()
	path := variable(t, "P20EXPORT_CHROMIUM")
	browser.Do(func() {
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
		browser.ctx, browser.err = ctx, chromedp.Do(ctx)
		browser.stop = func() { stop(); stopAllocator() }
	})
	if browser.err != nil {
		t.Fatalf("the browser does not start: %v", browser.err)
	}
	return browser.ctx
}

// tab is an open page in the browser.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
	loaded   []string
}

// open opens a page in a window of a width, with a colour scheme. At the end of the test,
// open checks that the page loaded nothing but itself and logged nothing.
func open(t *testing.T, page string, width int64, scheme string, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	b := &tab{T: t}
	ctx, stop := chromedp.NewContext(start(t), chromedp.WithListener(func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.loaded = append(b.loaded, e.Request.URL)
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
		case *runtime.EventConsoleAPICalled:
			b.problems = append(b.problems, fmt.Sprint(e.Type, e.Args))
		case *log.EventEntryAdded:
			b.problems = append(b.problems, e.Entry.Text)
		}
	}))
	ctx, expire := context.WithTimeout(ctx, patience)
	b.ctx = ctx
	address := (&url.URL{Scheme: "file", Path: page}).String()
	t.Cleanup(func() {
		expire()
		stop()
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.loaded) != 1 || b.loaded[0] != address {
			t.Errorf("the page loaded %v", b.loaded)
		}
		for _, p := range b.problems {
			t.Errorf("the browser says: %s", p)
		}
	})
	b.run(command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}), chromedp.EmulateViewport(width, 900),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}))
	b.run(before...)
	b.run(chromedp.Navigate(address))
	return b
}

// forgive discards the loads and logs of the page so far, except that of the page itself.
func (b *tab) forgive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems, b.loaded = nil, b.loaded[:1]
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// command returns a command of the browser's protocol as an action.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// click clicks the first element that matches a CSS selector.
func (b *tab) click(selector string) { b.Helper(); b.run(chromedp.Click(chromedp.CSS(selector))) }

// focus moves the focus to the first element that matches a CSS selector.
func (b *tab) focus(selector string) { b.Helper(); b.run(chromedp.Focus(chromedp.CSS(selector))) }

// keys presses keys in the element with the focus.
func (b *tab) keys(keys ...string) {
	b.Helper()
	for _, k := range keys {
		b.run(chromedp.KeyEvent(k))
	}
}

// script runs JavaScript.
func (b *tab) script(text string) {
	b.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](text))
}

// evaluate returns the value of a JavaScript expression.
func evaluate[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(patience/4))); err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
}

// holds reports an error if an expression is not true.
func (b *tab) holds(expression string) {
	b.Helper()
	if !evaluate[bool](b, expression) {
		b.Errorf("it does not hold: %s", expression)
	}
}

// pageOf writes a page about captures and returns its path.
func pageOf(t *testing.T, paths ...string) string {
	t.Helper()
	s := Settings{Tool: tool, Out: filepath.Join(t.TempDir(), "report.html")}
	rows, err := Write(context.Background(), paths, s)
	if err != nil || rows[0].Report == nil {
		t.Fatalf("%v %v", rows, err)
	}
	return s.Out
}
