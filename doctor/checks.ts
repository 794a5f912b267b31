/** All that the doctor looks at, in this order: what may use up a limit, and what looks at all answers, comes last. */

import type { Check } from './check.ts'
import { adblock } from './checks/adblock.ts'
import { bodyTooLarge, compression, error, keepalive, largeBody, replay } from './checks/bodies.ts'
import { foreignDsn, foreignOrigin, otherQuery } from './checks/foreign-requests.ts'
import { adminPort } from './checks/ports.ts'
import { addresses, arrival, replicas, secrets, state } from './checks/replicas.ts'
import { burst, headers, silence, time } from './checks/responses.ts'
import { page, tunnel } from './checks/routes.ts'

export const CHECKS: readonly Check[] = [
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
  adblock,
  time,
  adminPort,
  addresses,
  secrets,
  arrival,
  replicas,
  state,
  burst,
  headers,
  silence,
]
