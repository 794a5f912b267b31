/** Replicas that start, stop and return, and what the monitor says about them. */

import { describe, expect, it } from 'vitest'
import type { OperatorAction, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import type { Figures } from '../../../../../contract/figures.ts'
import { WEEK } from '../../../../../web/features/console/figures/range.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { figuresOf, quietStatus } from '../../../../support/web/figures.ts'

/** Replicas by their names, with the CPU seconds of each; `dead` for no response. All share a store. */
function startMonitor() {
  const living = new Map<string, number | 'dead'>()
  const actions = new Map<string, OperatorAction[]>()
  const states = new Map<string, Partial<ReplicaStatus>>()
  let figures: Figures | Error = figuresOf()
  const asked: string[] = []
  let time = 0
  const monitor = new Monitor({
    origins: async () => [...living.keys()].map((name) => `http://${name}`),
    ask: async (origin) => {
      const name = origin.slice('http://'.length)
      const seconds = living.get(name)
      if (seconds === 'dead' || seconds === undefined) throw new Error('no response')
      const process = { resident_bytes: 1, cpu_seconds: seconds, event_loop_p99_seconds: 0 }
      return quietStatus(name, {
        process,
        actions: actions.get(name) ?? [],
        ...states.get(name),
      })
    },
    askFigures: async (_, path) => {
      asked.push(path)
      if (figures instanceof Error) throw figures
      return figures
    },
    now: () => time,
  })
  return {
    living,
    actions,
    states,
    asked,
    monitor,
    answer: (with_: Figures | Error) => {
      figures = with_
    },
    look: (afterMs = 10_000) => {
      time += afterMs
      return monitor.snapshot(0)
    },
  }
}

describe('Monitor', () => {
  it('shows a killed replica once while its address is still listed', async () => {
    const { living, look } = startMonitor()
    living.set('fixed', 100)
    await look()
    living.set('fixed', 'dead')
    await look()
    expect((await look(70_000)).replicas.map(({ state }) => state)).toEqual(['stopped'])
    expect((await look()).replicas.map(({ name, state }) => [name, state])).toEqual([['fixed', 'stopped']])
  })

  it('lists replicas that start and stop, breakers that open and close, and new rate limits', async () => {
    const { living, states, look } = startMonitor()
    const upstream = { origin: 'https://sentry.example', has_responded: true, refusals: [] }
    const limits = [{ project: 'p/1', category: 'replay', until: 90_000 }]
    living.set('a', 1)
    for (const [breaker, seconds] of [
      [{ open: false, since: 0 }, 1],
      [{ open: true, since: 1, next_probe: 2 }, 1],
      [{ open: false, since: 2 }, 'dead'],
      [{ open: false, since: 2 }, 1],
    ] as const) {
      states.set('a', { upstreams: [{ ...upstream, breaker }], limits: breaker.open ? limits : [] })
      await look()
      living.set('a', seconds)
      await look()
    }
    expect((await look()).changes.map(({ text }) => text).toReversed()).toEqual([
      'a started responding',
      'a opened the circuit breaker of https://sentry.example',
      'Sentry rate-limits p/1 replay (a)',
      'a closed the circuit breaker of https://sentry.example',
      'a does not respond',
      'a responds again',
    ])
  })

  it('lists the actions of operators on all replicas among the other changes, newest first', async () => {
    const { living, actions, look } = startMonitor()
    living.set('first', 1).set('second', 1)
    actions.set('first', [
      {
        time: 12_000,
        action: 'spool-purge',
        project: 'p/1',
        category: 'none',
        envelopes: 2,
        operator: '::1',
      },
    ])
    actions.set('second', [
      { time: 13_000, action: 'inbox-delete', envelopes: 1, client_address: '10.0.0.3' },
      { time: 11_000, action: 'spool-pause', operator: '192.0.2.7', client_address: '10.0.0.3' },
    ])
    await look()
    living.delete('first')
    const { changes } = await look()
    expect(changes.map(({ time, text }) => [time, text])).toEqual([
      [20_000, 'first stopped'],
      [13_000, 'Admin API client 10.0.0.3 deleted 1 envelope from the inbox'],
      [12_000, 'Operator ::1 purged 2 envelopes of p/1, no category'],
      [11_000, 'Operator 192.0.2.7 paused delivery of all projects'],
      [10_000, 'second started responding'],
      [10_000, 'first started responding'],
    ])
  })

  it('shows the last 20 stopped replicas', async () => {
    const { living, look } = startMonitor()
    for (let n = 0; n < 30; n++) {
      living.set(`n${n}`, 1)
      await look()
      living.delete(`n${n}`)
    }
    const { replicas } = await look()
    expect(replicas.map(({ name }) => name)).toEqual(Array.from({ length: 20 }, (_, n) => `n${n + 10}`))
  })

  it('returns the CPU time of a replica per second since the response before', async () => {
    const { living, look } = startMonitor()
    living.set('first', 1)
    expect((await look()).replicas[0]).not.toHaveProperty('cpu')
    living.set('first', 3)
    expect((await look()).replicas[0]?.cpu).toBeCloseTo(0.2)
  })

  it('asks for the figures of a range once for operators that ask at the same time', async () => {
    const { living, asked, monitor } = startMonitor()
    living.set('first', 1)
    const [one, other] = await Promise.all([monitor.figures(WEEK), monitor.figures(WEEK)])
    expect(one).toBe(other)
    expect(asked.filter((path) => path.includes(`step=${WEEK.stepMs}`))).toHaveLength(1)
  })
})
