-- How each integration changes from version to version: how many of its runs are frozen, and of
-- the frozen ones how many ended with RUN_ERROR, their average sizes, and when they ran.
SELECT
  labels.integration AS integration,
  labels.version AS version,
  count(*) AS runs,
  count(artifact) AS frozen,
  round(1e2 * count(artifact) / count(*), 1) AS frozen_percent,
  round(1e2 * count(*) FILTER (WHERE terminal_event = 'RUN_ERROR') / nullif(count(artifact), 0), 1) AS frozen_run_error_percent,
  round(avg(artifact_bytes), 0) AS artifact_bytes,
  round(avg(capture_bytes), 0) AS capture_bytes,
  min(started_at) AS first_frozen,
  max(started_at) AS last_frozen
FROM runs
GROUP BY labels.integration, labels.version
ORDER BY integration NULLS LAST, version NULLS LAST
