package render

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/internal/humanize"
)

// BatchProgress shows how many inputs of a batch are done, how many are done per second,
// and how long the rest will take. It shows nothing if it is not on a terminal.
type BatchProgress struct {
	Progress
	out    io.Writer // for results
	inputs string
	bytes  bool
	read   func() (done, total int64)
	counts func() string
	count  atomic.Int64 // of the inputs that are done
	sum    atomic.Int64 // of the bytes that Read counts
	held   []byte       // the beginning of a result
}

// NewBatchProgress shows the progress of a batch on w, which is standard error, until End
// is called. The inputs are named in the plural. The function read returns how much of the
// batch was read and its size, or 0 if that is not known, in bytes or in inputs. It must be
// safe for concurrent use. The function counts returns the numbers of the results; End calls
// it.
//
// If the results go to a terminal too, they appear above the line.
func (p *Printer) NewBatchProgress(w io.Writer, inputs string, bytes bool, read func() (done, total int64), counts func() string) *BatchProgress {
	b := &BatchProgress{out: p.out, inputs: inputs, bytes: bytes, read: read, counts: counts}
	b.w, b.started, b.text, b.position = w, time.Now(), func() string { return b.describe(time.Since(b.started)) }, b.current
	if text.HasControls(w) && text.IsTerminal(p.out) {
		p.Flush()
		p.w.Reset(b)
	}
	b.start()
	return b
}

// Done counts an input.
func (b *BatchProgress) Done() {
	b.count.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		return
	}
	if done, total := b.current(); total > 0 {
		b.bar.SetTotal(total, false)
		b.bar.SetCurrent(done)
	}
}

// Read counts bytes that were read from the inputs. It may be called concurrently.
func (b *BatchProgress) Read(bytes int64) { b.sum.Add(bytes) }

// End removes the line. If the batch took long, a line about its speed and its results
// remains.
func (b *BatchProgress) End() {
	if b.end() {
		count, took := b.count.Load(), time.Since(b.started)
		text := fmt.Sprintf("%s: %s in %s, %s", b.inputs, humanize.Grouped(count), took.Round(time.Second/10), rate(count, took))
		if counts := b.counts(); counts != "" {
			text += ": " + counts
		}
		fmt.Fprintln(b.w, text)
	}
}

// Write writes results above the line. It keeps the beginning of a result until its end is
// written, because an incomplete line would be erased together with the progress.
func (b *BatchProgress) Write(results []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = append(b.held, results...)
	text := b.held
	if !b.ended {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	var err error
	if b.display != nil && !b.ended {
		_, err = b.display.Write(text)
	}
	if b.display == nil || b.ended || err != nil {
		_, err = b.out.Write(text)
	}
	b.held = append(b.held[:0], b.held[len(text):]...)
	return len(results), err
}

// current returns how much of the batch is done. Inputs were read some time before they
// are done, so it stays below the total, at which the bar would disappear.
func (b *BatchProgress) current() (done, total int64) {
	done, total = b.read()
	if !b.bytes {
		done = b.count.Load()
	}
	return max(min(done, total-1), 0), total
}

// describe returns the text after the bar.
func (b *BatchProgress) describe(took time.Duration) string {
	count, sum := b.count.Load(), b.sum.Load()
	done, total := b.read()
	if count == 0 && total == 0 && sum == 0 {
		return "looking for " + b.inputs + ", " + took.Round(time.Second).String()
	}
	text := b.inputs + ": " + humanize.Grouped(count)
	if !b.bytes {
		done = count
	}
	if total > 0 && !b.bytes {
		text += " of " + humanize.Grouped(total)
	}
	if total > 0 && b.bytes {
		text += ", " + strconv.FormatInt(done*100/total, 10) + "%"
	}
	if sum > 0 {
		text += ", " + humanize.Bytes(sum) + " read"
	}
	text += ", " + rate(count, took)
	if total > 0 && done > 0 {
		left := time.Duration(float64(took) * float64(total-done) / float64(done))
		text += ", " + left.Round(time.Second).String() + " left"
	}
	return text
}

// rate formats a number of inputs per second.
func rate(count int64, took time.Duration) string {
	perSecond := float64(count) / max(took.Seconds(), 0.001)
	if perSecond < 10 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64) + "/s"
	}
	return humanize.Grouped(int64(perSecond)) + "/s"
}
