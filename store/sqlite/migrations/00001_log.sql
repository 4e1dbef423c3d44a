-- +goose Up

-- All times are microseconds since 1970 in UTC. NULL means that a time is not known.
CREATE TABLE threads (
	id INTEGER PRIMARY KEY,
	tenant TEXT NOT NULL,
	thread TEXT NOT NULL,
	last INTEGER NOT NULL,
	streams INTEGER NOT NULL,
	runs INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	packed INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	deleted_at INTEGER,
	UNIQUE (tenant, thread)
) STRICT;
CREATE INDEX threads_updated_at ON threads (updated_at);

-- input is the position of the last input that belongs to no run yet, and input_parent its
-- parentRunId. run is the start of the last run. Those that do not exist are 0 or empty.
-- ended is 0 or 1.
CREATE TABLE streams (
	thread_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	stream TEXT NOT NULL,
	entries INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	ended INTEGER NOT NULL,
	input INTEGER NOT NULL,
	input_parent TEXT NOT NULL,
	run INTEGER NOT NULL,
	PRIMARY KEY (thread_id, number),
	UNIQUE (thread_id, stream)
) WITHOUT ROWID, STRICT;

-- Not WITHOUT ROWID: SQLite would copy large rows to compare their keys. kind is 1 for an event, 2 for an input, 3 for a closing event and 4 for an end.
CREATE TABLE entries (
	thread_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	run INTEGER NOT NULL,
	stream_number INTEGER NOT NULL,
	kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 4),
	type TEXT NOT NULL,
	arrived_at INTEGER,
	data BLOB NOT NULL,
	PRIMARY KEY (thread_id, position),
	CHECK (rowid > 0)
) STRICT;

CREATE TABLE runs (
	thread_id INTEGER NOT NULL,
	start INTEGER NOT NULL,
	run_id TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	stream_number INTEGER NOT NULL,
	input INTEGER NOT NULL,
	last INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	started_at INTEGER,
	last_at INTEGER,
	outcome TEXT NOT NULL,
	PRIMARY KEY (thread_id, start)
) WITHOUT ROWID, STRICT;
CREATE INDEX runs_run_id ON runs (run_id);
CREATE INDEX runs_parent_id ON runs (parent_id) WHERE parent_id <> '';
CREATE INDEX runs_started_at ON runs (started_at);

-- data has the entries from first to last, compressed to stored bytes.
CREATE TABLE packs (
	thread_id INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	stored INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (thread_id, last),
	CHECK (rowid > 0)
) STRICT;

-- The triggers guard against mistakes and other programs. The owner of the file can remove
-- them. Triggers before an insert refuse INSERT OR REPLACE, which runs no delete triggers.

-- +goose StatementBegin
CREATE TRIGGER threads_insert BEFORE INSERT ON threads
WHEN NEW.last <> 0 OR NEW.streams <> 0 OR NEW.runs <> 0 OR NEW.bytes <> 0 OR NEW.packed <> 0
	OR NEW.deleted_at IS NOT NULL
	OR EXISTS (SELECT 1 FROM threads WHERE id = NEW.id OR tenant = NEW.tenant AND thread = NEW.thread)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: the thread exists, or does not begin empty'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER threads_update BEFORE UPDATE ON threads
WHEN NEW.id <> OLD.id OR NEW.tenant <> OLD.tenant OR NEW.thread <> OLD.thread
	OR NEW.last < OLD.last OR NEW.streams < OLD.streams OR NEW.runs < OLD.runs OR NEW.bytes < OLD.bytes
	OR NEW.packed < OLD.packed OR NEW.created_at <> OLD.created_at
	OR OLD.deleted_at IS NOT NULL
	OR NEW.last - OLD.last <> (SELECT count(*) FROM entries
		WHERE thread_id = OLD.id AND position > OLD.last AND position <= NEW.last)
	OR NEW.last = OLD.last AND (NEW.streams <> OLD.streams OR NEW.runs <> OLD.runs OR NEW.bytes <> OLD.bytes
		OR NEW.updated_at <> OLD.updated_at)
	OR NEW.packed <> OLD.packed AND NEW.packed <> (SELECT coalesce(sum(entries), 0) FROM packs WHERE thread_id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: a thread keeps its key and what it has, and entries have no gaps'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER threads_delete BEFORE DELETE ON threads
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: a thread leaves a mark when it is deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER streams_insert BEFORE INSERT ON streams
WHEN EXISTS (SELECT 1 FROM streams WHERE thread_id = NEW.thread_id AND (number = NEW.number OR stream = NEW.stream))
	OR NOT EXISTS (SELECT 1 FROM entries WHERE thread_id = NEW.thread_id AND position = NEW.first AND stream_number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: the stream exists, or its first entry does not'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER streams_update BEFORE UPDATE ON streams
WHEN NEW.thread_id <> OLD.thread_id OR NEW.number <> OLD.number OR NEW.stream <> OLD.stream
	OR NEW.first <> OLD.first OR NEW.entries < OLD.entries OR NEW.last < OLD.last OR OLD.ended
	OR NOT EXISTS (SELECT 1 FROM entries WHERE thread_id = OLD.thread_id AND position = NEW.last
		AND position > OLD.last AND stream_number = OLD.number)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: a stream keeps its id and what it has'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER streams_delete BEFORE DELETE ON streams
WHEN (SELECT deleted_at FROM threads WHERE id = OLD.thread_id) IS NULL
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: its thread is not deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER runs_insert BEFORE INSERT ON runs
WHEN EXISTS (SELECT 1 FROM runs WHERE thread_id = NEW.thread_id AND start = NEW.start)
	OR NOT EXISTS (SELECT 1 FROM entries WHERE thread_id = NEW.thread_id AND position = NEW.start AND run = NEW.start)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: the run exists, or its first entry does not'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runs_update BEFORE UPDATE ON runs
WHEN NEW.thread_id <> OLD.thread_id OR NEW.start <> OLD.start OR NEW.run_id <> OLD.run_id
	OR NEW.parent_id <> OLD.parent_id OR NEW.stream_number <> OLD.stream_number OR NEW.input <> OLD.input
	OR NEW.last < OLD.last OR NEW.entries < OLD.entries OR NEW.bytes < OLD.bytes
	OR OLD.outcome <> 'open' AND NEW.outcome <> OLD.outcome OR NEW.started_at IS NOT OLD.started_at
	OR NEW.last = OLD.last AND (NEW.entries <> OLD.entries OR NEW.bytes <> OLD.bytes OR NEW.last_at IS NOT OLD.last_at)
	OR NEW.last > OLD.last AND NOT EXISTS (SELECT 1 FROM entries
		WHERE thread_id = OLD.thread_id AND position = NEW.last AND run = OLD.start)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: a run keeps its ids and what it has'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runs_delete BEFORE DELETE ON runs
WHEN (SELECT deleted_at FROM threads WHERE id = OLD.thread_id) IS NULL
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: its thread is not deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER entries_insert BEFORE INSERT ON entries
WHEN NOT EXISTS (SELECT 1 FROM threads WHERE id = NEW.thread_id AND deleted_at IS NULL AND (last = NEW.position - 1
		OR last < NEW.position AND EXISTS (SELECT 1 FROM entries WHERE thread_id = NEW.thread_id AND position = NEW.position - 1)))
	OR NEW.rowid > 0 AND EXISTS (SELECT 1 FROM entries WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ROLLBACK, 'a log is only appended to: the position is not the next one of a thread'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER entries_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: entries are never changed'); END;
-- +goose StatementEnd
-- Entries after the last position are those that another program inserted without changing the
-- row of the thread. They keep Append from using their positions, so they can be deleted.
-- +goose StatementBegin
CREATE TRIGGER entries_delete BEFORE DELETE ON entries
WHEN (SELECT deleted_at FROM threads WHERE id = OLD.thread_id) IS NULL
	AND OLD.position <= (SELECT last FROM threads WHERE id = OLD.thread_id)
	AND NOT EXISTS (SELECT 1 FROM packs
		WHERE thread_id = OLD.thread_id AND first <= OLD.position AND last >= OLD.position)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: the entry is not packed and its thread is not deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER packs_insert BEFORE INSERT ON packs
WHEN NEW.entries <> NEW.last - NEW.first + 1 OR NEW.first < 1
	OR NEW.last > (SELECT last FROM threads WHERE id = NEW.thread_id)
	OR NEW.entries <> (SELECT count(*) FROM entries
		WHERE thread_id = NEW.thread_id AND position BETWEEN NEW.first AND NEW.last)
	OR EXISTS (SELECT 1 FROM packs WHERE thread_id = NEW.thread_id AND first <= NEW.last AND last >= NEW.first)
	OR EXISTS (SELECT 1 FROM packs WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: a pack needs the entries that it packs'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER packs_update BEFORE UPDATE ON packs
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: packs are never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER packs_delete BEFORE DELETE ON packs
WHEN (SELECT deleted_at FROM threads WHERE id = OLD.thread_id) IS NULL
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: its thread is not deleted'); END;
-- +goose StatementEnd
