-- +goose Up

-- data was computed from the entries up to position, and saves computing it again. Rows can be
-- deleted at any time. Not WITHOUT ROWID: heads are read without data, which can be large.
CREATE TABLE derived (
	thread_id INTEGER NOT NULL,
	kind TEXT NOT NULL,
	position INTEGER NOT NULL,
	head BLOB NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (thread_id, kind, position)
) STRICT;

-- Programs that opened the log before this migration delete threads too.
-- +goose StatementBegin
CREATE TRIGGER threads_erase AFTER UPDATE OF deleted_at ON threads
WHEN NEW.deleted_at IS NOT NULL
BEGIN DELETE FROM derived WHERE thread_id = NEW.id; END;
-- +goose StatementEnd
