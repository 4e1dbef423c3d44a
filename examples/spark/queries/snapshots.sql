-- Runs without a usable snapshot of their messages, by integration and reason.
SELECT
  r.labels.integration AS integration,
  r.labels.version AS version,
  f.code,
  count(*) AS runs
FROM findings AS f
JOIN runs AS r ON r.source = f.source AND r.capture = f.capture AND coalesce(r.run, 0) = coalesce(f.run, 0)
WHERE f.severity = 'error' AND f.code LIKE '%snapshot%'
GROUP BY r.labels.integration, r.labels.version, f.code
ORDER BY runs DESC, integration NULLS LAST, version NULLS LAST, f.code
