/** Prints the settings in force, without secrets, or every problem with them. */

import { readConfigOrExit } from './refusal-to-start.ts'
import { showConfig } from './status.ts'

process.stdout.write(`${JSON.stringify(showConfig(readConfigOrExit(process.env)), undefined, 2)}\n`)
