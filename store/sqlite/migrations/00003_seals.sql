-- +goose Up

-- checkpoint is a signed statement about the first entries of a thread, and token a time-stamp
-- token over it, or NULL.
CREATE TABLE seals (
	thread_id INTEGER NOT NULL,
	size INTEGER NOT NULL,
	checkpoint BLOB NOT NULL,
	token BLOB,
	PRIMARY KEY (thread_id, size)
) WITHOUT ROWID, STRICT;

-- hashes has 32 bytes for each block of 256 entries, of which first are before these. They are
-- computed from the entries, so rows can be deleted at any time.
CREATE TABLE blocks (
	thread_id INTEGER NOT NULL,
	first INTEGER NOT NULL,
	hashes BLOB NOT NULL,
	PRIMARY KEY (thread_id, first)
) WITHOUT ROWID, STRICT;

-- +goose StatementBegin
CREATE TRIGGER seals_insert BEFORE INSERT ON seals
WHEN NEW.size < 1 OR NEW.size > (SELECT last FROM threads WHERE id = NEW.thread_id)
	OR NOT EXISTS (SELECT 1 FROM threads WHERE id = NEW.thread_id AND deleted_at IS NULL)
	OR EXISTS (SELECT 1 FROM seals WHERE thread_id = NEW.thread_id AND size = NEW.size)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: the seal exists, or its entries do not'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER seals_update BEFORE UPDATE ON seals
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: seals are never changed'); END;
-- +goose StatementEnd
-- A deleted thread keeps its last seal.
-- +goose StatementBegin
CREATE TRIGGER seals_delete BEFORE DELETE ON seals
WHEN (SELECT deleted_at FROM threads WHERE id = OLD.thread_id) IS NULL
	OR OLD.size = (SELECT max(size) FROM seals WHERE thread_id = OLD.thread_id)
BEGIN SELECT RAISE(ABORT, 'a log is only appended to: its thread is not deleted, or the seal is the last'); END;
-- +goose StatementEnd
