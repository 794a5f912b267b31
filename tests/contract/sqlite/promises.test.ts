/** The spool on one machine, a SQLite file: what every spool promises. */

import { modelPromise } from '../../support/spool/model.ts'
import { spoolPromises } from '../../support/spool/promises.ts'
import { openStore } from '../../support/spool/sqlite-spool.ts'

spoolPromises('SQLite', openStore)
modelPromise(openStore)
