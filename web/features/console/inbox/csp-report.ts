/** CSP reports from untrusted JSON, in the form of `report-uri` or of the Reporting API. */

import { z } from 'zod'
import { type Budget, TEXT } from '../bounds.ts'
import { number, optionalText } from './event.ts'
import type { Fact } from './event-model.ts'

const members = z.object({
  'document-uri': optionalText,
  'blocked-uri': optionalText,
  'effective-directive': optionalText,
  'violated-directive': optionalText,
  'script-sample': optionalText,
  'source-file': optionalText,
  'line-number': number,
  'column-number': number,
  disposition: optionalText,
  referrer: optionalText,
  'original-policy': optionalText,
  documentURL: optionalText,
  blockedURL: optionalText,
  effectiveDirective: optionalText,
  sample: optionalText,
  sourceFile: optionalText,
  lineNumber: number,
  columnNumber: number,
  originalPolicy: optionalText,
})

const report = z.union([
  z.object({ 'csp-report': members }).transform((given) => given['csp-report']),
  z.object({ body: members }).transform(({ body }) => body),
])

/** WebKit does not say whether a violation was blocked. */
const EFFECTS: ReadonlyMap<string, string> = new Map([
  ['enforce', 'blocked'],
  ['report', 'reported only'],
])

export type CspReport = {
  /** Code that was blocked, cut by the browser. */
  sample: string | undefined
  facts: Fact[]
}

/** Returns `undefined` for anything but a CSP report. */
export function readCspReport(value: unknown): CspReport | undefined {
  const read = report.safeParse(value)
  if (!read.success) return undefined
  const given = read.data
  const directive =
    given['effective-directive'] || given['violated-directive'] || given.effectiveDirective || 'a directive'
  const blocked = given['blocked-uri'] || given.blockedURL
  const file = given['source-file'] || given.sourceFile
  const line = given['line-number'] ?? given.lineNumber
  const column = given['column-number'] ?? given.columnNumber
  const facts: [string, string | undefined][] = [
    ['Directive', directive],
    ['Blocked', blocked],
    ['Source', file && [file, line, column].filter((part) => part !== undefined).join(':')],
    ['Page', given['document-uri'] || given.documentURL],
    ['Referrer', given.referrer],
    ['Effect', EFFECTS.get(given.disposition ?? '')],
    ['Policy', given['original-policy'] || given.originalPolicy],
  ]
  return {
    sample: given['script-sample'] || given.sample,
    facts: facts.flatMap(([name, fact]) => (fact ? [[name, fact]] : [])),
  }
}

/** Cuts the texts of a report. */
export function cutCspReport({ sample, facts }: CspReport, budget: Budget): CspReport {
  return {
    sample: budget.optional(sample, TEXT.codeLine),
    facts: facts.map(([name, fact]) => [name, budget.text(fact, TEXT.message)]),
  }
}
