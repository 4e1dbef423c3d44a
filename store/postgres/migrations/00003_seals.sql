-- +goose Up

-- The functions of triggers keep this path; see the first migration.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- checkpoint is a signed statement about the first entries of a thread, and token a time-stamp
-- token over it, or NULL.
CREATE TABLE seals (
    thread_id  bigint NOT NULL,
    size       bigint NOT NULL,
    checkpoint bytea NOT NULL,
    token      bytea,
    PRIMARY KEY (thread_id, size)
);

-- hashes has 32 bytes for each block of 256 entries, of which first are before these. They are
-- computed from the entries, so rows can be deleted at any time.
CREATE TABLE blocks (
    thread_id bigint NOT NULL,
    first     bigint NOT NULL,
    hashes    bytea NOT NULL,
    PRIMARY KEY (thread_id, first)
);

ALTER TABLE blocks ALTER COLUMN hashes SET STORAGE EXTERNAL; -- hashes cannot be compressed

-- +goose StatementBegin
CREATE FUNCTION require_sealable() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    -- No other transaction may delete the thread meanwhile, nor have deleted it before.
    PERFORM FROM threads WHERE id = NEW.thread_id FOR SHARE;
    IF NEW.size < 1 OR NOT EXISTS (SELECT FROM threads
        WHERE id = NEW.thread_id AND deleted_at IS NULL AND last >= NEW.size)
    THEN
        RAISE EXCEPTION 'a log is only appended to: thread % has no % entries to seal', NEW.thread_id, NEW.size
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- A deleted thread keeps its last seal.
-- +goose StatementBegin
CREATE FUNCTION require_seal() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM deleted d WHERE NOT EXISTS (
        SELECT FROM threads t WHERE t.id = d.thread_id AND t.deleted_at IS NOT NULL)
        OR NOT EXISTS (SELECT FROM seals s WHERE s.thread_id = d.thread_id AND s.size > d.size))
    THEN
        RAISE EXCEPTION 'a log is only appended to: delete of seals is refused: the thread is not deleted, or the seal is the last'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER seals_insert BEFORE INSERT ON seals
    FOR EACH ROW EXECUTE FUNCTION require_sealable();
CREATE TRIGGER seals_update BEFORE UPDATE OR TRUNCATE ON seals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER seals_delete AFTER DELETE ON seals REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION require_seal();

-- Whoever can use the other tables can use these, too.
-- +goose StatementBegin
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
        FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = 'threads'::regclass AND grantee <> relowner
        AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('GRANT %s ON seals, blocks TO %s', granted.privilege_type, granted.grantee);
    END LOOP;
END $$;
-- +goose StatementEnd
