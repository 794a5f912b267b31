/** Inbox of the previous release, with its own schema and statements. */

import { DatabaseSync } from 'node:sqlite'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    event_id TEXT,
    bytes INTEGER NOT NULL,
    types TEXT NOT NULL,
    envelope BLOB NOT NULL,
    network TEXT NOT NULL DEFAULT '',
    summary_bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX IF NOT EXISTS inbox_usage ON inbox (bytes, summary_bytes);
  CREATE TABLE IF NOT EXISTS summary (seq INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT;
  CREATE TRIGGER IF NOT EXISTS inbox_inserted AFTER INSERT ON inbox BEGIN
    INSERT INTO summary (seq, title) VALUES (new.seq, new.types);
  END;
  CREATE TRIGGER IF NOT EXISTS inbox_deleted AFTER DELETE ON inbox BEGIN
    DELETE FROM summary WHERE seq = old.seq;
  END;
  PRAGMA user_version = 1`

export type PreviousEnvelope = {
  id: string
  time: number
  eventId?: string
  network?: string
  envelope: Buffer
}

export class PreviousInbox {
  readonly #db: DatabaseSync

  constructor(file: string) {
    this.#db = new DatabaseSync(file, { timeout: 10_000 })
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    this.#db.exec(SCHEMA)
  }

  keep({ id, time, eventId, network = '', envelope }: PreviousEnvelope): void {
    this.#db
      .prepare(
        `INSERT INTO inbox (id, time, event_id, bytes, summary_bytes, types, network, envelope)
         VALUES (?, ?, ?, ?, 0, '["event"]', ?, ?)`,
      )
      .run(id, time, eventId ?? null, envelope.length, network, envelope)
  }

  count(): number {
    return Number(this.#db.prepare('SELECT count(*) AS envelopes FROM inbox').get()?.envelopes)
  }

  close(): void {
    this.#db.close()
  }
}
