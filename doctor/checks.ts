/**
 * Lists the checks in their order. The one that explains the failures of others comes first. Those that may exhaust a rate limit, that
 * inspect all responses, or that read the state of the tunnels after all posts, come last.
 */

import type { Check } from './check.ts'
import { adblock } from './checks/adblock.ts'
import { bodyTooLarge, compression, error, keepalive, largeBody, replay } from './checks/bodies.ts'
import { browserReports } from './checks/browser-reports.ts'
import { crossOrigin, foreignDsn, foreignOrigin, otherQuery } from './checks/foreign-requests.ts'
import { mirrors } from './checks/mirrors.ts'
import { adminPort } from './checks/ports.ts'
import { proxy } from './checks/proxy.ts'
import {
  clientAddress,
  credentials,
  delivery,
  proxyHeaders,
  replicas,
  tunnelState,
} from './checks/replicas.ts'
import { burst, headers, rateLimits, responseTime } from './checks/responses.ts'
import { page, tunnel } from './checks/routes.ts'
import { sdk, sdkBundles, sdkOrigin, sdkPaths, sdkProject } from './checks/sdk.ts'
import { settings } from './checks/settings.ts'

export const CHECKS: readonly Check[] = [
  settings,
  proxy,
  page,
  tunnel,
  error,
  replay,
  keepalive,
  compression,
  largeBody,
  bodyTooLarge,
  foreignDsn,
  otherQuery,
  foreignOrigin,
  crossOrigin,
  sdk,
  sdkBundles,
  sdkPaths,
  sdkProject,
  sdkOrigin,
  browserReports,
  adblock,
  responseTime,
  adminPort,
  clientAddress,
  credentials,
  proxyHeaders,
  delivery,
  mirrors,
  replicas,
  burst,
  headers,
  rateLimits,
  tunnelState,
]
