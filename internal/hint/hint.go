// Package hint holds the next steps that findings name, for the users of the
// command line: this is the one table below the commands whose texts name
// commands and flags. The command line, the documentation and the report share
// it.
package hint

import "sync"

// Next steps for those who know more than a finding's code does, and the commands
// that a page names. Verbs are those of package fmt.
const (
	ChooseOutput    = "what is there is never written into again: choose another -o"
	RetryElsewhere  = "what came is kept and is never written into again: run it again with another -o"
	FreeDiskSpace   = "make room on the disk, and run it again with another -o: what came is kept and is never written into again"
	ChooseTempDir   = "set TMPDIR to a directory that can be written in and has room"
	GiveTimes       = "record again (p20export asks for identity coding), or freeze it alone with --started-at"
	FreezeEnvelope  = "a bounded envelope is three events; p20export freeze makes one from a capture"
	GiveFile        = "give the file whose digest is %s with --capture FILE, or a directory that holds it"
	GiveCapture     = "give the capture whose capture.json has the digest %s with --capture CAPTURE, or a directory that holds it"
	KeepRecords     = "keep the records with the events: no event has a place to say so"
	GiveRecord      = "give it with --record, or freeze the capture again"
	SplitBundle     = "make several smaller bundles; p20export assay --bundle --split does"
	CutErrorText    = "freeze the capture again with --profile assay --projection %s: it cuts error texts at the limit, and records that"
	ChooseSnapshot  = "the run emitted %d snapshots; freeze another one of them with --profile assay --projection %s --snapshot N"
	OmitArtifact    = "no option of freeze makes it fit, as only error texts are ever cut: leave it out; p20export validate --profile assay tells which artifacts fit"
	ValidateFile    = "judge it with: p20export validate FILE"
	NameFiles       = "check the path, or name the files themselves; p20export inspect looks into captures"
	NameResponses   = "name response files themselves; p20export validate judges artifacts and envelopes"
	ChooseFraming   = "check that it is an AG-UI event stream with its RUN_STARTED; it was read as %s, and p20export capture --from FILE --framing F reads it as another framing"
	ImportFirst     = "keep it first with p20export capture --from"
	BuildSnapshot   = "a snapshot can be built with --projection folded-stream"
	NoProjection    = "no projection takes the run: folded-stream refuses it too, for %s"
	AcceptOtherRun  = "--projection %s takes the run all the same, under the id in RUN_STARTED, and records that"
	CutControl      = "--projection %s cuts the text before its first control character and records that"
	CutStackTrace   = "--projection %s leaves the stack trace out and records that"
	TryLastSnapshot = "a later snapshot may hold it: --projection %s --snapshot last takes the last"
	ChooseRun       = "make several pages, or choose a run with --run"
	WithSnapshot    = "%s --snapshot %s"
	PageChoose      = "Refused, so nothing of it was kept: the run emitted %s, and one can be chosen. --projection %s freezes it."
	PageNoChoice    = "Refused by every projection, and with --snapshot last as well, so nothing of it was kept."

	Explain      = "p20export explain %s says more"
	KeepCaptures = "captures were not kept; -o DIR keeps them, and p20export report DIR -o page.html shows them"
	ShowCaptures = "p20export report %s -o page.html shows the captures, and p20export compare %s --details says more"

	PageName = "p20export report"
	Freeze   = "p20export freeze"
	Verify   = "p20export verify"
)

// ByChange says how an integration would make the change that a code asks for, where
// there is more to say than the change. It is never changed at run time.
var ByChange = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"snapshot_missing":             "emit it once, after the last text message and before RUN_FINISHED, with every message of the conversation",
		"snapshot_several":             "emit only the last, after the last text message and before RUN_FINISHED, with every message of the conversation",
		"snapshot_lacks_streamed_text": "emit it after the last text message, with every message that the run streamed",
		"event_field_malformed":        "AG-UI spells keys in camelCase, such as threadId",
	}
})

// ByCause says what is likely wrong with an endpoint that gave no whole run, by the
// cause that its answers show, and what to do. It is never changed at run time.
var ByCause = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"unreachable":   "Nothing accepts connections at this address. Start the server, or correct the host and the port.",
		"no_tls":        "The server does not speak TLS. Begin the URL with http://.",
		"no_answer":     "No answer came within the time limit. See whether the server can reach its model, or raise --timeout.",
		"broke_off":     "The connection broke off. The server's log may say why.",
		"time_limit":    "The answer did not end within --timeout. Raise it, or see why the answer does not end.",
		"past_limit":    "The answer is longer than --max-bytes. Raise it, or see why the answer does not end.",
		"redirected":    "The endpoint redirects, which is not followed. Give the URL that it points to.",
		"unauthorized":  "The endpoint wants credentials. Give them as in --header 'Authorization: Bearer @token.txt'.",
		"not_found":     "No AG-UI endpoint takes POST requests at this address. Give the whole URL that your client posts runs to, with its path (such as /agent).",
		"too_many":      "The endpoint limits requests. Wait, or raise the server's limit.",
		"rejected":      "The endpoint rejects the request, an AG-UI run input. Compare it with what your client sends: p20export discover --print-scenarios prints the requests.",
		"server_failed": "The server failed. Its log may say why; often its model, or the key for it, is missing.",
		"other_status":  "The endpoint answers with an HTTP status that is neither 200 nor an error. It should answer a run with 200 and an event stream.",
		"unreadable":    "The answer cannot be read as AG-UI events. See what the server writes; -o DIR keeps it.",
		"web_page":      "The answer is a web page. Give the URL that your client posts runs to, not that of the user interface.",
		"not_events":    "The answer is not an event stream. The endpoint should answer with the content type text/event-stream; --framing ndjson or json reads others.",
		"no_run":        "The answer holds no RUN_STARTED. See whether it is an AG-UI event stream.",
	}
})

// ByTruncation says why needed answers could not be judged, by the cause, after "were". It is
// never changed at run time.
var ByTruncation = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"no_answer":  "cut off by --timeout",
		"time_limit": "cut off by --timeout",
		"past_limit": "cut off by --max-bytes",
		"broke_off":  "broken off",
	}
})

// ByCode has the next step for the findings of a code, where there is one. It is
// never changed at run time.
var ByCode = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"capture_unfinished":         "record the run again into a new directory, or name the response file itself to read it without its times",
		"capture_manifest_malformed": "restore capture.json from where the capture was made",
		"capture_file_missing":       "restore the whole capture directory",
		"capture_file_link":          "put a copy of the file it names in place of the link; cp -rL copies a whole capture so",
		"capture_digest_mismatch":    "restore the capture; its bytes were changed after it was closed",
		"arrivals_malformed":         "restore arrivals.tsv, or freeze the response file itself with --started-at",
		"content_coding_unsupported": "record the run again; p20export asks for identity coding",
		"content_coding_damaged":     "record the run again; p20export asks for identity coding",
		"event_incomplete":           "fetch the response again whole if its last event matters",
		"event_too_large":            "leave raw provider events out of the stream",
		"array_malformed":            "check what wrote the file; p20export capture --from FILE --framing F imports it under another framing",
		"capture_cut_short":          "record the run again if its end matters",
		"events_uncounted":           "the response is kept as it came; p20export inspect CAPTURE reads all of it",

		"http_status":       "see the response file kept in the capture directory",
		"http_content_type": "check the URL; give --framing when the body is events all the same",
		"http_failed":       "check that the endpoint is running and reachable",

		"json_syntax":         "correct the JSON at the caret, or write the file again with the tool that made it",
		"json_invalid_utf8":   "write the file as UTF-8",
		"json_duplicate_key":  "keep one of the two and remove the other",
		"json_too_deep":       "remove the nesting; the contract needs four levels",
		"json_trailing_data":  "remove what follows the value; a file holds one",
		"lone_surrogate":      "write the whole surrogate pair, or the character itself",
		"findings_past_limit": "correct those that are listed and run it again",

		"event_not_object":            "make each event one JSON object",
		"event_type_missing":          "give the event its AG-UI type as a string",
		"event_field_malformed":       "give the field as AG-UI has it, a string",
		"no_run":                      "check that it is an AG-UI event stream with its RUN_STARTED",
		"no_events":                   "check that it is an AG-UI event stream; --framing says how it is framed",
		"frames_before_run":           "the integration should begin the run with RUN_STARTED",
		"run_not_found":               "name a run by its id, or by its number as '#2'; p20export inspect CAPTURE lists them",
		"run_ambiguous":               "name it by number, as in --run '#2'",
		"run_not_terminated":          "record the run to its end",
		"events_after_terminal":       "the integration should end the run with its terminal event; no projection takes more",
		"terminal_several":            "the integration should end the run once",
		"terminal_names_other_run":    "the integration should end a run under the id it began with",
		"terminal_names_other_thread": "give the terminal event the threadId of RUN_STARTED",
		"families_uncounted":          "look at the stream: AG-UI has about forty event types",
		"envelope_incomplete":         "give RUN_STARTED, one MESSAGES_SNAPSHOT and one terminal event",
		"envelope_order":              "put the events in order: RUN_STARTED, MESSAGES_SNAPSHOT, terminal event",
		"envelope_event_repeated":     "keep one event of each kind",

		"snapshot_missing":             "the integration should emit one MESSAGES_SNAPSHOT",
		"snapshot_several":             "choose one with --projection emitted-snapshot-text --snapshot first|last|N",
		"snapshot_out_of_range":        "p20export inspect CAPTURE lists the snapshots",
		"snapshot_present":             "use --projection emitted-snapshot or emitted-snapshot-text",
		"snapshot_malformed":           "make messages a list of objects",
		"snapshot_lacks_streamed_text": "emit the MESSAGES_SNAPSHOT after the last text message, and put every message of the run into it",
		"key_outside_subset":           "--projection emitted-snapshot-text leaves it out and records that",
		"role_outside_subset":          "--projection emitted-snapshot-text leaves it out and records that",
		"content_missing":              "--projection emitted-snapshot-text leaves it out and records that",
		"content_blank":                "--projection emitted-snapshot-text leaves it out and records that",
		"content_not_text":             "--projection emitted-snapshot-text joins a list of text parts, leaves out a message with any other part, and records either",
		"value_null":                   "--projection emitted-snapshot-text leaves it out and records that",
		"value_blank":                  "give a value that is not blank, or leave the key out where it is optional",
		"nothing_left":                 "try another projection; it may keep some",
		"request_absent":               "keep request.json in the capture if the messages it sent belong to the history; p20export capture --from FILE --request FILE does",
		"request_malformed":            "restore request.json as it was sent",
		"text_event_not_open":          "the integration should open a message with TEXT_MESSAGE_START before it adds to it",
		"message_has_two_speakers":     "the integration should give each message one role and one name",
		"streamed_id_in_request":       "the integration should give a streamed message an id of its own",
		"started_at_missing":           "freeze or report it alone with --started-at 2026-01-31T12:00:00Z, or record the run with p20export capture",
		"timestamp_implausible":        "the integration should write milliseconds since 1970",
		"operator_times_need_run":      "say which run they are of with --run",

		"file_too_large":      "keep the file within its limit: freeze a run of fewer or shorter messages",
		"not_an_object":       "give one JSON object with the keys of the contract",
		"not_an_artifact":     "check it with: p20export verify ARTIFACT --record RECORD --capture CAPTURE",
		"not_canonical":       "nothing is wrong; p20export freeze writes the canonical form, and equal artifacts have equal digests only in it",
		"key_unknown":         "remove the key; nothing else may enter v1",
		"extra_event_family":  "an artifact holds one bounded run envelope and nothing beside it; remove it",
		"key_missing":         "add the key; p20export freeze writes all that are required",
		"wrong_type":          "give the value the JSON type the message names",
		"wrong_value":         "use one of the values the message names",
		"too_long":            "keep to the limit, counted in code points",
		"ref_not_opaque":      "use an opaque id: not a URL, not a host with a port or path, no white space, no control characters",
		"control_character":   "leave the control characters out of the text",
		"error_stack_trace":   "give the message of the error alone, without its stack trace",
		"timestamp_malformed": "write it as 2026-01-31T12:00:00Z",
		"times_out_of_order":  "correct the time that is wrong, or leave finished_at out",
		"messages_empty":      "an artifact holds at least one message",
		"messages_too_many":   "keep to the limit: freeze a run with fewer messages",
		"message_id_repeated": "give each message an id of its own",
		"error_key_forbidden": "remove the key, or say RUN_ERROR if the run failed",
		"event_line_too_long": "validate with --profile v1 if Assay is not to take it; else freeze a run of fewer or shorter messages",

		"artifact_differs":   "restore the artifact, or freeze the capture again elsewhere and compare",
		"envelope_differs":   "restore the envelope, or freeze the capture again elsewhere and compare",
		"record_malformed":   "give the .record.json that freeze wrote beside the artifact, unchanged",
		"record_differs":     "restore the record, or freeze the capture again elsewhere and compare",
		"capture_differs":    "give the capture the record was made from, unchanged",
		"not_reprojected":    "give the capture the record was made from, unchanged, or freeze it again elsewhere and compare",
		"projection_unknown": "use the p20export release the record names",
		"manifest_mismatch":  "give the capture in the form the record was made from",
		"runs_too_many":      "divide the capture; p20export freeze can take one run with --run",
		"operator_asserted":  "to have observed times, record the run with p20export capture",

		"record_absent":     "restore the .record.json that freeze wrote beside it, or freeze the capture again elsewhere and compare",
		"artifact_absent":   "restore the artifact beside its record, or freeze the capture again",
		"capture_absent":    "give it with --capture CAPTURE, or a directory that holds it",
		"capture_repeated":  "one of the two is enough",
		"nothing_frozen":    "freeze it with: p20export freeze CAPTURE -o DIR",
		"nothing_to_verify": "check the path",
		"nothing_verified":  "freeze the captures, and verify what that writes with them; p20export verify DIR --captures-only checks captures alone",
		"file_unexplained":  "find out where it comes from, and move it out of the directory",
		"temporary_file":    "remove it if no p20export is running; the next one that writes in the directory does",
		"tree_too_large":    "name its subdirectories one by one, or move out what is no evidence",

		"record_of_another":  "restore the file or its record; p20export verify tells which of them is what the capture projects to",
		"receipt_needed":     "import it with --receipt, which states the origin",
		"artifact_ref_unfit": "rename the artifact and its record",
		"origin_unknown":     "put the record beside the artifact and use --receipt, which states it",
		"bundle_limit":       "--split writes several bundles, each with a run id of its own",
		"bundle_refused":     "restore the bundle from where it was made, or make it again from the artifacts",
		"bundle_deviates":    "find out what wrote or changed the bundle; p20export assay --bundle makes one without",

		"baseline_run_missing": "compare captures of every scenario the baseline has, or write it anew with --write-baseline",
		"baseline_run_added":   "see the capture with p20export inspect; write the baseline anew with --write-baseline if it is meant",
		"baseline_status":      "see the response kept in the capture",
		"baseline_terminal":    "see how the run ends with p20export inspect",
		"baseline_end":         "see whether the server closes the connection before the end of its response",
		"baseline_snapshots":   "the contract takes the one MESSAGES_SNAPSHOT of a run",
		"baseline_role":        "see the messages with p20export inspect",
		"baseline_projection":  "compare without --baseline shows each projection's reasons; renew the baseline with --write-baseline if that is meant",
		"baseline_messages":    "renew the baseline with --write-baseline if that is meant",
		"baseline_field":       "renew the baseline with --write-baseline if that is meant",
		"baseline_times":       "see the timestamps of RUN_STARTED and the terminal event",
		"baseline_incomplete":  "put every message that the run streams into its MESSAGES_SNAPSHOT. If the baseline is older than this check, or you meant the change, renew it with --write-baseline",
		"baseline_assay":       "p20export validate --profile assay says why",
		"baseline_ids":         "a client that knows messages by their streamed ids should look at this; renew the baseline with --write-baseline if it is meant",

		"scenario_unexpected": "look at the capture; when what it shows is right, state it in expected.json",

		"io_failed":          "check that the file is there, that it can be read or written, and that the disk is not full",
		"durability_unknown": "check the disk and run it again: files that are there count as done",
		"temporary_left":     "remove it when the directory allows that",
		"output_exists":      "evidence is never overwritten: choose another -o or --name, or move the old file away",
		"interrupted":        "run the command again",
	}
})
