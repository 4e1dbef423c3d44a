package transport

import (
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
)

const (
	// longRun is the duration from which a run can be seen to be held back.
	longRun = 2 * time.Second
	// fewEvents is the number of events from which a stream is expected to have parts.
	fewEvents = 4
	// onePiece is the part of the duration within which everything arrived.
	onePiece = 20
	// longSpan is the span of the timestamps that shows that events were held back.
	longSpan = time.Second
	// longSilence is the time limit of most proxies.
	longSilence = time.Minute
)

// checkBuffered checks N5 and N7.
func checkBuffered(r Response) *finding.Finding {
	a, m := r.Arrivals, r.Manifest
	took, spread := a.Last.Sub(m.StartedAt), a.Last.Sub(a.First)
	if r.Events < fewEvents || took < longRun || spread > took/onePiece {
		return nil
	}
	var f finding.Finding
	if coding := m.Source.Headers["content-encoding"]; coding != "" {
		f = finding.Violation("N7", "the response has the content coding %s, and its %d events arrived within %s, after %s without any",
			finding.Quote(coding), r.Events, short(spread), short(a.First.Sub(m.StartedAt)))
		return &f
	}
	f = finding.Violation("N5", "the %d events arrived within %s, after %s without any", r.Events, short(spread), short(a.First.Sub(m.StartedAt)))
	if r.Span < longSpan || spread > r.Span/onePiece {
		f = f.WithSeverity(finding.Info)
	} else {
		f.Message += "; by their timestamps, they were made in " + short(r.Span)
	}
	return &f
}

// checkSilence checks N6.
func checkSilence(r Response) *finding.Finding {
	a, m := r.Arrivals, r.Manifest
	silence, end := a.Silence, a.SilenceEnd
	if last := m.EndedAt.Sub(a.Last); last > silence && m.End == capture.EndEOF {
		silence, end = last, m.Response().Bytes
	}
	if silence < longSilence {
		return nil
	}
	where := "before the first byte"
	if end > 0 {
		where = "after byte " + humanize.Grouped(end)
	}
	f := finding.Violation("N6", "nothing arrived for %s, %s", short(silence), where)
	return &f
}

// short formats a duration with three digits or so.
func short(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
