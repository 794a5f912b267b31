/** Bundle `errors`: the SDK without tracing. */

import './globals.ts' // before the SDK
import * as api from './api.ts'
import { start } from './start.ts'
import * as shims from './tracing-shims.ts'

start({ ...api, ...shims }, undefined)
