-- The log. store/sqlite has the same tables and columns; docs/serialization.md explains them.
-- Times are microseconds since 1970 in UTC, and NULL if they are not known.

-- +goose Up

-- The functions of triggers keep this path. Without pg_temp at its end, a temporary table would
-- hide that of the log from them.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

CREATE TABLE threads (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    thread     text COLLATE "C" NOT NULL,
    last       bigint NOT NULL,
    runs       bigint NOT NULL,
    streams    bigint NOT NULL,
    bytes      bigint NOT NULL,
    packed     bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    UNIQUE (tenant, thread)
) WITH (fillfactor = 50); -- each append updates a row, which is cheap if its page has space

-- input is the position of the last input that belongs to no run yet, and input_parent its
-- parentRunId. run is the start of the last run. Those that do not exist are 0 or empty.
-- ended is 0 or 1.
CREATE TABLE streams (
    thread_id bigint NOT NULL,
    number    bigint NOT NULL,
    stream    text COLLATE "C" NOT NULL,
    first     bigint NOT NULL,
    last      bigint NOT NULL,
    entries   bigint NOT NULL,
    ended     bigint NOT NULL,
    input     bigint NOT NULL,
    input_parent text COLLATE "C" NOT NULL,
    run       bigint NOT NULL,
    PRIMARY KEY (thread_id, number),
    UNIQUE (thread_id, stream)
) WITH (fillfactor = 50);

CREATE TABLE runs (
    thread_id     bigint NOT NULL,
    start         bigint NOT NULL,
    run_id        text COLLATE "C" NOT NULL,
    parent_id     text COLLATE "C" NOT NULL,
    stream_number bigint NOT NULL,
    input         bigint NOT NULL,
    last          bigint NOT NULL,
    entries       bigint NOT NULL,
    bytes         bigint NOT NULL,
    started_at    bigint,
    last_at       bigint,
    outcome       text COLLATE "C" NOT NULL,
    PRIMARY KEY (thread_id, start)
) WITH (fillfactor = 50);

CREATE INDEX runs_run_id ON runs (run_id) WHERE run_id <> '';
CREATE INDEX runs_parent_id ON runs (parent_id) WHERE parent_id <> '';
CREATE INDEX runs_started_at ON runs (started_at);

CREATE TABLE entries (
    thread_id     bigint NOT NULL,
    position      bigint NOT NULL,
    run           bigint NOT NULL,
    stream_number bigint NOT NULL,
    kind          smallint NOT NULL, -- 1 event, 2 input, 3 closing, 4 end
    type          text COLLATE "C" NOT NULL,
    arrived_at    bigint,
    data          bytea NOT NULL,
    PRIMARY KEY (thread_id, position)
);

-- data has the entries from first to last, compressed to stored bytes.
CREATE TABLE packs (
    thread_id bigint NOT NULL,
    first     bigint NOT NULL,
    last      bigint NOT NULL,
    entries   bigint NOT NULL,
    bytes     bigint NOT NULL,
    stored    bigint NOT NULL,
    data      bytea NOT NULL,
    PRIMARY KEY (thread_id, last)
);

ALTER TABLE packs ALTER COLUMN data SET STORAGE EXTERNAL; -- it is compressed

-- +goose StatementBegin
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a log is only appended to: % of % is refused', lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd

-- The last position of a thread changes in the statement that inserts the entries.
-- +goose StatementBegin
CREATE FUNCTION require_new_entries() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    before bigint := 0;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        before := OLD.last;
    END IF;
    IF NEW.last - before <> (SELECT count(*) FROM entries
        WHERE thread_id = NEW.id AND position > before AND position <= NEW.last)
    THEN
        RAISE EXCEPTION 'a log is only appended to: thread % has no entries up to its last position', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION require_thread() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    -- A transaction with another isolation level may see the thread as it was before it was packed
    -- or deleted. The lock fails then.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM FROM threads WHERE id IN (SELECT thread_id FROM inserted) FOR SHARE;
    END IF;
    IF EXISTS (SELECT FROM
        (SELECT thread_id, min(position) AS first, max(position) AS last FROM inserted GROUP BY thread_id) i
        WHERE NOT EXISTS (SELECT FROM threads t WHERE t.id = i.thread_id AND i.last <= t.last AND t.deleted_at IS NULL)
        OR i.first < 1
        OR EXISTS (SELECT FROM packs p WHERE p.thread_id = i.thread_id AND p.last >= i.first))
    THEN
        RAISE EXCEPTION 'a log is only appended to: a position is not among the new ones of a thread'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Rows of these tables can be deleted for a deleted thread.
-- +goose StatementBegin
CREATE FUNCTION require_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM deleted d WHERE NOT EXISTS (
        SELECT FROM threads t WHERE t.id = d.thread_id AND t.deleted_at IS NOT NULL))
    THEN
        RAISE EXCEPTION 'a log is only appended to: delete of % is refused: the thread is not deleted', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Entries can also be deleted if the same transaction has packed them. The column xmin is the
-- transaction that inserted a row.
-- +goose StatementBegin
CREATE FUNCTION require_packed_or_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM deleted d
        WHERE NOT EXISTS (SELECT FROM threads t WHERE t.id = d.thread_id AND t.deleted_at IS NOT NULL)
        AND NOT EXISTS (SELECT FROM packs p
            WHERE p.thread_id = d.thread_id AND d.position BETWEEN p.first AND p.last
            AND p.xmin = pg_current_xact_id()::xid))
    THEN
        RAISE EXCEPTION 'a log is only appended to: delete of entries is refused: '
            'this transaction has not packed them, and the thread is not deleted'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION require_entries() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    found record;
BEGIN
    -- No other transaction may pack the entries, and the transaction must see earlier packs.
    PERFORM FROM threads WHERE id = NEW.thread_id FOR NO KEY UPDATE;
    SELECT count(*) AS entries, coalesce(sum(octet_length(data)), 0) AS bytes INTO found
        FROM entries WHERE thread_id = NEW.thread_id AND position BETWEEN NEW.first AND NEW.last;
    IF NEW.first < 1 OR NEW.entries <> NEW.last - NEW.first + 1 OR found.entries <> NEW.entries OR found.bytes <> NEW.bytes
        OR EXISTS (SELECT FROM packs WHERE thread_id = NEW.thread_id AND first <= NEW.last AND last >= NEW.first)
    THEN
        RAISE EXCEPTION 'insert into packs is refused: the positions % to % have % entries of % bytes',
            NEW.first, NEW.last, found.entries, found.bytes
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- A stream or a run is inserted or continued in the statement that inserts its entries.
-- +goose StatementBegin
CREATE FUNCTION require_stream_entries() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM entries
            WHERE thread_id = NEW.thread_id AND position = NEW.last AND stream_number = NEW.number)
        OR TG_OP = 'INSERT' AND NOT EXISTS (SELECT FROM entries
            WHERE thread_id = NEW.thread_id AND position = NEW.first AND stream_number = NEW.number)
    THEN
        RAISE EXCEPTION 'a log is only appended to: stream % has no such entries', NEW.stream
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION require_run_entries() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM entries
        WHERE thread_id = NEW.thread_id AND position = NEW.last AND run = NEW.start)
    THEN
        RAISE EXCEPTION 'a log is only appended to: run % has no such entries', NEW.start
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION require_packs() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.packed <> (SELECT coalesce(sum(entries), 0) FROM packs WHERE thread_id = NEW.id) THEN
        RAISE EXCEPTION 'a log is only appended to: thread % has not as many packed entries', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER threads_delete BEFORE DELETE OR TRUNCATE ON threads
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER threads_append AFTER INSERT OR UPDATE OF last ON threads
    FOR EACH ROW EXECUTE FUNCTION require_new_entries();
CREATE TRIGGER threads_insert BEFORE INSERT ON threads
    FOR EACH ROW WHEN (NEW.packed <> 0 OR NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION refuse();
CREATE TRIGGER threads_pack AFTER UPDATE OF packed ON threads
    FOR EACH ROW WHEN (NEW.packed <> OLD.packed) EXECUTE FUNCTION require_packs();
CREATE TRIGGER threads_update BEFORE UPDATE ON threads FOR EACH ROW
    WHEN (NEW.id <> OLD.id OR NEW.tenant <> OLD.tenant OR NEW.thread <> OLD.thread
        OR NEW.last < OLD.last OR NEW.streams < OLD.streams OR NEW.runs < OLD.runs OR NEW.bytes < OLD.bytes
        OR NEW.packed < OLD.packed OR NEW.created_at <> OLD.created_at OR OLD.deleted_at IS NOT NULL
        OR NEW.last = OLD.last AND (NEW.streams <> OLD.streams OR NEW.runs <> OLD.runs OR NEW.bytes <> OLD.bytes
            OR NEW.updated_at <> OLD.updated_at))
    EXECUTE FUNCTION refuse();

CREATE TRIGGER streams_truncate BEFORE TRUNCATE ON streams
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER streams_delete AFTER DELETE ON streams REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION require_deleted();
CREATE TRIGGER streams_update BEFORE UPDATE ON streams FOR EACH ROW
    WHEN (NEW.thread_id <> OLD.thread_id OR NEW.number <> OLD.number OR NEW.stream <> OLD.stream
        OR NEW.first <> OLD.first OR NEW.entries < OLD.entries OR NEW.last <= OLD.last OR OLD.ended <> 0)
    EXECUTE FUNCTION refuse();
CREATE TRIGGER streams_append AFTER INSERT OR UPDATE ON streams
    FOR EACH ROW EXECUTE FUNCTION require_stream_entries();

CREATE TRIGGER runs_truncate BEFORE TRUNCATE ON runs
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER runs_delete AFTER DELETE ON runs REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION require_deleted();
CREATE TRIGGER runs_update BEFORE UPDATE ON runs FOR EACH ROW
    WHEN (NEW.thread_id <> OLD.thread_id OR NEW.start <> OLD.start OR NEW.run_id <> OLD.run_id
        OR NEW.parent_id <> OLD.parent_id OR NEW.stream_number <> OLD.stream_number OR NEW.input <> OLD.input
        OR NEW.last < OLD.last OR NEW.entries < OLD.entries OR NEW.bytes < OLD.bytes
        OR NEW.started_at IS DISTINCT FROM OLD.started_at OR OLD.outcome <> 'open' AND NEW.outcome <> OLD.outcome
        OR NEW.last = OLD.last AND (NEW.entries <> OLD.entries OR NEW.bytes <> OLD.bytes
            OR NEW.last_at IS DISTINCT FROM OLD.last_at))
    EXECUTE FUNCTION refuse();
CREATE TRIGGER runs_insert AFTER INSERT ON runs
    FOR EACH ROW EXECUTE FUNCTION require_run_entries();
CREATE TRIGGER runs_append AFTER UPDATE ON runs
    FOR EACH ROW WHEN (NEW.last > OLD.last) EXECUTE FUNCTION require_run_entries();

CREATE TRIGGER entries_insert AFTER INSERT ON entries REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION require_thread();
CREATE TRIGGER entries_update BEFORE UPDATE OR TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER entries_delete AFTER DELETE ON entries REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION require_packed_or_deleted();

CREATE TRIGGER packs_insert BEFORE INSERT ON packs
    FOR EACH ROW EXECUTE FUNCTION require_entries();
CREATE TRIGGER packs_update BEFORE UPDATE OR TRUNCATE ON packs
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER packs_delete AFTER DELETE ON packs REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION require_deleted();
