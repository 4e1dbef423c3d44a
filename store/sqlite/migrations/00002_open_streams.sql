-- +goose Up

-- A program that starts looks for the streams that nobody has ended.
CREATE INDEX streams_open ON streams (thread_id, first) WHERE ended = 0;
