-- +goose Up

-- The functions of triggers keep this path; see the first migration.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- data was computed from the entries up to position, and saves computing it again. Rows can be
-- deleted at any time.
CREATE TABLE derived (
    thread_id bigint NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    position  bigint NOT NULL,
    head      bytea NOT NULL,
    data      bytea NOT NULL,
    PRIMARY KEY (thread_id, kind, position)
);

ALTER TABLE derived ALTER COLUMN data SET STORAGE EXTERNAL; -- it is compressed

-- Programs that opened the log before this migration delete threads too.
-- +goose StatementBegin
CREATE FUNCTION erase_derived() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM derived WHERE thread_id = NEW.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER threads_erase AFTER UPDATE OF deleted_at ON threads
    FOR EACH ROW WHEN (NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION erase_derived();

-- Whoever can use the other tables can use this one, too.
-- +goose StatementBegin
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
        FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = 'threads'::regclass AND grantee <> relowner
        AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('GRANT %s ON derived TO %s', granted.privilege_type, granted.grantee);
    END LOOP;
END $$;
-- +goose StatementEnd
