-- Who signed what: the runs of each key, and those without a signature.
SELECT
  s.key_id,
  r.labels.integration AS integration,
  count(*) AS runs,
  min(r.started_at) AS first_run,
  max(r.started_at) AS last_run
FROM runs AS r
LEFT JOIN signers AS s ON s.source = r.source AND s.capture = r.capture AND s.run = r.run
WHERE r.verdict = 'frozen'
GROUP BY s.key_id, r.labels.integration
ORDER BY runs DESC, s.key_id NULLS LAST, integration NULLS LAST
