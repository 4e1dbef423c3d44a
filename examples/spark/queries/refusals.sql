-- Why runs were refused: each reason, how many runs and integrations have it, and a message.
SELECT
  f.code,
  count(DISTINCT concat_ws(' ', r.source, r.capture, CAST(r.run AS VARCHAR(20)))) AS runs,
  count(DISTINCT concat_ws(' ', r.labels.integration, r.labels.version)) AS versions,
  min(f.message) AS example
FROM findings AS f
JOIN runs AS r ON r.source = f.source AND r.capture = f.capture AND coalesce(r.run, 0) = coalesce(f.run, 0)
WHERE r.verdict = 'refused' AND f.severity = 'error'
GROUP BY f.code
ORDER BY runs DESC, f.code
