/** Options of `Sentry.init`: the operator's settings, the attributes of the page's script element, and the privacy signal. */

import type { BrowserOptions } from '@sentry/browser'
import type { Integration } from '@sentry/core'
import type { Handover, LoaderOptions } from './handover.ts'
import { asksForPrivacy } from './page.ts'

const TEXTS = ['release', 'environment'] as const
const RATES = [
  'sampleRate',
  'tracesSampleRate',
  'replaysSessionSampleRate',
  'replaysOnErrorSampleRate',
] as const

const OFF = 'off'

/** Returns whether a page with these attributes of its script element may store reports: `data-storage="off"` forbids it, as without consent. */
export function maySave(attributes: Handover['attributes']): boolean {
  return attributes.storage !== OFF
}

/** Names of the integrations for traces and replays. */
const RECORDING = ['BrowserTracing', 'Replay', 'Latereplay']

/** Returns the options of this page, and names unknown and invalid attributes in the console. */
export function optionsOf({ config, base, attributes }: Handover): BrowserOptions {
  const options: LoaderOptions = { ...config.options }
  const problems: string[] = []
  for (const [name, value = ''] of Object.entries(attributes)) {
    if (name === 'lazy' || (name === 'storage' && value === OFF)) continue
    const text = TEXTS.find((each) => each === name)
    const rate = RATES.find((each) => each === name)
    if (text && value) options[text] = value
    else if (rate && isRate(value)) options[rate] = Number(value)
    else problems.push(`data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}="${value}"`)
  }
  if (problems.length > 0) console.warn(`Culvert: ${problems.join(', ')} of the script element has no effect`)
  return { ...options, tunnel: base + config.query }
}

function isRate(value: string): boolean {
  return value.trim() !== '' && Number(value) >= 0 && Number(value) <= 1
}

/** Applies `PRIVACY_SIGNAL` to the options of this page and of its call to `Sentry.init`. */
export function withPrivacy(options: BrowserOptions, privacy: Handover['config']['privacy']): BrowserOptions {
  if (!asksForPrivacy()) return options
  const { initialScope, integrations } = options
  const marked: BrowserOptions = {
    ...options,
    initialScope: (scope) => scope.update(initialScope).setTag('gpc', true),
  }
  if (privacy === 'mark') return marked
  const { tracesSampleRate: _, tracesSampler: __, ...untraced } = marked
  return {
    ...untraced,
    ...(integrations && { integrations: withoutRecording(integrations) }),
    beforeSendLog: () => null,
    beforeSendMetric: () => null,
    replaysSessionSampleRate: 0,
    replaysOnErrorSampleRate: 0,
  }
}

function withoutRecording(
  integrations: NonNullable<BrowserOptions['integrations']>,
): NonNullable<BrowserOptions['integrations']> {
  const filter = (all: Integration[]) => all.filter(({ name }) => !RECORDING.includes(name))
  return Array.isArray(integrations) ? filter(integrations) : (defaults) => filter(integrations(defaults))
}
