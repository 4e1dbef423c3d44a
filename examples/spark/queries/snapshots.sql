-- Runs that were refused because of their snapshot: it is missing, there are several, or what is
-- in it cannot be evidence.
SELECT
  r.labels.integration AS integration,
  r.labels.version AS version,
  f.code,
  count(*) AS runs
FROM findings AS f
JOIN runs AS r ON r.source = f.source AND r.capture = f.capture AND coalesce(r.run, 0) = coalesce(f.run, 0)
WHERE r.verdict = 'refused' AND f.severity = 'error' AND (f.code LIKE '%snapshot%' OR f.pointer LIKE '/messages%')
GROUP BY r.labels.integration, r.labels.version, f.code
ORDER BY runs DESC, integration NULLS LAST, version NULLS LAST, f.code
