/** Options of `Sentry.init`: the operator's settings, the attributes of the page's script element, and the privacy signal. */

import type { BrowserOptions } from '@sentry/browser'
import type { Handover, LoaderOptions } from './handover.ts'

const TEXTS = ['release', 'environment'] as const
const RATES = [
  'sampleRate',
  'tracesSampleRate',
  'replaysSessionSampleRate',
  'replaysOnErrorSampleRate',
] as const

/** Returns the options of this page, and names unknown and invalid attributes in the console. */
export function optionsOf({ config, base, attributes }: Handover): BrowserOptions {
  const options: LoaderOptions = { ...config.options }
  const problems: string[] = []
  for (const [name, value = ''] of Object.entries(attributes)) {
    if (name === 'lazy') continue
    const text = TEXTS.find((each) => each === name)
    const rate = RATES.find((each) => each === name)
    if (text && value) options[text] = value
    else if (rate && isRate(value)) options[rate] = Number(value)
    else problems.push(`data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}="${value}"`)
  }
  if (problems.length > 0) console.warn(`Culvert: ${problems.join(', ')} of the script element has no effect`)
  return { ...withPrivacy(options, config.privacy), tunnel: base + config.query }
}

function isRate(value: string): boolean {
  return value.trim() !== '' && Number(value) >= 0 && Number(value) <= 1
}

function withPrivacy(options: LoaderOptions, privacy: Handover['config']['privacy']): BrowserOptions {
  if ((navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl !== true) return options
  const marked = { ...options, initialScope: { tags: { gpc: true } } }
  if (privacy === 'mark') return marked
  const { tracesSampleRate: _, ...untraced } = marked
  return { ...untraced, replaysSessionSampleRate: 0, replaysOnErrorSampleRate: 0 }
}
