-- Moves up to 1,000 envelopes from recovered.db, which `sqlite3 .recover` has made of a damaged spool file, to the spool's file, and prints how
-- many are left. docs/operations.md#a-damaged-spool-file shows the commands. Tunnels may run meanwhile, and large bodies stay where they are.
PRAGMA busy_timeout = 10000;
PRAGMA main.synchronous = FULL;
PRAGMA main.wal_autocheckpoint = 0; -- the tunnels move the log into the file
ATTACH 'recovered.db' AS recovered;
BEGIN IMMEDIATE;
CREATE TEMP TABLE chosen AS SELECT id, key FROM recovered.envelopes LIMIT 1000;
CREATE TEMP TABLE added AS
  SELECT * FROM recovered.envelopes
  WHERE id IN (SELECT id FROM chosen) AND key NOT IN (SELECT key FROM main.envelopes);
-- Without its network: the shares of networks are counted by the tunnels only.
INSERT INTO main.envelopes
  (key, project, category, priority, network, received, due, attempts, bytes, receipt, headers, file, body, event_id, arrived)
  SELECT key, project, category, priority, '', received, 0, attempts, bytes, receipt, headers, file, body, event_id, arrived
  FROM added;
INSERT INTO main.totals (kind, name, category, envelopes, bytes)
  SELECT 'all', '', '', count(*), sum(bytes) FROM added HAVING count(*) > 0
  UNION ALL SELECT 'lane', project, category, count(*), sum(bytes) FROM added GROUP BY project, category
  UNION ALL SELECT 'share', project, '', count(*), sum(bytes) FROM added GROUP BY project
  ON CONFLICT DO UPDATE SET envelopes = envelopes + excluded.envelopes, bytes = bytes + excluded.bytes;
DELETE FROM recovered.envelopes WHERE id IN (SELECT id FROM chosen);
COMMIT;
SELECT count(*) || ' left' FROM recovered.envelopes;
