/** Bundle `tracing`: the SDK with browser tracing. */

import './globals.ts' // before the SDK
import { start } from './start.ts'
import * as api from './tracing-api.ts'

start(api, api.browserTracingIntegration)
