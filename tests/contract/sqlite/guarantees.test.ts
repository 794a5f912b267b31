/** Contract of the spool on one machine, a SQLite file. */

import { entryPromises } from '../../support/spool/entry-guarantees.ts'
import { spoolPromises } from '../../support/spool/guarantees.ts'
import { modelPromise } from '../../support/spool/model.ts'
import { sqlitePromises } from '../../support/spool/sqlite-guarantees.ts'
import { openStore } from '../../support/spool/sqlite-spool.ts'

spoolPromises('SQLite', openStore)
entryPromises('SQLite', openStore)
sqlitePromises(openStore)
modelPromise(openStore)
