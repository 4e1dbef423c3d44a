package runs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// find finds the last of any number of attempts, and knows what became of it.
func TestFind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log, key := memory.New(), store.Key{Thread: "t"}
		defer log.Close()
		attempts := rapid.IntRange(0, 120).Draw(t, "attempts")
		last := int64(0)
		add := func(stream string, kind store.Kind, data string) {
			var err error
			if last, err = log.Append(t.Context(), key, last, []store.Entry{{Stream: stream, Kind: kind, Data: []byte(data)}}); err != nil {
				t.Fatal(err)
			}
		}
		agents := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b@2", "1"}), attempts, attempts).Draw(t, "agents") // of an older release, or of this one
		stream := func(n int) string { return streamID("r", n, agents[n-1]) }
		for n := 1; n <= attempts; n++ {
			add(stream(n), store.Input, fmt.Sprint("request ", n))
			add("other", store.Event, `{"type":"CUSTOM"}`)
			if n < attempts {
				add(stream(n), store.End, "error")
			}
		}
		run, ended := rapid.Bool().Draw(t, "run"), rapid.Bool().Draw(t, "ended")
		end := rapid.SampledFrom([]string{"eof", "error", "cancelled"}).Draw(t, "end")
		closing := rapid.SampledFrom([]*closing{nil, &cancelled, &shutDown}).Draw(t, "closing")
		if attempts > 0 {
			if run {
				add(stream(attempts), store.Event, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
			}
			if ended && closing != nil {
				add(stream(attempts), store.Closing, string(closing.event(time.Now())))
			}
			if ended {
				add(stream(attempts), store.End, end)
			}
		}
		got, err := find(t.Context(), log, key, "r", []byte(fmt.Sprint("request ", attempts)))
		if err != nil {
			t.Fatal(err)
		}
		closed := end == "cancelled" && closing != &shutDown
		if attempts > 0 && got.ID != stream(attempts) {
			t.Errorf("the stream is %q, want %q", got.ID, stream(attempts))
		}
		if got.number != attempts || attempts > 0 && (!got.same || got.started != run || got.Ended != ended || got.cancelled != (ended && closed)) {
			t.Errorf("%+v", got)
		}
		if want := attempts == 0 || ended && !run && !closed; got.over() != want {
			t.Errorf("over is %t, want %t: %+v", got.over(), want, got)
		}
	})
}

// Different threads have different leases, also with the ids that clients choose.
func TestLeaseName(t *testing.T) {
	t.Parallel()
	id := rapid.StringMatching(`[ab:0-9é]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		a := store.Key{Tenant: id.Draw(t, "tenant a"), Thread: id.Draw(t, "thread a")}
		b := store.Key{Tenant: id.Draw(t, "tenant b"), Thread: id.Draw(t, "thread b")}
		if (a == b) != (leaseName(a) == leaseName(b)) {
			t.Errorf("%q and %q: %q and %q", a, b, leaseName(a), leaseName(b))
		}
	})
}

// The id of a stream fits in a log and is the same in all releases, because processes of
// several releases may use a log.
func TestStreamID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ agent, want string }{
		{"", "serve:454349e422f05297191ead13:1"}, {"chat", "serve:454349e422f05297191ead13:1@chat"},
		{"a@b:2\n/é", "serve:454349e422f05297191ead13:1@a@b:2\n/é"},
		{"\x00", "serve:454349e422f05297191ead13:1"}, {"\xff", "serve:454349e422f05297191ead13:1"},
		{strings.Repeat("x", 991), "serve:454349e422f05297191ead13:1@" + strings.Repeat("x", 991)},
		{strings.Repeat("x", 992), "serve:454349e422f05297191ead13:1"},
	} {
		got := streamID("r", 1, c.agent)
		if got != c.want {
			t.Errorf("the stream of %q is %q", c.agent, got)
		}
		want := c.agent
		if !strings.Contains(c.want, "@") {
			want = ""
		}
		if name := AgentOf(got); name != want {
			t.Errorf("the agent of %q is %q, want %q", got, name, want)
		}
	}
	if err := store.CheckID(streamID(strings.Repeat("x", 1<<20), 1<<30, "")); err != nil {
		t.Error(err)
	}
	for _, id := range []string{
		"", "s@chat", "serve:@chat", "serve:454349e422f05297191ead13:@chat", "serve:454349e422f05297191ead13:x@chat", "serve:454349e422f05297191ead13:1@",
		appendStreams("r") + digest("p"), appendPrefix + "454349e422f05297191ead13:1@chat", "x" + streamID("r", 1, "chat"),
	} {
		if name := AgentOf(id); name != "" {
			t.Errorf("the agent of %q is %q", id, name)
		}
	}
}

// The closings are events that clients understand.
func TestClosings(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1767225600123)
	codes := map[string]bool{}
	for _, c := range []closing{ownerLost, cancelled, upstreamEnded.because("\"\n"), shutDown, timedOut} {
		e, err := envelope.ReadEvent(c.event(at))
		if err != nil || e.Type != envelope.RunError || e.Object.Text("message") != c.message || e.Object.Text("code") != c.code {
			t.Errorf("%s: %v", c.event(at), err)
		}
		if n, ok := e.Object.Get("timestamp"); !ok || string(n.Raw) != "1767225600123" {
			t.Errorf("%s has no timestamp", c.event(at))
		}
		codes[c.code] = true
	}
	if len(codes) != 5 {
		t.Error(codes)
	}
}

// The threads of a tenant are limited; threads that exist are admitted, and deleted ones make
// room.
func TestThreads(t *testing.T) {
	t.Parallel()
	log := memory.New()
	defer log.Close()
	limit := threads{limit: 2}
	add := func(tenant, thread string, want error) {
		t.Helper()
		key := store.Key{Tenant: tenant, Thread: thread}
		if err := limit.admit(t.Context(), log, key); !errors.Is(err, want) {
			t.Fatalf("%s %s: %v, want %v", tenant, thread, err, want)
		}
		if want == nil {
			if _, err := log.Append(t.Context(), key, 0, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte("{}")}}); err != nil && !errors.Is(err, store.ErrConflict) {
				t.Fatal(err)
			}
		}
	}
	add("x", "1", nil)
	add("x", "2", nil)
	add("x", "3", ErrThreads)
	add("x", "1", nil)
	add("y", "3", nil)
	if _, err := log.Delete(t.Context(), store.Key{Tenant: "x", Thread: "1"}); err != nil {
		t.Fatal(err)
	}
	add("x", "3", nil)
	add("x", "4", ErrThreads)
}
