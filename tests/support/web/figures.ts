/** Figures as a tunnel returns them. */

import type { ReplicaStatus } from '../../../contract/admin-api.ts'
import type { Figures, FiguresPoint } from '../../../contract/figures.ts'
import type { Situation } from '../../../contract/situation/situation.ts'

export const MINUTE = 60_000

/** Point of the minute `minute`, in which one replica counted. */
export function pointAt(minute: number, parts: Partial<FiguresPoint> = {}): FiguresPoint {
  return {
    ...{
      time: minute * MINUTE,
      replicas: 1,
      pending: 0,
      unknown: 0,
      received: 0,
      resent: 0,
      outcomes: {},
      bytes: 0,
    },
    ...{
      items: {},
      final_outcomes: {},
      durations: {},
      upstreams: {},
      mirrored: {},
      rules: {},
      vanished: 0,
    },
    ...{ reach: {}, browser_envelopes: 0, browser_errors: 0, sdk_loads: 0, ...parts },
  }
}

/** Figures of the minutes 0 to 10, the last of which is running. */
export function figuresOf(points: FiguresPoint[] = [], parts: Partial<Figures> = {}): Figures {
  return {
    ...{ from: 0, to: 10.5 * MINUTE, step: MINUTE, points, pending_before: 0, replicas: [] },
    ...parts,
  }
}

/** Situation of a site without problems. */
export function quietSituation(parts: Partial<Situation> = {}): Situation {
  return { state: 'ok', since: 0, problems: [], week: {}, spools: [], incidents: [], ...parts }
}

/** Status of a replica without problems. */
export function quietStatus(replica: string, parts: Partial<ReplicaStatus> = {}): ReplicaStatus {
  return {
    ...{ version: '0.0.0', replica, since: 0, settings: {}, dsns: [], projects: [], in_flight: 0 },
    ...{
      limits: [],
      upstreams: [],
      addresses: 0,
      warnings: [],
      actions: [],
      situation: quietSituation(),
      ...parts,
    },
  }
}
