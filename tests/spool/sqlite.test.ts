/** The spool on one machine, a SQLite file: what every spool promises. */

import { modelPromise } from './model.ts'
import { spoolPromises } from './promises.ts'
import { openStore } from './sqlite-store.ts'

spoolPromises('SQLite', openStore)
modelPromise(openStore)
