// Package hint contains the next steps that findings suggest to users of the
// command line. Below the commands, it is the only package whose texts may name
// commands and flags. The command line, the documentation and the report share
// these texts.
package hint

import (
	"slices"
	"strings"
	"sync"
)

// Next steps that depend on more than the code of a finding, and the commands that
// a page names. Some are format strings for package fmt.
const (
	ChooseOutput     = "choose another -o: existing output is never overwritten"
	WriteGoldens     = "if the change is meant, capture with -o CAPTURES and run p20export compare CAPTURES --write-golden %s --reason TEXT; values that are random belong in %s/trace.json"
	ForeignGolden    = "move the file away, or use another directory for goldens"
	WriteGolden      = "if the capture is as it should be, write its golden with p20export compare --write-golden"
	GoldenLint       = "p20export lint shows where; mend the agent, or delete the golden and write it again if that is how the agent should be"
	OtherNames       = "choose another -o, or other names with --name-by digest or, for a single capture, --name: evidence is never overwritten"
	SkipExisting     = "run the command again; with --skip-existing it skips what is frozen already"
	NameByDigest     = "choose another -o, or name the files by digest: --name-by digest"
	RetryElsewhere   = "run it again with another -o: p20export recover closes what arrived of the unfinished capture"
	FreeDiskSpace    = "free some disk space, and run it again with another -o: p20export recover closes what arrived of the unfinished capture"
	RecoverRemoves   = "p20export recover DIR removes it"
	LogFailed        = "when the log can be used again, repeat the command: it continues where it stopped"
	ImportOpaque     = "a log has only events: leave out captures of requests that failed; if response.opaque contains events, p20export capture --from response.opaque --framing F imports it"
	PruneAgain       = "the next p20export prune removes the rest"
	ChooseTempDir    = "set TMPDIR to a writable directory with enough space"
	GiveTimes        = "record the run again (p20export requests identity coding), or freeze it by itself with --started-at"
	FreezeEnvelope   = "a bounded envelope has three events; p20export freeze creates one from a capture"
	GiveFile         = "name the file with the digest %s, or a directory that contains it, with --capture"
	GiveCapture      = "name the capture whose capture.json has the digest %s, or a directory that contains it, with --capture"
	KeepRecords      = "keep the records with the events: events cannot express this"
	OtherHistory     = "find out who changed the thread: the witness has seen another history of it; p20export log verify compares it with its seals"
	FewerKeys        = "name fewer public keys with --trust"
	AddSignature     = "p20export sign adds a signature to one that exists"
	SignAgain        = "if another program signed the record at the same time, run the command again"
	SignFirst        = "sign it with p20export sign, which can also ask for the time-stamp"
	GiveRecord       = "name it with --record, or freeze the capture again"
	SplitBundle      = "create several smaller bundles with p20export assay --bundle --split"
	CutErrorText     = "freeze the capture again with --profile assay --projection %s, which truncates error texts at the limit and records that"
	ChooseSnapshot   = "the run emitted %d snapshots; freeze another one with --profile assay --projection %s --snapshot N"
	OmitArtifact     = "omit the artifact: no option of freeze makes it fit, because freeze truncates only error texts. p20export validate --profile assay shows which artifacts fit"
	ValidateFile     = "check it with: p20export validate FILE"
	NameFiles        = "check the path, or name the files individually; to look into captures, use p20export inspect"
	NameResponses    = "name response files individually, or for freeze and inspect in a list: --from-list; to check artifacts and envelopes, use p20export validate"
	ChooseFraming    = "check that it is an AG-UI event stream with a RUN_STARTED event; it was read as %s, and p20export capture --from FILE --framing F reads it with another framing"
	ImportFraming    = "check that it is an AG-UI event stream; p20export capture --from FILE --framing F reads it with another framing"
	EndWithBlankLine = "the server should send a blank line after the last event"
	SendEventStream  = "the server should send Content-Type: text/event-stream"
	ReadAsDeclared   = "leave out --protocol to read the run as the version that it declares"
	DeclareVersion   = "the integration should declare a version such as 1.1, or none"
	ImportFirst      = "import it first with p20export capture --from"
	BuildSnapshot    = "--projection folded-stream can build a snapshot"
	NoProjection     = "no projection accepts the run: folded-stream refuses it too, because of %s"
	AcceptOtherRun   = "--projection %s accepts the run, under the id in RUN_STARTED, and records that"
	CutControl       = "--projection %s cuts the text before its first control character and records that"
	CutStackTrace    = "--projection %s omits the stack trace and records that"
	TryLastSnapshot  = "a later snapshot may contain it: --projection %s --snapshot last selects the last one"
	ChooseRun        = "create several pages, or choose one run with --run"
	WithSnapshot     = "%s --snapshot %s"
	PageNoChoice     = "Every projection refuses the run, including emitted-snapshot-text with --snapshot last."
	OtherPage        = "only pages are replaced: choose another name, or move the file away"
	ReplacePage      = "replace the page with --force, or choose another name"

	Explain      = "for more, run: p20export explain %s"
	KeepCaptures = "the captures were not kept; -o DIR keeps them, and p20export report DIR -o page.html shows them"
	ShowCaptures = "to see the captures, run p20export report %s -o page.html; for details, p20export compare %s --details"

	PageName = "p20export report"
	Freeze   = "p20export freeze"
	Verify   = "p20export verify"
)

// FreezeOptions are the values of flags of freeze. Empty values are omitted.
type FreezeOptions struct{ Run, Projection, Snapshot, Profile, StartedAt, FinishedAt string }

// Command returns the command that freezes a run of CAPTURE into DIR with the options.
// No value may need quoting in a shell, except Run.
func (o FreezeOptions) Command() string {
	command := Freeze + " CAPTURE"
	if o.Run != "" {
		command += " --run '" + o.Run + "'"
	}
	for _, flag := range []struct{ name, value string }{
		{"projection", o.Projection}, {"snapshot", o.Snapshot}, {"profile", o.Profile},
		{"started-at", o.StartedAt}, {"finished-at", o.FinishedAt},
	} {
		if flag.value != "" {
			command += " --" + flag.name + " " + flag.value
		}
	}
	return command + " -o DIR"
}

// Projections returns the projections among names that a next step suggests, and whether
// it suggests choosing a snapshot.
func Projections(next string, names []string) (suggested []string, choose bool) {
	switch {
	case strings.Contains(next, "another projection"):
		return names, false
	case !strings.Contains(next, "--projection "):
		return nil, false
	}
	words := strings.Fields(next)
	for _, name := range names {
		if slices.Contains(words, name) {
			suggested = append(suggested, name)
		}
	}
	return suggested, strings.Contains(next, "--snapshot ")
}

// ByChange maps a finding code to advice on how an integration makes the change
// that the code requires. Codes whose change needs no advice are not in the map.
// The map must not be modified.
var ByChange = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"snapshot_missing":             "emit it once, after the last text message and before RUN_FINISHED, with every message of the conversation",
		"snapshot_several":             "emit only the last, after the last text message and before RUN_FINISHED, with every message of the conversation",
		"snapshot_lacks_streamed_text": "emit it after the last text message, with every message that the run streamed",
		"event_field_malformed":        "AG-UI keys are in camelCase, such as threadId",
	}
})

// ByCause maps the likely cause of a missing or incomplete run to an explanation
// of what is wrong with the endpoint and what to do. The map must not be modified.
var ByCause = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"unreachable":   "Nothing accepts connections at this address. Start the server, or correct the host and the port.",
		"no_tls":        "The server does not speak TLS. Start the URL with http://.",
		"no_answer":     "No response arrived within the time limit. Check that the server can reach its model, or raise --timeout.",
		"broke_off":     "The connection was lost. Check the server's log.",
		"time_limit":    "The response did not end within --timeout. Raise it, or check why the response does not end.",
		"past_limit":    "The response is longer than --max-bytes. Raise it, or check why the response does not end.",
		"redirected":    "The endpoint redirects, and redirects are not followed. Give the URL that it redirects to.",
		"unauthorized":  "The endpoint requires credentials. Give them with --header, for example --header 'Authorization: Bearer @token.txt'.",
		"not_found":     "No AG-UI endpoint accepts POST requests at this address. Give the whole URL that your client posts runs to, with its path (such as /agent).",
		"too_many":      "The endpoint limits the rate of requests. Wait, or raise the limit of the server.",
		"rejected":      "The endpoint rejects the request, an AG-UI run input. Compare the request with what your client sends: p20export discover --print-scenarios prints the requests.",
		"server_failed": "The server failed. Check its log; often its model, or the key for the model, is missing.",
		"other_status":  "The endpoint responds with an HTTP status that is neither 200 nor an error. It should respond to a run with 200 and an event stream.",
		"unreadable":    "The response cannot be read as AG-UI events. Check what the server writes; -o DIR keeps the response.",
		"web_page":      "The response is a web page. Give the URL that your client posts runs to, not that of the user interface.",
		"not_events":    "The response is not an event stream. The endpoint should respond with the content type text/event-stream; for other formats, use --framing ndjson or json.",
		"no_run":        "The response contains no RUN_STARTED. Check that it is an AG-UI event stream.",
	}
})

// ByTruncation maps a cause to a phrase that says how responses were truncated. The
// phrase follows "were". The map must not be modified.
var ByTruncation = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"no_answer":  "cut off by --timeout",
		"time_limit": "cut off by --timeout",
		"past_limit": "cut off by --max-bytes",
		"broke_off":  "truncated",
	}
})

// ByCode maps a finding code to the next step for its findings. Codes without a
// next step are not in the map. The map must not be modified.
var ByCode = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"capture_unfinished":         "save what was received as a new capture with p20export recover DIR, or name the response file to read it without its times",
		"capture_in_use":             "wait until the exchange has ended, or the program that writes the capture",
		"capture_set_aside":          "when the recovered capture has all that matters, remove them with p20export prune --unfinished",
		"capture_manifest_malformed": "restore capture.json from the original capture",
		"capture_file_missing":       "restore the whole capture directory",
		"capture_file_link":          "replace the link with a copy of the file; cp -rL copies a whole capture without links",
		"capture_digest_mismatch":    "restore the capture: its bytes were changed after it was closed",
		"arrivals_malformed":         "restore arrivals.tsv, or freeze the response file with --started-at",
		"framing_opaque":             "see response.opaque in the capture directory; if it contains events, p20export capture --from response.opaque --framing F imports it",
		"content_coding_unsupported": "record the run again; p20export requests identity coding",
		"content_coding_damaged":     "record the run again; p20export requests identity coding",
		"event_incomplete":           "if the last event matters, fetch the whole response again",
		"event_too_large":            "keep raw provider events out of the stream",
		"array_malformed":            "check the program that wrote the file; p20export capture --from FILE --framing F imports it with another framing",
		"capture_cut_short":          "if the end of the run matters, record another run",
		"events_uncounted":           "the whole response is kept; p20export inspect CAPTURE reads all of it",

		"http_status":       "see the response file in the capture directory",
		"http_content_type": "check the URL; if the body contains events, give --framing",
		"http_failed":       "check that the endpoint is running and reachable",

		"json_syntax":         "correct the JSON at the caret, or write the file again with the program that created it",
		"json_invalid_utf8":   "write the file as UTF-8",
		"json_duplicate_key":  "keep one of the two keys and remove the other",
		"json_too_deep":       "remove the nesting; the contract needs four levels",
		"json_trailing_data":  "remove everything after the value; a file contains one value",
		"lone_surrogate":      "write the complete surrogate pair, or the character itself",
		"findings_past_limit": "correct the listed findings and run it again",

		"event_not_object":            "make each event one JSON object",
		"event_type_missing":          "give the event its AG-UI type as a string",
		"event_field_malformed":       "write the field as AG-UI defines it, as a string",
		"no_run":                      "check that it is an AG-UI event stream with a RUN_STARTED event",
		"no_events":                   "check that it is an AG-UI event stream; to set its framing, use --framing",
		"frames_before_run":           "the integration should start the run with RUN_STARTED",
		"run_not_found":               "give the id of a run, or its number as in '#2'; p20export inspect CAPTURE lists them",
		"run_ambiguous":               "give its number, as in --run '#2'",
		"run_not_terminated":          "record the run to its end",
		"events_after_terminal":       "the integration should end the run with its terminal event; no projection accepts events after it",
		"terminal_several":            "the integration should end the run only once",
		"terminal_names_other_run":    "the integration should end a run under the id it started with",
		"terminal_names_other_thread": "give the terminal event the threadId of RUN_STARTED",
		"families_uncounted":          "check the stream: AG-UI has about forty event types",
		"envelope_incomplete":         "write RUN_STARTED, one MESSAGES_SNAPSHOT and one terminal event",
		"envelope_order":              "put the events in order: RUN_STARTED, MESSAGES_SNAPSHOT, terminal event",
		"envelope_event_repeated":     "keep one event of each kind",
		"input_message_differs":       "the message stays in the input; to change a message of the history, give it a new id",
		"parent_run_unknown":          "use the stream of the whole thread; in this one, the run's history begins with its own input",
		"parent_run_in_other_thread":  "a branch stays in its thread: copy the conversation into the input of the run, or use the thread of its parent",
		"parent_run_starts_later":     "put the streams in the order in which their runs started; as they are, the run's history begins with its own input",
		"parent_run_cycle":            "the integration should name an earlier run as the parent; the run's history begins with its own input",
		"run_started_twice":           "the integration should give each run its own id; parentRunId names the last run before it with that id",
		"run_id_missing":              "the integration should send a runId in RUN_STARTED",
		"input_omits_history":         "if the client sends only new messages, restore with --input normalized; if it removed messages, nothing is wrong",
		"compaction_limit":            "check the stream: the message, call or run at this place may never end",
		"written_after_run":           "to keep it in its run, use --mode stream",

		"snapshot_missing":             "the integration should emit one MESSAGES_SNAPSHOT",
		"snapshot_several":             "choose one with --projection emitted-snapshot-text --snapshot first|last|N",
		"snapshot_out_of_range":        "p20export inspect CAPTURE lists the snapshots",
		"snapshot_present":             "use --projection emitted-snapshot or emitted-snapshot-text",
		"snapshot_malformed":           "write messages as a list of objects",
		"snapshot_lacks_streamed_text": "emit the MESSAGES_SNAPSHOT after the last text message, and include every message of the run",
		"key_outside_subset":           "--projection emitted-snapshot-text omits it and records that",
		"role_outside_subset":          "--projection emitted-snapshot-text omits it and records that",
		"content_missing":              "--projection emitted-snapshot-text omits it and records that",
		"content_blank":                "--projection emitted-snapshot-text omits it and records that",
		"content_not_text":             "--projection emitted-snapshot-text joins a list of text parts and omits a message with any other part; both are recorded",
		"value_null":                   "--projection emitted-snapshot-text omits it and records that",
		"value_blank":                  "write a value that is not blank, or omit the key if it is optional",
		"nothing_left":                 "try another projection, which may keep some messages",
		"request_absent":               "if the messages in the request belong to the history, keep request.json in the capture; p20export capture --from FILE --request FILE stores it",
		"request_malformed":            "restore request.json as it was sent",
		"text_event_not_open":          "the integration should open a message with TEXT_MESSAGE_START before adding to it",
		"message_has_two_speakers":     "the integration should use one role and one name per message",
		"streamed_id_in_request":       "the integration should use a new id for a streamed message",
		"started_at_missing":           "give the real start with --started-at TIME, for one capture at a time; an imported file has no arrival times",
		"timestamp_implausible":        "the integration should write timestamps in milliseconds since 1970",
		"operator_times_need_run":      "name the run of these times with --run",

		"event_outside_run":       "the integration should send RUN_STARTED first and RUN_FINISHED or RUN_ERROR last, and nothing in between two runs",
		"run_still_open":          "the integration should end a run with RUN_FINISHED or RUN_ERROR before it starts another",
		"already_open":            "the integration should end it before it starts it again, or use a new id",
		"not_open":                "the integration should start it with the matching START event, and use the same id until its END event",
		"left_open":               "the integration should send the END events before RUN_FINISHED, or end the run with RUN_ERROR",
		"owner_differs":           "the integration should use the same subagentRunId in all events about it, or only in the first",
		"subagent_id_null":        "the integration should leave out subagentRunId if there is no subagent",
		"subagent_malformed":      "the integration should write the members that AG-UI requires, and leave out optional ones without a value",
		"subagent_restarted":      "the integration should use a new subagentRunId for every invocation of a subagent",
		"subagent_parent_unknown": "the integration should send SUBAGENT_STARTED for the parent first, or leave out parentSubagentRunId",
		"chunk_invalid":           "the integration should write the id into every chunk, and the subagentRunId if there is one",
		"sequence_unchecked":      "split the response into captures of fewer events",

		"run_id_differs":        "the integration should write the runId of RUN_STARTED into RUN_FINISHED; for a request, both should have its runId",
		"thread_differs":        "the integration should write the threadId of the request into RUN_STARTED and RUN_FINISHED of every run",
		"interrupt_id_repeated": "the integration should give every interrupt of a run its own id",
		"stream_truncated":      "the integration should end every run with RUN_FINISHED or RUN_ERROR; if it does, the connection broke off",
		"run_id_reused":         "the application should make a new runId for every run of a thread, also to repeat one",
		"resume_incomplete":     "the application should answer or cancel every interrupt of the run before it continues",
		"resume_unknown":        "the application should answer only the interrupts of the last interrupted run of the thread",
		"encrypted_type_alone":  "the integration should leave out encryptedValueType if there is no encryptedValue",
		"pending_calls_differ":  "the integration should list exactly the calls without a TOOL_CALL_RESULT, or leave out pendingToolCallIds",
		"reopened_differs":      "the integration should open it again with the same role, name and parent, or use a new id",
		"subagent_started_late": "the integration should send SUBAGENT_STARTED before the first event of the subagent, or leave it out",
		"protocol_newer":        "look for a newer release of this program; what it does not know of a newer version is reported as event_altered",

		"event_refused": "the integration should write the event as AG-UI defines it (docs/vocabulary.md)",
		"event_altered": "the integration should write the event as AG-UI defines it (docs/vocabulary.md); the client of another language may refuse it",

		"never_ended":              "the integration should send the END events also when a run fails or is stopped",
		"result_without_call":      "the integration should send TOOL_CALL_START with the same toolCallId before the result",
		"delta_inapplicable":       "the integration should send a snapshot before the first delta, and patches (RFC 6902) that apply to what the client has",
		"delta_empty":              "the integration should not send events without content; clients before 0.0.50 refuse an empty delta",
		"id_reused":                "the integration should use a new id for everything new",
		"snapshot_drops_message":   "the integration should put everything that it streamed into the snapshot, or send the snapshot first",
		"snapshot_renames_message": "the integration should use the same ids in the stream and in the snapshot, so that clients do not show a message as new",
		"type_misspelled":          "the integration should write the type as docs/vocabulary.md does",
		"timestamp_decreases":      "the integration should set the timestamp when it sends the event, from one clock",
		"timestamp_unit":           "the integration should write timestamps in milliseconds since 1970",
		"usage_inconsistent":       "the integration should count all input and output tokens, and the parts in them: totalTokens is inputTokens and outputTokens",
		"evidence_lacking":         "for all projections, run: p20export compare CAPTURE",
		"arguments_not_json":       "the integration should send the arguments of the model unchanged and completely before TOOL_CALL_END",
		"producer_unchecked":       "split the response into captures of fewer events",
		"feature_missing":          "use a request that makes the agent do it, or remove the feature from --require or from the key require of lint.json",
		"charset_other":            "the server should send Content-Type: text/event-stream, which is always UTF-8",
		"line_ignored":             "the server should begin each line of an event with data:, and a comment with a colon",
		"response_buffered":        "the server should flush after every event; proxies need X-Accel-Buffering: no or proxy_buffering off",
		"silence_long":             "the server should send a comment, such as a line with a colon, at least every 30 seconds",
		"compression_delays":       "do not compress event streams, or flush the compressor after every event",
		"connection_cut":           "look for a time limit in the server or a proxy, and for a crash of the agent",
		"cors_refused":             "the server should answer with Access-Control-Allow-Origin, also to OPTIONS",

		"file_too_large":      "freeze a run with fewer or shorter messages, so that the file stays within its limit",
		"not_an_object":       "write one JSON object with the keys of the contract",
		"not_an_artifact":     "check it with: p20export verify ARTIFACT --record RECORD --capture CAPTURE",
		"not_canonical":       "nothing is wrong; p20export freeze writes the canonical form, and only in that form do equal artifacts have equal digests",
		"key_unknown":         "remove the key; v1 has no other keys",
		"extra_event_family":  "remove it; an artifact contains one bounded run envelope and nothing else",
		"key_missing":         "add the key; p20export freeze writes all required keys",
		"wrong_type":          "write a value of the JSON type that the message names",
		"wrong_value":         "use one of the values that the message names",
		"too_long":            "shorten it to the limit, which is counted in code points",
		"ref_not_opaque":      "use an opaque id: no URL, no host with a port or path, no white space, no control characters",
		"control_character":   "remove the control characters from the text",
		"error_stack_trace":   "write only the error message, without its stack trace",
		"timestamp_malformed": "write it as in 2026-01-31T12:00:00Z",
		"times_out_of_order":  "correct the wrong time, or omit finished_at",
		"messages_empty":      "an artifact has at least one message",
		"messages_too_many":   "freeze a run with fewer messages",
		"message_id_repeated": "use a different id for each message",
		"error_key_forbidden": "remove the key, or write RUN_ERROR if the run failed",
		"event_line_too_long": "if Assay does not need the artifact, validate with --profile v1; otherwise freeze a run with fewer or shorter messages",

		"artifact_differs":       "restore the artifact, or freeze the capture again into another directory and compare",
		"envelope_differs":       "restore the envelope, or freeze the capture again into another directory and compare",
		"record_malformed":       "restore the .record.json that freeze wrote next to the artifact",
		"record_differs":         "restore the record, or freeze the capture again into another directory and compare",
		"capture_differs":        "give the unchanged capture that the record was made from",
		"not_reprojected":        "give the unchanged capture that the record was made from, or freeze it again into another directory and compare",
		"projection_unknown":     "use the p20export release that the record names",
		"manifest_mismatch":      "give the capture in the form that the record was made from",
		"message_unknown":        "the integration should begin a message, tool call or activity before it continues it",
		"activity_id_reused":     "the integration should give every message an id of its own",
		"parent_not_assistant":   "the integration should name an assistant message as the parent of a tool call, or none",
		"tool_call_renamed":      "the integration should give every tool call an id of its own",
		"patch_failed":           "the integration should compute its patches from the state or activity that it sent",
		"event_out_of_range":     "p20export inspect CAPTURE lists how many events each run has",
		"conversation_too_large": "split the capture; the messages and the state after this event are incomplete",
		"runs_too_many":          "split the capture; p20export freeze can freeze one run with --run",
		"operator_asserted":      "for observed times, record the run with p20export capture",

		"record_absent":     "restore the .record.json that freeze wrote next to it, or freeze the capture again into another directory and compare",
		"artifact_absent":   "restore the artifact next to its record, or freeze the capture again",
		"capture_absent":    "name it, or a directory that contains it, with --capture",
		"capture_repeated":  "one of the two copies is enough",
		"nothing_frozen":    "freeze it with: p20export freeze CAPTURE -o DIR; if freeze refuses it, remove it with p20export prune --unfrozen",
		"nothing_to_verify": "check the path",
		"nothing_verified":  "freeze the captures, and verify the result together with them; to check only captures, use p20export verify DIR --captures-only",
		"file_unexplained":  "find out where the file comes from, and move it out of the directory",
		"temporary_file":    "if no p20export is running, remove it; the next one that writes to the directory removes it too",
		"tree_too_large":    "name its subdirectories one by one, or move out files that are not evidence",

		"signature_malformed":  "restore the file that p20export sign wrote; if there is none, remove it and sign the record again",
		"signature_of_another": "restore the record or its signature; p20export verify shows whether the record matches the capture",
		"signature_broken":     "restore the record's signature; if it was made like this, whoever made it does not have the trusted key",
		"signature_untrusted":  "if you trust the signer, name the public key with --trust",
		"signature_expired":    "have the record signed with a current key; a time-stamp would have shown that this signature is older",
		"signature_repeated":   "have someone else sign the record, if more signers are required",
		"signature_missing":    "sign the record with p20export sign, or name the public key of its signer with --trust",
		"signature_unjudged":   "name the public keys of the signers with --trust",
		"signer_failed":        "run the signer by hand; docs/signatures.md describes the lines that it reads and writes",
		"key_exposed":          "if nobody else can have read it, run: chmod 600 FILE; otherwise make a new key",
		"token_malformed":      "restore the file that p20export timestamp wrote, or move it away and make another time-stamp",
		"token_of_another":     "restore the signature that the time-stamp is of, or move the time-stamp away and make another",
		"token_broken":         "move the time-stamp away and make another, with another authority",
		"token_untrusted":      "if you trust the authority, name its certificate with --trust",
		"token_expired":        "use another authority; this time-stamp shows no time that can be trusted",
		"token_future":         "check the clock of this machine; if it is right, do not trust the authority",
		"token_missing":        "make one with p20export timestamp, or name the certificate of its authority with --trust",
		"token_refused":        "try again later or with another authority; signing works without one, and p20export timestamp adds the time-stamp later",

		"seal_malformed":       "restore the seal from an export; with --against, give the whole file as it was handed out",
		"seal_broken":          "restore the seal from an export, or get the file of --against again; if it was made like this, whoever made it does not have the trusted key",
		"seal_untrusted":       "if you trust whoever made the seal, name the public key with --trust; docs/seals.md says what to do about keys that were replaced or have expired",
		"seal_of_another":      "give the seals of this thread; docs/seals.md says which digests of ids they have",
		"seal_of_other_tenant": "if the thread was not imported from another tenant, find out who moved it",
		"seal_kept":            "none is needed; keep the file if somebody relies on its seals",
		"seal_missing":         "find out whether there were seals: p20export log verify --against; name the public key of whoever sealed the thread with --trust; if it was never sealed, p20export log seal does it",
		"thread_rewritten":     "compare the thread with an export that you trust: p20export log verify --against EXPORT finds the first entry that differs",
		"thread_cut_off":       "find the copy of the log that has the other entries; p20export log import adds them from an export",
		"thread_forked":        "ask whoever has the key why there are two histories; p20export log verify --against EXPORT finds where they part",
		"thread_damaged":       "restore the database from a backup, or import an export of the thread into another log; find out what has changed it",
		"witness_refused":      "see that the witness runs, and knows the key and the origin, with which the key begins, up to the first +; nothing was sealed",
		"witness_missing":      "name the keys of all witnesses with --witness-key; if they are named, ask whoever seals the log why these have not cosigned",
		"proof_malformed":      "give the whole file that p20export log prove wrote",
		"proof_broken":         "the file was changed: have another written with p20export log prove",

		"archive_malformed":      "create the archive again; tar archives can be plain, or compressed with gzip or zstd",
		"archive_member_refused": "give each member a relative name of its own; tar --dereference --hard-dereference archives files instead of links",
		"archive_limit":          "create the archive so that the files of each capture follow one another, as tar does, or split it",

		"record_of_another":  "restore the file or its record; p20export verify shows which of them matches the capture",
		"receipt_needed":     "import it with --receipt, which states the origin",
		"artifact_ref_unfit": "rename the artifact and its record",
		"origin_unknown":     "put the record next to the artifact and use --receipt, which states the origin",
		"bundle_limit":       "--split writes several bundles, each with its own run id",
		"bundle_refused":     "restore the original bundle, or create it again from the artifacts",
		"bundle_deviates":    "find out what wrote or changed the bundle; p20export assay --bundle does not write this",

		"trace_missing":    "if the change is intended, write the golden again with p20export compare --write-golden",
		"trace_added":      "if the change is intended, write the golden again with p20export compare --write-golden",
		"trace_changed":    "if the change is intended, write the golden again with p20export compare --write-golden; if the value is random, add a matcher to trace.json",
		"trace_moved":      "if the change is intended, write the golden again with p20export compare --write-golden",
		"trace_unmatched":  "capture the scenario, write its golden with p20export compare --write-golden, or delete a golden without a scenario",
		"golden_malformed": "write the golden again with p20export compare --write-golden",
		"golden_unfit":     "mend the agent, and capture the scenario again",

		"baseline_run_missing": "compare captures of every scenario in the baseline, or write a new baseline with --write-baseline",
		"baseline_run_added":   "check the capture with p20export inspect; if the run is intended, write a new baseline with --write-baseline",
		"baseline_status":      "see the response in the capture",
		"baseline_terminal":    "see how the run ends with p20export inspect",
		"baseline_end":         "check whether the server closes the connection before the end of its response",
		"baseline_snapshots":   "the contract allows one MESSAGES_SNAPSHOT per run",
		"baseline_role":        "see the messages with p20export inspect",
		"baseline_projection":  "compare without --baseline shows the reasons of each projection; if the change is intended, write a new baseline with --write-baseline",
		"baseline_messages":    "if the change is intended, write a new baseline with --write-baseline",
		"baseline_field":       "if the change is intended, write a new baseline with --write-baseline",
		"baseline_times":       "check the timestamps of RUN_STARTED and the terminal event",
		"baseline_incomplete":  "include every message that the run streams in its MESSAGES_SNAPSHOT. If the baseline is older than this check, or the change is intended, write a new baseline with --write-baseline",
		"baseline_assay":       "for the reasons, run p20export validate --profile assay",
		"baseline_ids":         "check clients that identify messages by their streamed ids; if the change is intended, write a new baseline with --write-baseline",

		"scenario_unexpected": "check the capture; if it is right, correct expected.json",

		"io_failed":             "check that the file exists, that it can be read or written, and that the disk is not full",
		"durability_unknown":    "check the disk and run it again: existing files with the same content are kept",
		"temporary_left":        "remove it when the directory is writable",
		"stream_thread_unknown": "name the thread with --thread",
		"log_entry_differs":     "import it into another log, or with another --tenant: what a log has never changes",
		"log_has_more":          "none is needed: the log keeps what could not be stored in the capture",
		"log_stream_closed":     "keep the capture: the log cannot change what its readers were told, so only the capture has these events. It can be frozen",
		"log_thread_deleted":    "if the thread was to be erased, also remove the file; otherwise, import it into another log, or with another --tenant",
		"log_id_refused":        "use ids of at most 1,024 bytes of UTF-8 without U+0000",
		"log_file_malformed":    "get a complete copy of the file, or export the thread again with p20export log export",

		"output_exists": "choose another -o or --name, or move the old file away: evidence is never overwritten",
		"interrupted":   "run the command again",
	}
})
