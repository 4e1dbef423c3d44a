-- How the runs of each integration change from version to version.
SELECT
  labels.integration AS integration,
  labels.version AS version,
  count(*) AS runs,
  round(1e2 * count(artifact_digest) / count(*), 1) AS frozen_percent,
  round(1e2 * count(*) FILTER (WHERE terminal_event = 'RUN_ERROR') / count(*), 1) AS run_error_percent,
  round(avg(artifact_bytes), 0) AS artifact_bytes,
  round(avg(capture_bytes), 0) AS capture_bytes,
  min(started_at) AS first_run,
  max(started_at) AS last_run
FROM runs
GROUP BY labels.integration, labels.version
ORDER BY integration NULLS LAST, version NULLS LAST
