/** Bundle `errors`: the SDK without tracing. */

import * as api from './api.ts'
import { start } from './start.ts'
import * as shims from './tracing-shims.ts'

start({ ...api, ...shims }, undefined)
