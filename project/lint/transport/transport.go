// Package transport checks how a response was sent: the rules N1 to N10 of docs/lint.md.
//
// It knows the manifest of a capture and the times of its reads. It must not know what
// events mean, except for their timestamps.
package transport

import (
	"mime"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// A Response is what a capture has about the transport of a response.
type Response struct {
	// Manifest is nil for a plain file.
	Manifest *capture.Manifest
	Framing  capture.Framing
	// Arrivals is nil if there are no times of reads.
	Arrivals *capture.Arrivals
	// Head are the first bytes of the decoded response.
	Head []byte
	// Events is the number of events, and Span the time between the least and the
	// greatest of their timestamps.
	Events int
	Span   time.Duration
	// CORS is nil unless the capture was just recorded with an Origin.
	CORS *CORS
}

// Check returns the findings about a response.
func Check(r Response) []finding.Finding {
	var list []finding.Finding
	add := func(f *finding.Finding) {
		if f != nil {
			list = append(list, *f)
		}
	}
	if m := r.Manifest; m != nil && m.Source.Kind != capture.KindFile && (m.Source.Status == nil || *m.Source.Status == 200) {
		mediaType, charset := contentType(m.Source.ContentType)
		add(checkMediaType(mediaType, r.Events > 0))
		add(checkCharset(charset))
	}
	if r.Framing == capture.SSE && r.isStream() {
		add(checkLines(r.Head))
	}
	if r.Manifest != nil && r.Arrivals != nil {
		add(checkBuffered(r))
		add(checkSilence(r))
	}
	if r.CORS != nil {
		list = append(list, r.CORS.check()...)
	}
	return list
}

// isStream reports whether a response is, or claims to be, an event stream. The page of an
// error is none.
func (r *Response) isStream() bool {
	if r.Events > 0 || r.Manifest == nil || r.Manifest.Source.Kind == capture.KindFile {
		return true
	}
	mediaType, _ := contentType(r.Manifest.Source.ContentType)
	return mediaType == eventStream
}

// Classify returns a finding about a capture as a finding of the rules N4, N8 and N9. Other
// findings are returned unchanged.
func Classify(f finding.Finding, r Response) finding.Finding {
	switch f.Code {
	case finding.EventIncomplete:
		if r.Framing == capture.SSE {
			f = f.InRule("N4")
			if r.Manifest == nil || r.Manifest.End == capture.EndEOF {
				f = f.WithHint(hint.EndWithBlankLine)
			}
			return f
		}
	case finding.CaptureCutShort:
		if r.Manifest != nil && r.Manifest.End == capture.EndError {
			return finding.Violation("N8", "the connection broke before the end of the response")
		}
	case finding.HTTPStatus:
		if r.Events > 0 {
			return f.InRule("N9")
		}
	}
	return f
}

// contentType returns the media type and the charset of a content type, in lower case.
func contentType(value string) (mediaType, charset string) {
	mediaType, parameters, err := mime.ParseMediaType(value)
	if err != nil {
		first, _, _ := strings.Cut(value, ";")
		return strings.ToLower(strings.TrimSpace(first)), ""
	}
	return mediaType, strings.ToLower(parameters["charset"])
}

const eventStream = "text/event-stream"

func checkMediaType(mediaType string, hasEvents bool) *finding.Finding {
	var f finding.Finding
	switch mediaType {
	case eventStream:
		return nil
	case "":
		f = finding.Violation("N1", "the response has no content type; that of an event stream is %s", eventStream)
	default:
		f = finding.Violation("N1", "the response has the content type %s; that of an event stream is %s", finding.Quote(mediaType), eventStream)
	}
	f = f.WithSeverity(finding.Warning)
	if hasEvents {
		f = f.WithHint(hint.SendEventStream)
	}
	return &f
}

func checkCharset(charset string) *finding.Finding {
	if charset == "" || charset == "utf-8" || charset == "utf8" {
		return nil
	}
	f := finding.Violation("N2", "the content type has the charset %s; an event stream is UTF-8", finding.Quote(charset))
	return &f
}
