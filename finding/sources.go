package finding

import (
	"slices"
	"strconv"
	"sync"
)

// Level is how strictly the specification of AG-UI demands something (BCP 14).
type Level string

// The levels. MUST NOT is Must, and SHOULD NOT is Should. Statement is a sentence without a
// key word that states how streams are.
const (
	Must      Level = "MUST"
	Should    Level = "SHOULD"
	Statement Level = "sentence"
)

// Sentence is a place in the specification of AG-UI 1.1, from which 1.0 differs only where
// docs/vocabulary.md says so.
type Sentence struct {
	// Page is the path of the page below docs/spec/1.1 in the repository
	// ag-ui-protocol/ag-ui, without its extension.
	Page string `json:"page"`
	// Section is the heading above the sentence.
	Section string `json:"section"`
	// Level is the key word of the sentence.
	Level Level `json:"level"`
	// Number counts the key words of that level in the section, from 1. For a Statement,
	// it counts the sentences.
	Number int `json:"number"`
}

// String returns the place, such as "events/lifecycle, The run, MUST 1".
func (s Sentence) String() string {
	return s.Page + ", " + s.Section + ", " + string(s.Level) + " " + strconv.Itoa(s.Number)
}

// Source is where a rule of docs/sequence.md comes from, and who enforces it.
type Source struct {
	// Sentences are what the specification says, the most important first. A rule of
	// AG-UI 0.x has none.
	Sentences []Sentence `json:"sentences,omitempty"`
	// Versions are the versions of AG-UI that have the rule, as event.Protocol names them.
	Versions []string `json:"versions"`
	// Clients are the releases of @ag-ui/client, of those in PublishedClients, that end the
	// run at a breach.
	Clients []string `json:"clients"`
}

// Page returns the address of the page that has the first sentence, or "" if there is none.
func (s Source) Page() string {
	if len(s.Sentences) == 0 {
		return ""
	}
	version := "1.1"
	if !slices.Contains(s.Versions, version) {
		version = s.Versions[0] // the draft
	}
	return "https://docs.ag-ui.com/spec/" + version + "/" + s.Sentences[0].Page
}

// Level returns the level of the first sentence, or Must if there is none.
func (s Source) Level() Level {
	if len(s.Sentences) == 0 {
		return Must
	}
	return s.Sentences[0].Level
}

// Enforced reports whether a release of @ag-ui/client ends the run at a breach.
func (s Source) Enforced(client string) bool { return slices.Contains(s.Clients, client) }

// PublishedClients returns the releases of @ag-ui/client that the rules were compared with.
func PublishedClients() []string { return slices.Clone(allClients) }

// SourceOf returns the source of a rule of docs/sequence.md, and whether there is one. The
// caller must not modify its lists.
func SourceOf(rule string) (Source, bool) {
	s, ok := sources()[rule]
	return s, ok
}

var (
	allClients   = []string{"0.0.52", "0.0.59", "1.0.0"}
	ownerClients = allClients[1:] // with subagents
	lastClient   = allClients[2:]

	allVersions = []string{"0.x", "1.0", "1.1", "draft"}
	specified   = allVersions[1:]
)

// sources has the source of each rule of docs/sequence.md. It is never changed.
var sources = sync.OnceValue(func() map[string]Source {
	mixed := streaming("The chunked form", 2)
	return map[string]Source{
		"G1": {lifecycle("The run", 1), allVersions, allClients},
		"G2": {lifecycle("After a run closes", 1), allVersions, allClients},
		"G3": {lifecycle("After a run closes", 3), allVersions, allClients},
		"G4": {lifecycle("Several runs on one stream", 1), allVersions, allClients},

		"G5": {subagents("Attribution", 1), allVersions, ownerClients},
		"G6": {must("basic/index", "Absent means absent", 1), allVersions, ownerClients},
		"G7": {subagents("Lifecycle", 7), allVersions, ownerClients},
		"G8": {must("basic/processing", "The rule", 4), allVersions, ownerClients},

		"G9":  {slices.Concat(streaming("Open, content, close", 1), mixed), allVersions, allClients},
		"G10": {slices.Concat(streaming("Open, content, close", 2), mixed), allVersions, allClients},
		"G11": {slices.Concat(streaming("Open, content, close", 1), mixed), allVersions, allClients},
		"G12": {slices.Concat(streaming("Open, content, close", 2), mixed), allVersions, allClients},
		"G13": {subagents("Ownership", 6), allVersions, ownerClients},
		"G14": {lifecycle("Steps", 1), allVersions, allClients},
		"G15": {slices.Concat(lifecycle("Steps", 2), subagents("Ownership", 3)), allVersions, allClients},
		"G16": {slices.Concat(reasoning("Spans: REASONING_START and REASONING_END", 1), reasoning("Reasoning messages", 2), mixed), specified, lastClient},
		"G17": {slices.Concat(reasoning("Spans: REASONING_START and REASONING_END", 3), reasoning("Reasoning messages", 2), mixed), specified, lastClient},
		"G18": {subagents("Ownership", 1), allVersions, ownerClients},

		"G19": {subagents("Lifecycle", 1), allVersions, ownerClients},
		"G20": {slices.Concat(subagents("Lifecycle", 3), subagents("Lifecycle", 4)), allVersions, ownerClients},
		"G21": {subagents("Nesting and parallelism", 1), allVersions, ownerClients},
		"G22": {subagents("Lifecycle", 2), allVersions, ownerClients},

		"G23": {slices.Concat(streaming("Open, content, close", 3), lifecycle("Steps", 3), reasoning("Spans: REASONING_START and REASONING_END", 2), subagents("Termination", 1)), allVersions, allClients},

		"G24": {slices.Concat(streaming("The first chunk", 1), streaming("The first chunk", 2), streaming("The first chunk", 3)), allVersions, allClients},
		"G25": {streaming("Closing a chunk stream", 1), allVersions, ownerClients},
		"G26": {slices.Concat(subagents("Ownership", 1), subagents("Ownership", 4)), allVersions, ownerClients},
		"G27": {streaming("Continuation chunks", 2), specified, lastClient},

		"G28": {nil, allVersions[:1], allClients[:2]},
		"G29": {nil, allVersions[:1], allClients[:2]},

		"G30": {must("basic/run-input", "Identity", 1), specified, nil},
		"G31": {[]Sentence{{"basic/run-input", "Identity", Statement, 2}}, specified, nil},
		"G32": {[]Sentence{{"basic/run-input", "Identity", Statement, 2}}, specified, nil},
		"G35": {must("basic/index", "Identifiers", 1), specified, nil},

		"G33": {interrupts("Interrupting", 2), specified, nil},
		"G36": {slices.Concat(interrupts("Resuming", 2), interrupts("Resuming", 4)), specified, nil},
		"G37": {interrupts("Resuming", 1), specified, nil},

		"G34": {must("basic/transports/index", "Truncation", 2), allVersions[3:], nil},

		"G38": {reasoning("encryptedValueType", 4), allVersions[2:], nil},
		"G39": {must("events/tool-calls", "Frontend tools", 4), specified, nil},
		"G40": {must("events/text-messages", "TEXT_MESSAGE_END", 1), specified, nil},
		"G41": {must("events/tool-calls", "TOOL_CALL_END", 1), specified, nil},
		"G42": {subagents("Lifecycle", 2), specified, nil},
		"G43": {must("events/activity", "ACTIVITY_SNAPSHOT", 2), specified, nil},
	}
})

func must(page, section string, number int) []Sentence {
	return []Sentence{{page, section, Must, number}}
}

func interrupts(section string, number int) []Sentence {
	return must("basic/patterns/interrupt-resume", section, number)
}

func lifecycle(section string, number int) []Sentence {
	return must("events/lifecycle", section, number)
}

func reasoning(section string, number int) []Sentence {
	return must("events/reasoning", section, number)
}

func subagents(section string, number int) []Sentence {
	return must("events/subagents", section, number)
}

func streaming(section string, number int) []Sentence {
	return must("basic/patterns/streaming", section, number)
}
