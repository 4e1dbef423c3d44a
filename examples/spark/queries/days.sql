-- The frozen runs of each day, their bytes and ends.
SELECT
  CAST(started_at AS DATE) AS day,
  count(*) AS runs,
  sum(capture_bytes) AS capture_bytes,
  sum(artifact_bytes) AS artifact_bytes,
  count(*) FILTER (WHERE terminal_event = 'RUN_ERROR') AS run_errors,
  count(DISTINCT thread_id) AS threads
FROM runs
WHERE verdict = 'frozen'
GROUP BY CAST(started_at AS DATE)
ORDER BY day NULLS LAST
