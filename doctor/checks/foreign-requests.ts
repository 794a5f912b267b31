/** Whether the tunnel carries for this site and for nobody else. */

import { type Check, type Finding, fail, pass, warn } from '../check.ts'
import { dsnText } from '../deployment.ts'
import { reportEnvelope } from '../envelopes.ts'
import { type Answer, jsonOf, nameOf } from '../request.ts'
import { withDsn } from '../runner.ts'

const ELSEWHERE = 'https://culvert-doctor.invalid'

export const foreignDsn: Check = {
  name: 'foreign-dsn',
  after: ['tunnel'],
  title: 'An envelope for another Sentry is refused',
  proves: 'It is no open relay: nobody can have it post elsewhere.',
  remedy: 'Take the tunnel of Culvert, which has a table of DSNs; no other handler may answer at this path.',
  async examine({ run, path, post }) {
    const foreign = 'https://0123456789abcdef0123456789abcdef@culvert-doctor.invalid/1'
    return refused(await post(reportEnvelope(foreign, run), { path }), 'dsn-unknown')
  },
}

export const otherQuery: Check = {
  name: 'query',
  after: ['tunnel', 'error'],
  title: 'A query for another project is refused',
  proves: 'What stands in access logs and limits is the project that the envelope is for.',
  remedy: 'Let the front pass the query on as it is.',
  examine: withDsn(async (deployment) => {
    const { dsn, run, path, post } = deployment
    const other = dsn?.projectId === '1' ? '2' : '1'
    return refused(
      await post(reportEnvelope(dsnText(deployment), run), { path: `${path}?p=${other}` }),
      'query-mismatch',
    )
  }),
}

export const foreignOrigin: Check = {
  name: 'origin',
  after: ['tunnel'],
  title: 'A page of another site is refused',
  proves: 'No other site can spend your quota through its visitors.',
  remedy:
    'Let the front pass Origin and Sec-Fetch-Site on as they are, and keep ALLOWED_ORIGINS to what you know.',
  examine: withDsn(async (deployment) => {
    const headers = { origin: ELSEWHERE, 'sec-fetch-site': 'cross-site', referer: `${ELSEWHERE}/` }
    const answer = await deployment.post(reportEnvelope(dsnText(deployment), deployment.run), { headers })
    const allowed = answer.headers['access-control-allow-origin']
    if (allowed !== undefined) return fail(`It is told that ${allowed} may read the answer.`)
    return refused(answer, 'origin-foreign')
  }),
}

function refused(answer: Answer, code: string): Finding {
  if (answer.status < 300) return fail(`It is taken: ${answer.status}.`)
  if (jsonOf(answer).code !== code) return warn(`It is refused, but as ${nameOf(answer)} and not as ${code}.`)
  return pass(`${answer.status} ${code}.`)
}
