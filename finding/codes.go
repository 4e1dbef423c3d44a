package finding

import (
	"maps"
	"slices"

	"github.com/p20export/p20export/internal/hint"
)

// Description describes a code.
type Description struct {
	Severity Severity
	// Meaning is a one-line explanation.
	Meaning string
	// Spec is the source of the rule.
	Spec string
	// Hint is the next step.
	Hint string
}

// Findings about the files, framing and times of a capture.
const (
	CaptureUnfinished  Code = "capture_unfinished"
	ManifestMalformed  Code = "capture_manifest_malformed"
	CaptureFileMissing Code = "capture_file_missing"
	CaptureFileLink    Code = "capture_file_link"
	DigestMismatch     Code = "capture_digest_mismatch"
	ArrivalsMalformed  Code = "arrivals_malformed"
	FramingOpaque      Code = "framing_opaque"
	CodingUnsupported  Code = "content_coding_unsupported"
	CodingDamaged      Code = "content_coding_damaged"
	CaptureInUse       Code = "capture_in_use"
	CaptureSetAside    Code = "capture_set_aside"
	EventIncomplete    Code = "event_incomplete"
	EventTooLarge      Code = "event_too_large"
	ArrayMalformed     Code = "array_malformed"
	CaptureCutShort    Code = "capture_cut_short"
	EventsUncounted    Code = "events_uncounted"
)

// Findings about recording a capture over HTTP.
const (
	HTTPStatus      Code = "http_status"
	HTTPContentType Code = "http_content_type"
	HTTPFailed      Code = "http_failed"
)

// Findings about JSON text (RFC 8259).
const (
	JSONSyntax       Code = "json_syntax"
	JSONInvalidUTF8  Code = "json_invalid_utf8"
	JSONDuplicateKey Code = "json_duplicate_key"
	JSONTooDeep      Code = "json_too_deep"
	JSONTrailing     Code = "json_trailing_data"
	LoneSurrogate    Code = "lone_surrogate"
	FindingsUnlisted Code = "findings_past_limit"
)

// Findings about events and runs.
const (
	EventNotObject      Code = "event_not_object"
	EventTypeMissing    Code = "event_type_missing"
	EventFieldMalformed Code = "event_field_malformed"
	NoRun               Code = "no_run"
	NoEvents            Code = "no_events"
	FramesBeforeRun     Code = "frames_before_run"
	RunNotFound         Code = "run_not_found"
	RunAmbiguous        Code = "run_ambiguous"
	RunNotTerminated    Code = "run_not_terminated"
	EventsAfterTerminal Code = "events_after_terminal"
	TerminalSeveral     Code = "terminal_several"
	TerminalOtherRun    Code = "terminal_names_other_run"
	TerminalOtherThread Code = "terminal_names_other_thread"
	FamiliesUncounted   Code = "families_uncounted"
	EnvelopeIncomplete  Code = "envelope_incomplete"
	EnvelopeOrder       Code = "envelope_order"
	EnvelopeRepeated    Code = "envelope_event_repeated"
	InputMessageDiffers Code = "input_message_differs"
	ParentRunUnknown    Code = "parent_run_unknown"
	ParentRunElsewhere  Code = "parent_run_in_other_thread"
	ParentRunLater      Code = "parent_run_starts_later"
	ParentRunCycle      Code = "parent_run_cycle"
	RunStartedTwice     Code = "run_started_twice"
	RunIDMissing        Code = "run_id_missing"
	InputOmitsHistory   Code = "input_omits_history"
	CompactionLimit     Code = "compaction_limit"
	WrittenAfterRun     Code = "written_after_run"
)

// Findings about projections. Omissions use the same codes for their reasons.
const (
	SnapshotMissing      Code = "snapshot_missing"
	SnapshotSeveral      Code = "snapshot_several"
	SnapshotOutOfRange   Code = "snapshot_out_of_range"
	SnapshotPresent      Code = "snapshot_present"
	SnapshotNotChosen    Code = "snapshot_not_chosen"
	SnapshotMalformed    Code = "snapshot_malformed"
	SnapshotLacksText    Code = "snapshot_lacks_streamed_text"
	KeyOutsideSubset     Code = "key_outside_subset"
	RoleOutsideSubset    Code = "role_outside_subset"
	ContentMissing       Code = "content_missing"
	ContentBlank         Code = "content_blank"
	ContentNotText       Code = "content_not_text"
	ValueNull            Code = "value_null"
	ValueBlank           Code = "value_blank"
	TextShortened        Code = "text_shortened"
	TextPartsJoined      Code = "text_parts_joined"
	SubagentText         Code = "subagent_text"
	NothingLeft          Code = "nothing_left"
	RequestAbsent        Code = "request_absent"
	RequestMalformed     Code = "request_malformed"
	RequestOtherRun      Code = "request_names_other_run"
	TextNotOpen          Code = "text_event_not_open"
	MessageSpeakers      Code = "message_has_two_speakers"
	StreamedIDInRequest  Code = "streamed_id_in_request"
	StartedAtMissing     Code = "started_at_missing"
	TimestampImplausible Code = "timestamp_implausible"
	OmissionsUncounted   Code = "omissions_past_limit"
	OperatorTimesUnused  Code = "operator_times_unused"
	OperatorTimesNeedRun Code = "operator_times_need_run"
	OmissionsRecorded    Code = "omissions_recorded"
)

// Findings about an artifact.
const (
	TooLarge           Code = "file_too_large"
	NotObject          Code = "not_an_object"
	NotArtifact        Code = "not_an_artifact"
	NotCanonical       Code = "not_canonical"
	KeyUnknown         Code = "key_unknown"
	ExtraEventFamily   Code = "extra_event_family"
	KeyMissing         Code = "key_missing"
	WrongType          Code = "wrong_type"
	WrongValue         Code = "wrong_value"
	TooLong            Code = "too_long"
	RefNotOpaque       Code = "ref_not_opaque"
	ControlCharacter   Code = "control_character"
	ErrorStackTrace    Code = "error_stack_trace"
	TimestampMalformed Code = "timestamp_malformed"
	TimesOutOfOrder    Code = "times_out_of_order"
	MessagesEmpty      Code = "messages_empty"
	MessagesTooMany    Code = "messages_too_many"
	MessageIDRepeated  Code = "message_id_repeated"
	ErrorKeyForbidden  Code = "error_key_forbidden"
	EventLineTooLong   Code = "event_line_too_long"
)

// Findings of lint about the order of events.
const (
	OutsideRun         Code = "event_outside_run"
	RunStillOpen       Code = "run_still_open"
	AlreadyOpen        Code = "already_open"
	NotOpen            Code = "not_open"
	LeftOpen           Code = "left_open"
	OwnerDiffers       Code = "owner_differs"
	TagNull            Code = "subagent_id_null"
	SubagentMalformed  Code = "subagent_malformed"
	SubagentRestarted  Code = "subagent_restarted"
	SubagentParentGone Code = "subagent_parent_unknown"
	ChunkInvalid       Code = "chunk_invalid"
	SequenceUnchecked  Code = "sequence_unchecked"

	RunIDDiffers        Code = "run_id_differs"
	ThreadDiffers       Code = "thread_differs"
	InterruptIDRepeated Code = "interrupt_id_repeated"
	StreamTruncated     Code = "stream_truncated"
	RunIDReused         Code = "run_id_reused"
	ResumeIncomplete    Code = "resume_incomplete"
	ResumeUnknown       Code = "resume_unknown"
	EncryptedTypeAlone  Code = "encrypted_type_alone"
	PendingCallsDiffer  Code = "pending_calls_differ"
	ReopenedDiffers     Code = "reopened_differs"
	SubagentLate        Code = "subagent_started_late"
	ProtocolNewer       Code = "protocol_newer"
)

// Findings of lint about the form of events.
const (
	EventRefused Code = "event_refused"
	EventAltered Code = "event_altered"
)

// Findings of lint about what clients accept, but a producer should not send.
const (
	NeverEnded         Code = "never_ended"
	ResultWithoutCall  Code = "result_without_call"
	DeltaInapplicable  Code = "delta_inapplicable"
	DeltaEmpty         Code = "delta_empty"
	IDReused           Code = "id_reused"
	SnapshotDrops      Code = "snapshot_drops_message"
	SnapshotRenames    Code = "snapshot_renames_message"
	TypeMisspelled     Code = "type_misspelled"
	TimestampDecreases Code = "timestamp_decreases"
	TimestampUnit      Code = "timestamp_unit"
	UsageInconsistent  Code = "usage_inconsistent"
	EvidenceLacking    Code = "evidence_lacking"
	ArgumentsNotJSON   Code = "arguments_not_json"
	ProducerUnchecked  Code = "producer_unchecked"
	FeatureMissing     Code = "feature_missing"
)

// Findings of lint about the transport of a response.
const (
	CharsetOther      Code = "charset_other"
	LineIgnored       Code = "line_ignored"
	ResponseBuffered  Code = "response_buffered"
	SilenceLong       Code = "silence_long"
	CompressionDelays Code = "compression_delays"
	ConnectionCut     Code = "connection_cut"
	CORSRefused       Code = "cors_refused"
)

// Findings of verify.
const (
	ArtifactDiffers   Code = "artifact_differs"
	EnvelopeDiffers   Code = "envelope_differs"
	EnvelopeAbsent    Code = "envelope_absent"
	RecordMalformed   Code = "record_malformed"
	RecordDiffers     Code = "record_differs"
	CaptureDiffers    Code = "capture_differs"
	NotReprojected    Code = "not_reprojected"
	ProjectionUnknown Code = "projection_unknown"
	ManifestMismatch  Code = "manifest_mismatch"
	OperatorAsserted  Code = "operator_asserted"
	SnapshotBuilt     Code = "snapshot_built"
	RunsTooMany       Code = "runs_too_many"
)

// Findings about events that have no effect, or not all of it, on messages and state.
const (
	MessageUnknown       Code = "message_unknown"
	ActivityIDReused     Code = "activity_id_reused"
	ParentNotAssistant   Code = "parent_not_assistant"
	ToolCallRenamed      Code = "tool_call_renamed"
	PatchFailed          Code = "patch_failed"
	ConversationTooLarge Code = "conversation_too_large"
	EventOutOfRange      Code = "event_out_of_range"
)

// Findings of verify about a directory.
const (
	RecordAbsent    Code = "record_absent"
	ArtifactAbsent  Code = "artifact_absent"
	CaptureAbsent   Code = "capture_absent"
	CaptureRepeated Code = "capture_repeated"
	NothingFrozen   Code = "nothing_frozen"
	NothingToVerify Code = "nothing_to_verify"
	NothingVerified Code = "nothing_verified"
	FileUnexplained Code = "file_unexplained"
	TemporaryFile   Code = "temporary_file"
	TreeTooLarge    Code = "tree_too_large"
)

// Findings about the signatures of records and their time-stamps.
const (
	SignatureMalformed Code = "signature_malformed"
	SignatureOfAnother Code = "signature_of_another"
	SignatureBroken    Code = "signature_broken"
	SignatureUntrusted Code = "signature_untrusted"
	SignatureExpired   Code = "signature_expired"
	SignatureRepeated  Code = "signature_repeated"
	SignatureMissing   Code = "signature_missing"
	SignatureUnjudged  Code = "signature_unjudged"
	SignerFailed       Code = "signer_failed"
	KeyExposed         Code = "key_exposed"
	TokenMalformed     Code = "token_malformed"
	TokenOfAnother     Code = "token_of_another"
	TokenBroken        Code = "token_broken"
	TokenUntrusted     Code = "token_untrusted"
	TokenExpired       Code = "token_expired"
	TokenFuture        Code = "token_future"
	TokenMissing       Code = "token_missing"
	TokenRefused       Code = "token_refused"
)

// Findings about the seals of the threads of a log.
const (
	SealMalformed     Code = "seal_malformed"
	SealBroken        Code = "seal_broken"
	SealUntrusted     Code = "seal_untrusted"
	SealOfAnother     Code = "seal_of_another"
	SealOfOtherTenant Code = "seal_of_other_tenant"
	SealKept          Code = "seal_kept"
	SealMissing       Code = "seal_missing"
	ThreadRewritten   Code = "thread_rewritten"
	ThreadCutOff      Code = "thread_cut_off"
	ThreadForked      Code = "thread_forked"
	ThreadDamaged     Code = "thread_damaged"
	WitnessRefused    Code = "witness_refused"
	WitnessMissing    Code = "witness_missing"
	ProofMalformed    Code = "proof_malformed"
	ProofBroken       Code = "proof_broken"
)

// Findings about archives of captures.
const (
	ArchiveMalformed     Code = "archive_malformed"
	ArchiveMemberRefused Code = "archive_member_refused"
	ArchiveLimit         Code = "archive_limit"
)

// Findings about imports into Assay and about Assay bundles.
const (
	RecordOfAnother  Code = "record_of_another"
	ReceiptNeeded    Code = "receipt_needed"
	ArtifactRefUnfit Code = "artifact_ref_unfit"
	TextTrimmed      Code = "text_trimmed"
	OriginUnknown    Code = "origin_unknown"
	BundleLimit      Code = "bundle_limit"
	BundleRefused    Code = "bundle_refused"
	BundleDeviates   Code = "bundle_deviates"
)

// Findings of compare about changes since a baseline.
const (
	RunGone           Code = "baseline_run_missing"
	RunAdded          Code = "baseline_run_added"
	StatusChanged     Code = "baseline_status"
	TerminalChanged   Code = "baseline_terminal"
	EndChanged        Code = "baseline_end"
	SnapshotsChanged  Code = "baseline_snapshots"
	SnapshotMoved     Code = "baseline_snapshot_place"
	RoleChanged       Code = "baseline_role"
	ProjectionChanged Code = "baseline_projection"
	MessagesChanged   Code = "baseline_messages"
	FieldChanged      Code = "baseline_field"
	TimesChanged      Code = "baseline_times"
	IncompleteChanged Code = "baseline_incomplete"
	AssayChanged      Code = "baseline_assay"
	IDsChanged        Code = "baseline_ids"
	FieldUntaken      Code = "baseline_field_untaken"
	ReasonsChanged    Code = "baseline_reasons"
	FamiliesChanged   Code = "baseline_families"
)

// Findings about how traces differ.
const (
	TraceMissing    Code = "trace_missing"
	TraceAdded      Code = "trace_added"
	TraceChanged    Code = "trace_changed"
	TraceMoved      Code = "trace_moved"
	TraceUnmatched  Code = "trace_unmatched"
	GoldenMalformed Code = "golden_malformed"
	GoldenUnfit     Code = "golden_unfit"
)

// Findings about captures of scenarios.
const (
	ScenarioUnexpected Code = "scenario_unexpected"
)

// Findings about copying streams into a log and threads to files.
const (
	StreamThreadUnknown Code = "stream_thread_unknown"
	LogEntryDiffers     Code = "log_entry_differs"
	LogHasMore          Code = "log_has_more"
	LogStreamClosed     Code = "log_stream_closed"
	LogThreadDeleted    Code = "log_thread_deleted"
	LogIDRefused        Code = "log_id_refused"
	LogFileMalformed    Code = "log_file_malformed"
)

// Findings about operations that failed.
const (
	IOFailed          Code = "io_failed"
	OutputExists      Code = "output_exists"
	DurabilityUnknown Code = "durability_unknown"
	TemporaryLeft     Code = "temporary_left"
	Interrupted       Code = "interrupted"
)

// Codes returns all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(kinds())) }

// kind is a Description without the hint.
type kind struct {
	severity      Severity
	meaning, spec string
}

// Describe returns the description of a code, and whether the code exists.
func Describe(c Code) (Description, bool) {
	k, ok := kinds()[c]
	return Description{k.severity, k.meaning, k.spec, hint.ByCode()[string(c)]}, ok
}
