/** Bundle `errors`: the SDK without tracing. */

import * as api from './api.ts'
import { start } from './start.ts'

start(api, undefined)
