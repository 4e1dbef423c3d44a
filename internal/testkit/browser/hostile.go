package browser

import (
	"encoding/json"
	"slices"
	"strings"
)

// Hostile returns the response of an agent, as server-sent events, whose content tries to break out
// of a page. If damaged is set, one of its events is not JSON.
func Hostile(damaged bool) string {
	const attack = `</script><script>window.owned=1</script><img src=x onerror=window.owned=1><!--`
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err) // a string can be encoded
		}
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028").Replace(string(b))
	}
	all := quoted(attack + "\u202egnp.exe\u2066 \u2028 \u200b\ufeff {{.}} ${x} \u05e9\u05dc\u05d5\u05dd")
	word := quoted(strings.Repeat("W", 1<<20))
	events := []string{
		`{"type":"RUN_STARTED","threadId":` + quoted("t"+strings.ReplaceAll(attack, " ", "\u2027")) + `,"runId":"r","timestamp":1769860800123,"` + "\u202e<b>" + `":1}`,
		`{"type":` + quoted("<script>\u202e"+strings.Repeat("W", 200)) + `,"value":` + all + `}`,
		"not JSON \x1b[2J\x00\xff " + attack,
		`{"type":"CUSTOM","word":` + word + `}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":` + all + `},{"id":"m2","role":"assistant","content":` + quoted(strings.Repeat("W", 200_000)) + `,"x":` + word + `}]}`,
		`{"type":"RUN_ERROR","message":` + quoted(attack) + `,"timestamp":1769860801123}`,
	}
	if !damaged {
		events = slices.Delete(events, 2, 3)
	}
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}
