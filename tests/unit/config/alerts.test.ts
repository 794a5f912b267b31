/** Destinations of alerts in the configuration of the tunnel. */

import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { problemsOf } from '../../support/tunnel/problems.ts'

const SLACK = 'https://hooks.slack.com/services/T0/B0/hush'
const MAIL = 'smtps://ops:hush%40@mail.example/?from=culvert@shop.example&to=a+b@shop.example,c@shop.example'

const read = (env: Record<string, string>) => readConfig(env).alerts

describe('ALERT_URL', () => {
  it.each([
    ['', []],
    [SLACK, ['slack']],
    ['https://discord.com/api/webhooks/1/hush', ['discord']],
    ['https://canary.discord.com/api/webhooks/1/hush', ['discord']],
    ['https://discord.com.example/api/webhooks/1/hush', ['json']],
    ['http://alerts:8080/culvert', ['json']],
    [
      `slack+https://chat.example/hooks/hush, discord+http://chat:9000/hush ${SLACK}`,
      ['slack', 'discord', 'slack'],
    ],
    [MAIL, ['email']],
    [`${MAIL},${SLACK}`, ['email', 'slack']],
  ])('accepts "%s"', (ALERT_URL, kinds) => {
    expect(read({ ALERT_URL }).targets.map(({ kind }) => kind)).toEqual(kinds)
  })

  it('posts to the URL behind the prefix', () => {
    const [target] = read({ ALERT_URL: 'slack+https://chat.example/hooks/hush' }).targets
    expect(target).toMatchObject({
      name: 'Slack (chat.example)',
      url: { href: 'https://chat.example/hooks/hush' },
    })
  })

  it('reads sender, recipients and login of an email, with defaults by scheme', () => {
    expect(read({ ALERT_URL: MAIL }).targets).toEqual([
      {
        ...{
          kind: 'email',
          name: 'Email (mail.example:465)',
          host: 'mail.example',
          port: 465,
          isSecure: true,
        },
        login: { user: 'ops', pass: 'hush@' },
        ...{ from: 'culvert@shop.example', to: ['a+b@shop.example', 'c@shop.example'] },
      },
    ])
    const ALERT_URL = 'smtp://[::1]/?from=a@b.example&to=c@d.example&to=e@f.example'
    expect(read({ ALERT_URL }).targets).toMatchObject([
      { host: '::1', port: 587, isSecure: false, login: undefined, to: ['c@d.example', 'e@f.example'] },
    ])
  })

  it('is shown by kinds and hosts, numbered where they are equal', () => {
    const { shown } = readConfig({
      ...{ ALERT_URL: `${SLACK} ${SLACK}2 ${MAIL}`, HEARTBEAT_URL: 'https://watch.example/ping/hush?hush' },
    })
    expect(shown.ALERT_URL).toBe(
      'Slack (hooks.slack.com), Slack (hooks.slack.com) 2, Email (mail.example:465)',
    )
    expect(shown.HEARTBEAT_URL).toBe('https://watch.example/…')
  })

  it.each([
    ['hush', '"…" is not a destination'],
    ['ftp://hush.example', '"ftp://…" is not a destination'],
    ['slack+smtp://hush', 'is not a destination'],
    ['mailto:hush@shop.example', 'is not a destination'],
    ['smtps://ops:hush@mail.example', 'lacks a sender or a recipient'],
    ['smtps://mail.example/?from=hush&to=a@b.example', 'lacks a sender or a recipient'],
    ['smtps://mail.example/?from=a@b.example&to=c@d.example,hush', 'lacks a sender or a recipient'],
    ['smtps://hush@mail.example/?from=a@b.example&to=c@d.example', 'has a user name without a password'],
    ['smtps://a:hush%@mail.example/?from=a@b.example&to=c@d.example', 'has a user name without a password'],
  ])('rejects "%s" without showing it', (ALERT_URL, problem) => {
    const problems = problemsOf({ ALERT_URL })
    expect(problems).toEqual([expect.stringMatching(/^ALERT_URL: "[^"]+" .+; write /)])
    expect(problems).toEqual([expect.stringContaining(problem)])
    expect(problems.join()).not.toContain('hush')
  })
})

it.each(['hush', 'smtp://hush'])('HEARTBEAT_URL rejects "%s" without showing it', (HEARTBEAT_URL) => {
  const problems = problemsOf({ HEARTBEAT_URL })
  expect(problems).toEqual([expect.stringMatching(/^HEARTBEAT_URL: "[^"]*…" is not an address; write /)])
  expect(problems.join()).not.toContain('hush')
})
