/** Drills in which the spool's disk, file or server fails, while Sentry is down. */

import { type Drill, declareDrill, type Sign } from './drill.ts'
import { CUT } from './sentry-drills.ts'

const NOT_STORED: Sign = {
  source: 'response',
  shows: /^503 spool-(full|unwritable)/m,
  words: 'response 503 `spool-full` or `spool-unwritable`',
}

/** Leaves 2 MiB of the disk. */
const FILL = `const { bavail, bsize } = fs.statfsSync('/spool')
  fs.writeFileSync('/spool/filler', Buffer.alloc(bavail * bsize - 2 * 1024 * 1024))`
/** Overwrites the header of the database. */
const DAMAGE = `const file = fs.openSync('/volume/spool.db', 'r+'); fs.writeSync(file, Buffer.alloc(100, 7), 0, 100, 0)`
/** Puts the envelopes of the damaged file back, as docs/operations.md shows: its header is damaged, so the first page comes from the new file. */
const PUT_BACK = `set -e
apt-get -qq update && apt-get -qq install -y sqlite3
damaged=$(ls spool.db.damaged-* | grep -Ev -- '-(wal|shm)$')
cp "$damaged" damaged.db
if [ -e "$damaged-wal" ]; then cp "$damaged-wal" damaged.db-wal; fi
sqlite3 spool.db "SELECT writefile('first-page', data) FROM sqlite_dbpage WHERE pgno = 1"
dd if=first-page of=damaged.db conv=notrunc
sqlite3 damaged.db '.recover --ignore-freelist' | sqlite3 recovered.db
while sqlite3 -bail spool.db < /deploy/put-back.sql | grep ' left$' | tee /dev/stderr | grep -q '^[1-9]'; do :; done
rm -f first-page damaged.db* recovered.db*`
const FORGET = `fs.rmSync('/volume/jetstream', { recursive: true })`

export const DAMAGED_FILE_DRILL: Drill = declareDrill({
  name: 'damaged-file',
  title: 'Spool file damaged',
  seconds: 3,
  async fault(site) {
    await site.fillSpool()
    await site.stack.compose('stop', 'tunnel')
    await site.runOnVolume('spool', DAMAGE)
    await site.stack.compose('start', 'tunnel')
  },
  async repair(site) {
    await site.bringSentryBack()
    await site.runShell(PUT_BACK)
  },
  signs: [
    { source: 'log', shows: /damaged and is set aside/, words: 'log: the file is set aside' },
    { source: 'status', shows: /spool\.db\.damaged-/, words: '`/status` `spool.damaged_files`' },
    {
      source: 'metrics',
      shows: /^culvert_spool_damaged_files(\{[^}]*\})? [1-9]/m,
      words: '`culvert_spool_damaged_files`; alert `CulvertSpoolDamaged`',
    },
  ],
  remedy: '[`sqlite3 .recover`](operations.md#a-damaged-spool-file)',
  bounds: { lost: 0, duplicates: CUT },
})

export const FULL_DISK_DRILL: Drill = declareDrill({
  name: 'disk-full',
  title: 'Disk of the spool full',
  site: 'small-disk',
  async fault(site) {
    await site.takeSentryAway()
    await site.stack.compose('exec', '-T', 'tunnel', 'node', '-e', FILL)
  },
  repair: (site) => site.bringSentryBack(), // the disk stays full: stored entries have to be deliverable nevertheless
  signs: [
    NOT_STORED,
    {
      source: 'status',
      shows: /"writable":false|"full_in_seconds":/,
      words: '`/status` `spool.problem` or `full_in_seconds`',
    },
  ],
  remedy: 'free space; stored envelopes are delivered when Sentry answers',
  bounds: { lost: 0, duplicates: CUT },
})

export const NATS_DRILLS: readonly Drill[] = [
  declareDrill({
    name: 'nats-killed',
    title: 'NATS server killed',
    site: 'nats',
    async fault(site) {
      await site.fillSpool()
      await site.stack.compose('kill', 'nats')
    },
    async repair(site) {
      await site.stack.compose('start', 'nats')
      await site.bringSentryBack()
    },
    signs: [
      NOT_STORED,
      {
        source: 'status',
        shows: /NATS does not answer|it does not answer/,
        words: '`/status` `spool.problem`',
      },
    ],
    remedy: 'start it; with three servers one may be lost',
    bounds: { lost: 0, duplicates: CUT },
  }),
  declareDrill({
    name: 'nats-stream-lost',
    title: 'NATS streams lost',
    site: 'nats',
    seconds: 5,
    async fault(site) {
      await site.fillSpool()
      await site.stack.compose('kill', 'nats')
      await site.runOnVolume('nats', FORGET)
      await site.stack.compose('start', 'nats')
    },
    repair: (site) => site.bringSentryBack(),
    signs: [
      {
        source: 'metrics',
        shows: /^culvert_spool_lost_envelopes_total(\{[^}]*\})? [1-9]/m,
        words: '`culvert_spool_lost_envelopes_total`',
      },
    ],
    remedy: 'restore the volume from a copy; run three servers',
    bounds: { duplicates: CUT },
  }),
]
