/**
 * Cost of each attack in the corpus, sent once to a tunnel process with the heap limit of the shipped container. Uploads that stay open, and
 * attacks 32 at once, are in `tests/process/security/tunnel-process.test.ts`.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requires } from '../../support/requirements.ts'
import { type Attack, createCorpus, HELD, largeBody } from '../../support/security/corpus.ts'
import { type CountingSentry, startCountingSentry } from '../../support/security/counting-sentry.ts'
import { type SmallTunnel, startSmallTunnel } from '../../support/security/small-tunnel.ts'
import { attackAlone, type Cost, describeCosts } from '../../support/security/withstand.ts'

const CORPUS = createCorpus().filter((entry) => !HELD.includes(entry))

describe('The tunnel process with the heap of the image', requires('proc'), () => {
  const costs: Cost[] = []
  let sentry: CountingSentry
  let tunnel: SmallTunnel | undefined

  beforeAll(async () => {
    sentry = await startCountingSentry()
  })

  afterAll(async () => {
    console.log(describeCosts(costs))
    await tunnel?.[Symbol.asyncDispose]()
    await sentry[Symbol.asyncDispose]()
  })

  it.each(CORPUS)(
    'answers a single request within 2.5 s of CPU time and 100 MiB: $name',
    async ({ build }) => {
      const attack = await build({ valid: sentry.dsn, foreign: sentry.foreignDsn })
      expect(await faultsOf(attack)).toEqual([])
    },
  )

  it('answers a valid body of 99 MB within 6 s of CPU time and 100 MiB', async () => {
    const body = Buffer.concat([...largeBody(sentry.dsn)])
    const attack = { name: 'valid body of 99 MB', headers: {}, body, isValid: true }
    expect(await faultsOf(attack, { maxCpuSeconds: 6 })).toEqual([])
  })

  /** Sends an attack from an address of its own, so that no limit of an address answers it. Returns the guarantees that did not hold. */
  async function faultsOf(attack: Attack, limits?: { maxCpuSeconds: number }): Promise<string[]> {
    if (!(await tunnel?.isAlive())) tunnel = await startSmallTunnel(sentry.dsn) // also after one died
    const headers = { ...attack.headers, 'x-forwarded-for': `8.8.4.${costs.length + 1}` }
    const target = { ...(tunnel ?? expect.unreachable()), sentry }
    const cost = await attackAlone(target, { ...attack, headers }, limits)
    costs.push(cost)
    return cost.faults
  }
})
