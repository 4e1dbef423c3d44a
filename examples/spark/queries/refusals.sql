-- Why runs were not frozen: each reason, and how many runs of which integrations have it.
SELECT
  f.code,
  count(DISTINCT f.capture) AS captures,
  count(*) AS findings,
  min(f.message) AS example
FROM findings AS f
WHERE f.severity = 'error'
GROUP BY f.code
ORDER BY findings DESC, f.code
