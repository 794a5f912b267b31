/** Contract of the spool on one machine, a SQLite file. */

import { modelPromise } from '../../support/spool/model.ts'
import { spoolPromises } from '../../support/spool/promises.ts'
import { sqlitePromises } from '../../support/spool/sqlite-promises.ts'
import { openStore } from '../../support/spool/sqlite-spool.ts'

spoolPromises('SQLite', openStore)
sqlitePromises(openStore)
modelPromise(openStore)
